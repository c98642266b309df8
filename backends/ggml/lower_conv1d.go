package ggml

// #include "shim_ops.h"
import "C"

import (
	"qtsaccel/backends/ggml/device"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// lowerConv1d multiplies the windows that the kernel meets with the kernel. On
// the CPU the channels of a position lie side by side, so that a window is one
// piece of memory and nothing is gathered: k successive positions of c channels
// are a row of k*c, and the next begins a stride further on. What comes of it has
// its channels side by side, too, and is ready for the next convolution.
func lowerConv1d(c *call) node {
	along := ops.Windows(c.Call)[0]
	if c.backend.cpu && (c.In[1].DType != tensor.F32 || c.Int("groups") != 1 || along.Dilation != 1) {
		x, k, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
		still := ops.Window{Stride: 1, Dilation: 1}
		y := c.convKernel(tensor.Shape{x[0], x[1], 1, x[2]}, tensor.Shape{k[0], k[1], 1, k[2]}, tensor.Shape{out[0], out[1], 1, out[2]}, still, along)
		if y == none {
			return none
		}
		return c.reshape(y, out...)
	}
	if c.Int("groups") != 1 || c.In[1].DType != tensor.F32 || max(along.Stride, along.Before, along.After, along.Dilation) > maxSpan {
		return none
	}
	if kernel, ok := c.layout(1).(device.TapMajor); ok {
		return c.conv1dByWindows(along, kernel)
	}
	return c.conv1dByColumns(along)
}

// conv1dLayout: only the CPU takes windows as they lie, and the kernel so that it meets
// them.
func conv1dLayout(b *Backend, c *ops.Call, input int, _ *weights.Tensor) device.Layout {
	along := ops.Windows(c)[0]
	if input != 1 || !b.cpu || c.In[1].DType != tensor.F32 || c.Int("groups") != 1 || along.Dilation != 1 {
		return nil
	}
	channels, row := c.In[0].Shape[1], c.In[0].Shape[1] // floats of one position
	first, last := usedTaps(along, c.In[0].Shape[2], c.Out[0].Shape[2])
	if (last-first)*channels%16 != 0 && channels >= 64 {
		row = (channels + 15) / 16 * 16 // ggml's product is slow where rows are no multiple of 16
	}
	return device.TapMajor{Row: row}
}

func (c *call) conv1dByWindows(along ops.Window, layout device.TapMajor) node {
	x, k, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	n, channels, length, outLength := x[0], x[1], x[2], out[2]

	// Taps that meet only padding are left out; the others begin at start, which
	// is before the first element where there is padding.
	first, last := usedTaps(along, length, outLength)
	if first == last {
		return none
	}
	taps, start := last-first, first-along.Before
	before := max(0, -start)
	after := max(0, start+(outLength-1)*along.Stride+taps-length)

	row := layout.Row
	var positions node // [n, length, channels]
	if channels == 1 {
		positions = c.reshape(c.in(0), n, length, 1)
	} else {
		positions = c.transpose(c.in(0), 0, 2, 1)
	}
	switch {
	case before > 0 || after > 0 || row != channels:
		positions = c.pad(positions, []int64{0, before, 0}, []int64{0, after, row - channels})
	case taps == 1:
		positions = c.strided(positions)
	default:
		positions = c.dense(positions)
	}
	step := positions.stride(1)
	windows := c.view(positions, max(0, start)*step, tensor.Shape{n, outLength, taps * row},
		[]int64{positions.stride(2), along.Stride * step, 4})

	kernel := c.tapMajor(1, layout) // [out channels, all taps, row]
	kernel = c.view(kernel, first*row*4, tensor.Shape{k[0], taps * row}, []int64{k[2] * row * 4, 4})
	bias := none
	if c.Has(2) {
		bias = c.dense(c.in(2))
	}
	y := c.product(kernel, windows, bias) // [n, out length, out channels]
	return c.transpose(y, 0, 2, 1)
}

// usedTaps gives the kernel's elements [first, last) that ever meet an element of
// the input; from the first such to the last. It looks at no more than a stride of
// elements from either end: after so many, what they meet is the same again.
func usedTaps(w ops.Window, length, outLength int64) (first, last int64) {
	used := func(t int64) bool {
		// Output i meets position i*stride + t - before.
		low := max(0, (w.Before-t+w.Stride-1)/w.Stride)
		return low < outLength && low*w.Stride+t-w.Before < length
	}
	first = max(0, w.Before-(outLength-1)*w.Stride)
	last = min(w.Kernel, w.Before+length)
	for first < last && !used(first) {
		first++
	}
	for first < last && !used(last-1) {
		last--
	}
	return first, last
}

// conv1dByColumns gathers the windows.
func (c *call) conv1dByColumns(along ops.Window) node {
	x, k, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	in, kernel := c.dense(c.in(0)), c.dense(c.in(1))
	if along.Before != along.After {
		in = c.pad(in, []int64{0, 0, along.Before}, []int64{0, 0, along.After})
		along.Before, along.After = 0, 0
	}
	w, ok := newWindow(along, ops.Window{Stride: 1, Dilation: 1})
	if !ok {
		return none
	}
	windows := c.im2col(kernel, in, w, false) // [n, out length, c * kernel]
	return c.convProduct(windows, c.reshape(kernel, k[0], k[1]*k[2]), x[0], out)
}
