package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// The work of the operators that compute much, counted by hand: a multiplication and an
// addition for each pair of factors.
func TestWork(t *testing.T) {
	f32 := func(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }
	for _, c := range []struct {
		name  string
		in    []tensor.Type
		attrs []ops.AttrArg
		cost  ops.Cost
		flops float64
		bytes int64
	}{
		{"linear", []tensor.Type{f32(3, 5), f32(7, 5)}, nil, ops.MatmulCost, 2 * 3 * 5 * 7, 4 * (15 + 35 + 21)},
		{"matmul", []tensor.Type{f32(2, 3, 5), f32(5, 7)}, nil, ops.MatmulCost, 2 * 2 * 3 * 5 * 7, 4 * (30 + 35 + 42)},
		{"conv1d", []tensor.Type{f32(1, 4, 10), f32(6, 4, 3)}, nil, ops.ConvCost, 2 * 6 * 8 * 4 * 3, 4 * (40 + 72 + 48)},
		{
			"conv2d",
			[]tensor.Type{f32(1, 4, 5, 6), f32(8, 1, 3, 3)},
			[]ops.AttrArg{ops.IntAttr("groups", 4)},
			ops.ConvCost, 2 * 8 * 3 * 4 * 9, 4 * (120 + 72 + 96),
		},
		{
			"conv_transpose1d",
			[]tensor.Type{f32(1, 4, 10), f32(4, 6, 3)},
			[]ops.AttrArg{ops.IntAttr("stride", 2)},
			ops.ConvCost, 2 * 4 * 10 * 6 * 3, 4 * (40 + 72 + 6*21),
		},
		{
			"attention",
			[]tensor.Type{f32(3, 2, 8), f32(5, 1, 8), f32(5, 1, 4)},
			nil, ops.AttentionCost,
			2 * 3 * 2 * 5 * (8 + 4), 4 * (48 + 40 + 20 + 24),
		},
		{
			"lstm_cell",
			[]tensor.Type{f32(2, 3), f32(2, 4), f32(2, 4), f32(16, 3), f32(16, 4)},
			nil, ops.MatmulCost,
			2 * 2 * (16*3 + 16*4), 4 * (6 + 8 + 8 + 48 + 64 + 8 + 8),
		},
		{"embedding", []tensor.Type{f32(100, 8), {DType: tensor.I32, Shape: tensor.Shape{3}}}, nil, ops.OtherCost, 24, 4*3 + 2*4*24},
		{"add", []tensor.Type{f32(3, 5), f32(1)}, nil, ops.OtherCost, 15, 4 * (15 + 1 + 15)},
		{"reduce_sum", []tensor.Type{f32(3, 5)}, nil, ops.OtherCost, 15, 4 * (15 + 3)},
		{"transpose", []tensor.Type{f32(3, 5)}, []ops.AttrArg{ops.IntsAttr("axes", 1, 0)}, ops.OtherCost, 0, 0},
	} {
		op, err := ops.Lookup(c.name)
		require.NoError(t, err)
		attrs, err := op.Bind(c.attrs)
		require.NoError(t, err)
		call, err := op.NewCall(c.in, attrs)
		require.NoError(t, err, c.name)
		require.Equal(t, c.cost, op.Cost, c.name)
		require.InDelta(t, c.flops, call.FLOPs(), 0, c.name)
		require.Equal(t, c.bytes, call.Bytes(), c.name)
	}
}

// Operator-level calls are counted before they are checked: whatever the shapes are, and
// however many, there is no panic, and what is no call has no work.
func TestWorkOfWhatIsNoCall(t *testing.T) {
	shapes := []tensor.Shape{nil, {}, {2}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}}
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		require.NoError(t, err)
		for n := range len(op.Inputs) + 2 {
			for _, s := range shapes {
				in := slices.Repeat([]tensor.Shape{s}, n)
				for outputs := range 4 {
					op.FLOPs(in, slices.Repeat([]tensor.Shape{{2}}, outputs))
				}
			}
		}
	}
	linear, err := ops.Lookup("linear")
	require.NoError(t, err)
	require.Zero(t, linear.FLOPs([]tensor.Shape{{2, 3}}, []tensor.Shape{{2, 4}}))
	require.Zero(t, linear.FLOPs([]tensor.Shape{{2, 3}, {3}}, []tensor.Shape{{2, 4}}))
	require.InDelta(t, 48, linear.FLOPs([]tensor.Shape{{2, 3}, {4, 3}}, []tensor.Shape{{2, 4}}), 0)
}
