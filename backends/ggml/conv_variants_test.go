package ggml

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// TestConvolutionOfEveryWidth holds the kernel's variants for lesser processors to
// the formula; the conformance suite meets only the one of this machine.
func TestConvolutionOfEveryWidth(t *testing.T) {
	t.Cleanup(func() { limitProcessor(withAVX512BF16) })
	b := cpuBackend(t, 1)
	op, err := ops.Lookup("conv2d")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	for p := anyProcessor; limitProcessor(p); p++ {
		for _, c := range []struct {
			x, w  tensor.Shape
			attrs []ops.AttrArg
		}{
			{tensor.Shape{1, 3, 9, 33}, tensor.Shape{9, 3, 3, 3}, []ops.AttrArg{ops.IntsAttr("padding", 1)}},
			{tensor.Shape{2, 40, 5, 7}, tensor.Shape{13, 40, 3, 2}, []ops.AttrArg{ops.IntsAttr("stride", 2, 1)}},
			{tensor.Shape{1, 6, 8, 40}, tensor.Shape{4, 3, 3, 3}, []ops.AttrArg{ops.IntAttr("groups", 2), ops.IntsAttr("dilation", 2, 3), ops.IntsAttr("padding", 0, 3, 2, 1)}},
			{tensor.Shape{1, 130, 1, 4}, tensor.Shape{7, 130, 1, 3}, []ops.AttrArg{ops.IntsAttr("padding", 0, 1)}}, // few positions
			{tensor.Shape{1, 400, 1, 7}, tensor.Shape{3, 400, 1, 5}, nil},                                          // a kernel of many elements
		} {
			x, w := random(r, c.x), random(r, c.w)
			g := newGraph(t)
			weights := newWeights(t, map[string][]float32{"w": w}, map[string]tensor.Type{"w": f32(c.w...)})
			wr, err := g.Weight(weights, "w")
			require.NoError(t, err)
			require.NoError(t, g.Output("y", mustOp(t, g, "conv2d", []ops.Ref{input(t, g, "x", tensor.F32, c.x...), wr}, c.attrs...)))
			attrs, err := op.Bind(c.attrs)
			require.NoError(t, err)
			call, err := op.NewCall([]tensor.Type{f32(c.x...), f32(c.w...)}, attrs)
			require.NoError(t, err)

			y := make([]float32, call.Out[0].Shape.Elements())
			require.NoError(t, build(t, b, newStream(t, b), g).Run(buffers(x), buffers(y), options()))
			want := ops.NewValue(call.Out[0])
			require.NoError(t, op.Eval(call, []ops.Value{value(f32(c.x...), x), value(f32(c.w...), w)}, []ops.Value{want}))
			for i := range y {
				require.InDelta(t, want.F[i], y[i], 1e-3, fmt.Sprintf("processor %d, %v * %v, element %d", p, c.x, c.w, i))
			}
		}
	}
}

func random(r *rand.Rand, s tensor.Shape) []float32 {
	v := make([]float32, s.Elements())
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func value(t tensor.Type, data []float32) ops.Value {
	v := ops.NewValue(t)
	for i := range v.F {
		v.F[i] = float64(data[i])
	}
	return v
}
