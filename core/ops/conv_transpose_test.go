package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// TestTransposedConvolutionMultipliesWhatItMust: taken apart, it multiplies no more than
// the direct sum does, however far its outputs lie apart, and all the tensors on the way
// together hold a few times the products before they are added up, the weight and the
// result.
func TestTransposedConvolutionMultipliesWhatItMust(t *testing.T) {
	for _, c := range []struct{ channels, outs, kernel, stride, dilation, groups, length int64 }{
		{320, 1, 640, 160, 1, 1, 96},
		{1026, 1, 1024, 256, 1, 1, 20},
		{512, 256, 16, 8, 1, 1, 200},
		{64, 32, 4, 2, 1, 1, 1000},
		{64, 32, 3, 500, 1, 1, 50},
		{64, 32, 5, 4, 1, 1, 100},
		{64, 32, 7, 4, 3, 1, 100},
		{64, 32, 7, 4, 8, 1, 100},
		{64, 8, 9, 4, 1, 4, 100},
		{64, 2, 9, 4, 1, 64, 100},
	} {
		g := graph.New("transposed convolution")
		in, err := g.Input("x", x(1, c.channels, c.length))
		require.NoError(t, err)
		weight, err := g.Input("weight", x(c.channels, c.outs, c.kernel))
		require.NoError(t, err)
		out, err := g.Op("conv_transpose1d", []ops.Ref{in, weight}, []ops.AttrArg{
			ops.IntAttr("stride", c.stride), ops.IntAttr("dilation", c.dilation), ops.IntAttr("groups", c.groups),
		}, 1)
		require.NoError(t, err)
		require.NoError(t, g.Output("y", out[0]))
		p, err := g.Bind(nil, func(call *ops.Call) bool { return call.Op.Name != "conv_transpose1d" })
		require.NoError(t, err)
		g.Release()

		products, held := int64(0), int64(0)
		for _, n := range p.Nodes {
			result := n.Call.Out[0].Shape.Elements()
			switch n.Call.Op.Name {
			case "linear", "matmul":
				products += result * n.Call.In[0].Shape.Dim(-1)
			case "mul":
				products += result
			case "reshape":
				continue
			}
			held += result
		}
		about := fmt.Sprintf("%+v", c)
		needed := c.channels * c.outs * c.kernel * c.length
		require.Equal(t, needed, products, about)
		y := p.Tensors[p.Outputs[0]].Type.Shape.Elements()
		columns := c.length * c.groups * c.outs * c.kernel
		require.LessOrEqual(t, held, 8*(columns+y+c.channels*c.length)+3*c.channels*c.outs*c.kernel, about)
	}
}

// What does not fit into a tensor is refused, not computed with numbers that overflowed.
func TestTransposedConvolutionBeyondAllMemory(t *testing.T) {
	for _, attrs := range [][]ops.AttrArg{
		{ops.IntAttr("stride", 1<<31)},
		{ops.IntAttr("stride", 1<<31), ops.IntAttr("dilation", 1<<31)},
		{ops.IntAttr("dilation", 1<<31)},
	} {
		op, err := ops.Lookup("conv_transpose1d")
		require.NoError(t, err)
		values, err := op.Bind(attrs)
		require.NoError(t, err)
		for _, in := range [][]tensor.Type{
			{x(1, 4, 1<<30), x(4, 1<<20, 1)},
			{x(1, 4, 3), x(4, 1<<20, 1<<20)},
			{x(1<<10, 4, 1<<20), x(4, 1<<10, 2)},
		} {
			if call, err := op.NewCall(in, values); err == nil {
				require.NotPanics(t, func() { call.Decomposes() })
				require.LessOrEqual(t, call.Out[0].Shape.Elements(), int64(1)<<60)
			}
		}
	}
}
