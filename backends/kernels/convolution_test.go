package kernels_test

import (
	"testing"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// convolution is how a kernel of kh by kw moves, two numbers each.
type convolution struct {
	stride, before, after, dilation [2]int64
	groups                          int64
}

func (c convolution) attrs() []ops.AttrArg {
	return []ops.AttrArg{
		ops.IntsAttr("stride", c.stride[:]...), ops.IntsAttr("dilation", c.dilation[:]...), ops.IntAttr("groups", c.groups),
		ops.IntsAttr("padding", c.before[0], c.before[1], c.after[0], c.after[1]),
	}
}

func (c convolution) numbers(channelsLast bool) []int32 {
	n := productNumbers()
	for i, v := range [][2]int64{c.stride, c.before, c.dilation} {
		n[2*i], n[2*i+1] = int32(v[0]), int32(v[1])
	}
	if channelsLast {
		n[6] = 1
	}
	return n
}

var still = convolution{stride: [2]int64{1, 1}, dilation: [2]int64{1, 1}, groups: 1}

func (c convolution) padded(n int64) convolution {
	c.before, c.after = [2]int64{n, n}, [2]int64{n, n}
	return c
}

// TestConvolutions holds every variant to the formula.
func TestConvolutions(t *testing.T) {
	strided := still
	strided.stride = [2]int64{2, 1}
	grouped := convolution{stride: [2]int64{1, 1}, before: [2]int64{0, 3}, after: [2]int64{2, 1}, dilation: [2]int64{2, 3}, groups: 2}
	wide := still
	wide.before, wide.after = [2]int64{0, 1}, [2]int64{0, 1}
	r := newRand()
	for _, c := range []struct {
		x, w tensor.Shape
		convolution
	}{
		{tensor.Shape{1, 3, 9, 33}, tensor.Shape{9, 3, 3, 3}, still.padded(1)},
		{tensor.Shape{2, 40, 5, 7}, tensor.Shape{13, 40, 3, 2}, strided},
		{tensor.Shape{1, 6, 8, 40}, tensor.Shape{4, 3, 3, 3}, grouped},
		{tensor.Shape{1, 130, 1, 4}, tensor.Shape{7, 130, 1, 3}, wide},  // few positions
		{tensor.Shape{1, 400, 1, 7}, tensor.Shape{3, 400, 1, 5}, still}, // a kernel of many elements
		{tensor.Shape{1, 500, 3, 20}, tensor.Shape{5, 500, 3, 3}, still.padded(1)},
	} {
		x, w, bias := normal(t, r, tensor.F32, c.x...), normal(t, r, tensor.F32, c.w...), normal(t, r, tensor.F32, c.w[0])
		want := evaluate(t, "conv2d", c.attrs(), x, w, bias)[0]
		for p := range kerneltest.EveryProcessor(t) {
			for _, threads := range []int{1, 3} {
				list := operands(t, x, w, bias)
				in := []kerneltest.Operand{list[0], list[1], productScratch(tensor.F32, c.w[0], c.w[1:].Elements(), threads), list[2]}
				y := result(t, "convolution", threads, c.numbers(false), want.Type, in...)
				requireNear(t, want.F, y.F, 1e-3, "%v, %v * %v", p, c.x, c.w)
			}
		}
	}
}

// TestConvolutionsWithChannelsLast: an image as it lies, with weights of every plain type.
func TestConvolutionsWithChannelsLast(t *testing.T) {
	strided := still
	strided.stride, strided.before, strided.after = [2]int64{2, 1}, [2]int64{0, 1}, [2]int64{0, 1}
	grouped := convolution{stride: [2]int64{1, 1}, before: [2]int64{0, 3}, after: [2]int64{2, 1}, dilation: [2]int64{2, 3}, groups: 2}
	r := newRand()
	for _, c := range []struct {
		n, h, w, in, out, k int64
		convolution
	}{
		{1, 9, 33, 8, 51, 3, still.padded(1)},
		{2, 7, 5, 11, 13, 2, strided},
		{1, 8, 10, 18, 6, 3, grouped},
		{1, 3, 4, 300, 5, 3, still.padded(1)}, // pieces of the kernel end within a pixel
	} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			perGroup := c.in / c.groups
			x, w := normal(t, r, tensor.F32, c.n, c.h, c.w, c.in), normal(t, r, d, c.out, c.k, c.k, perGroup)
			want := evaluate(t, "conv2d", c.attrs(), channelsFirst(x), channelsFirst(w))[0]
			o := want.Type.Shape
			for p := range kerneltest.EveryProcessor(t) {
				in := append(operands(t, x, w), productScratch(d, o[2]*o[3], c.k*c.k*perGroup, 2))
				y := result(t, "convolution", 2, c.numbers(true), f32(o[0], o[2], o[3], o[1]), in...)
				bound := 1e-3
				if p == kernels.WithAVX512BF16 && d == tensor.BF16 {
					bound = 0.5 // both factors are rounded to bf16
				}
				requireNear(t, want.F, channelsFirst(y).F, bound, "%v, %v, %v * %v", p, d, x.Type.Shape, w.Type.Shape)
			}
		}
	}
}

// channelsFirst gives [n, h, w, c] as [n, c, h, w].
func channelsFirst(v ops.Value) ops.Value {
	s := v.Type.Shape
	y := ops.NewValue(tensor.Type{DType: v.Type.DType, Shape: tensor.Shape{s[0], s[3], s[1], s[2]}})
	size, channels := s[1]*s[2], s[3]
	for i, f := range v.F {
		at := int64(i)
		image, position, channel := at/(size*channels), at/channels%size, at%channels
		y.F[(image*channels+channel)*size+position] = f
	}
	return y
}
