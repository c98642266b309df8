package ops_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// vector is a case of testdata/vectors.json, which vectors.py computes with numpy.
type vector struct {
	Op    string
	Attrs map[string]any
	In    []*vectorTensor
	Out   []*vectorTensor
}

type vectorTensor struct {
	Shape tensor.Shape
	F     []float64
	I     []int64
}

// TestVectors holds Eval to numpy's float64, to all but the last digits.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for i, v := range vectors {
		t.Run(fmt.Sprintf("%s_%d", v.Op, i), func(t *testing.T) {
			in := make([]ops.Value, len(v.In))
			for i, x := range v.In {
				if x != nil {
					in[i] = x.value(tensor.I32)
				}
			}
			out, err := evaluate(v.Op, in, v.attrs(t)...)
			require.NoError(t, err)
			require.Len(t, out, len(v.Out))
			for i, want := range v.Out {
				require.Equal(t, want.Shape.String(), out[i].Type.Shape.String())
				require.Equal(t, want.I, out[i].I)
				for j, w := range want.F {
					require.LessOrEqual(t, math.Abs(out[i].F[j]-w), 1e-12*math.Max(1, math.Abs(w)), "element %d is %v, want %v", j, out[i].F[j], w)
				}
			}
		})
	}
}

func (x *vectorTensor) value(integer tensor.DType) ops.Value {
	if x.I != nil {
		return ops.Value{Type: tensor.Type{DType: integer, Shape: x.Shape}, I: x.I}
	}
	return ops.Value{Type: tensor.Type{DType: tensor.F32, Shape: x.Shape}, F: x.F}
}

// attrs gives the attributes the types that the operator asks for.
func (v vector) attrs(t *testing.T) []ops.AttrArg {
	t.Helper()
	op, err := ops.Lookup(v.Op)
	require.NoError(t, err)
	var args []ops.AttrArg
	for _, a := range op.Attrs {
		switch value := v.Attrs[a.Name].(type) {
		case nil:
		case string:
			args = append(args, ops.TextAttr(a.Name, value))
		case float64:
			if a.Type == ops.Int {
				args = append(args, ops.IntAttr(a.Name, int64(value)))
			} else {
				args = append(args, ops.RealAttr(a.Name, value))
			}
		case []any:
			var ints []int64
			for _, n := range value {
				ints = append(ints, int64(n.(float64)))
			}
			args = append(args, ops.IntsAttr(a.Name, ints...))
		}
	}
	require.Len(t, args, len(v.Attrs))
	return args
}
