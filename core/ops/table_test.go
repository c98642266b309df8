package ops_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
)

func TestOperatorsDocIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	require.Equal(t, ops.Markdown(), string(have), "run: go generate ./core/ops")
}

func TestEveryEntryIsWhole(t *testing.T) {
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		require.NoError(t, err)
		require.NotEmpty(t, op.Summary, name)
		require.NotEmpty(t, op.Source, name)
		require.NotNil(t, op.Infer, name)
		require.NotNil(t, op.Eval, name)
		require.Equal(t, op.Pieces == nil, op.EvalPiece == nil, name)
		require.GreaterOrEqual(t, op.Tolerance, 0.0, name)
		require.Less(t, op.Tolerance, 1e-3, name)
		for _, a := range op.Attrs {
			require.NotEmpty(t, a.Summary, "%s: attribute %s", name, a.Name)
			require.Contains(t, []ops.AttrType{0, a.Type}, a.Default.Type, "%s: attribute %s", name, a.Name)
		}
		for i, in := range op.Inputs {
			require.False(t, in.Variadic && i != len(op.Inputs)-1, "%s: only the last input may be variadic", name)
			require.False(t, in.FromHost && in.DTypes == ops.Weight, "%s: input %s", name, in.Name)
		}
	}
}
