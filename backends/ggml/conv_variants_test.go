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
	b := cpuBackend(t, 1)
	op, err := ops.Lookup("conv2d")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	for p := range everyProcessor(t) {
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
				require.InDelta(t, want.F[i], y[i], 1e-3, fmt.Sprintf("processor %v, %v * %v, element %d", p, c.x, c.w, i))
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

// TestConvolutionWithChannelsLast holds the kernel that takes an image as it lies to the
// formula: x and the weight are transposed on their way to conv2d.
func TestConvolutionWithChannelsLast(t *testing.T) {
	b := cpuBackend(t, 1)
	op, err := ops.Lookup("conv2d")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(9, 10))
	first, last := ops.IntsAttr("axes", 0, 3, 1, 2), ops.IntsAttr("axes", 0, 2, 3, 1)
	for p := range everyProcessor(t) {
		for _, c := range []struct {
			n, h, w, in, out, k, groups int64
			attrs                       []ops.AttrArg
		}{
			{1, 9, 33, 8, 51, 3, 1, []ops.AttrArg{ops.IntsAttr("padding", 1)}},
			{2, 7, 5, 11, 13, 2, 1, []ops.AttrArg{ops.IntsAttr("stride", 2, 1), ops.IntsAttr("padding", 0, 1)}},
			{1, 8, 10, 18, 6, 3, 2, []ops.AttrArg{ops.IntAttr("groups", 2), ops.IntsAttr("dilation", 2, 3), ops.IntsAttr("padding", 0, 3, 2, 1)}},
			{1, 3, 4, 300, 5, 3, 1, []ops.AttrArg{ops.IntsAttr("padding", 1)}}, // pieces of the kernel end within a pixel
		} {
			xs, ws := tensor.Shape{c.n, c.h, c.w, c.in}, tensor.Shape{c.out, c.k, c.k, c.in / c.groups}
			x, w := random(r, xs), random(r, ws)
			g := newGraph(t)
			weights := newWeights(t, map[string][]float32{"w": w}, map[string]tensor.Type{"w": f32(ws...)})
			wr, err := g.Weight(weights, "w")
			require.NoError(t, err)
			in := []ops.Ref{
				mustOp(t, g, "transpose", []ops.Ref{input(t, g, "x", tensor.F32, xs...)}, first),
				mustOp(t, g, "transpose", []ops.Ref{wr}, first),
			}
			require.NoError(t, g.Output("y", mustOp(t, g, "transpose", []ops.Ref{mustOp(t, g, "conv2d", in, c.attrs...)}, last)))

			xt, wt := f32(c.n, c.in, c.h, c.w), f32(c.out, c.in/c.groups, c.k, c.k)
			attrs, err := op.Bind(c.attrs)
			require.NoError(t, err)
			call, err := op.NewCall([]tensor.Type{xt, wt}, attrs)
			require.NoError(t, err)
			want := ops.NewValue(call.Out[0])
			require.NoError(t, op.Eval(call, []ops.Value{value(xt, channelsFirst(x, xs)), value(wt, channelsFirst(w, ws))}, []ops.Value{want}))

			y := make([]float32, call.Out[0].Shape.Elements())
			require.NoError(t, build(t, b, newStream(t, b), g).Run(buffers(x), buffers(y), options()))
			o := call.Out[0].Shape
			got := channelsFirst(y, tensor.Shape{o[0], o[2], o[3], o[1]})
			for i := range got {
				require.InDelta(t, want.F[i], got[i], 1e-3, fmt.Sprintf("processor %v, %v * %v, element %d", p, xs, ws, i))
			}
		}
	}
}

// channelsFirst gives [n, h, w, c] as [n, c, h, w].
func channelsFirst(v []float32, s tensor.Shape) []float32 {
	y := make([]float32, len(v))
	size, channels := s[1]*s[2], s[3]
	for i := range v {
		at := int64(i)
		image, position, channel := at/(size*channels), at/channels%size, at%channels
		y[(image*channels+channel)*size+position] = v[i]
	}
	return y
}
