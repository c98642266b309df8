package ggml

// #include "shim_ops.h"
import "C"

import (
	"qtsaccel/backends/kernels"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// maxSpan bounds strides, paddings and dilations: ggml keeps them as int32 and
// multiplies.
const maxSpan = 1 << 20

func newWindow(across, down ops.Window) (window, bool) {
	var w window
	for i, o := range []ops.Window{across, down} {
		if o.Before != o.After || max(o.Stride, o.Before, o.Dilation) > maxSpan {
			return w, false
		}
		w.stride[i], w.padding[i], w.dilation[i] = C.int32_t(o.Stride), C.int32_t(o.Before), C.int32_t(o.Dilation)
	}
	return w, true
}

// convKernel computes a convolution with a kernel of our own, on the CPU: there
// ggml gathers all windows in memory first, and element by element. Shapes are
// those of conv2d.
func (c *call) convKernel(x, weight, out tensor.Shape, down, across ops.Window) node {
	var with numbers
	for i, n := range []int64{down.Stride, across.Stride, down.Before, across.Before, down.Dilation, across.Dilation} {
		if n > maxSpan {
			return none
		}
		with[i] = C.int32_t(n)
	}
	if in := c.in(0); len(c.In[0].Shape) == 4 && !in.contiguous() && weight[1] >= leastRun {
		if in = c.transpose(in, 0, 2, 3, 1); in.contiguous() {
			return c.convChannelsLast(in, weight, out, with)
		}
	}
	kernel := c.reshape(c.widened(1), weight...)
	scratch := c.productScratch(kernel, weight[0], weight[1:].Elements())
	return c.convOf(c.reshape(c.in(0), x...), kernel, scratch, out, with)
}

// leastRun is of so many channels that it pays to gather a window pixel by pixel.
const leastRun = 8

// convChannelsLast takes an image [n, h, w, c] as it lies, and gives its result in the
// same order; so it does with a weight of that order.
func (c *call) convChannelsLast(x node, weight, out tensor.Shape, with numbers) node {
	with[6] = 1
	kernel := c.dense(c.transpose(c.in(1), 0, 2, 3, 1))
	scratch := c.productScratch(kernel, out[2]*out[3], weight[1:].Elements())
	y := c.convOf(x, kernel, scratch, tensor.Shape{out[0], out[2], out[3], out[1]}, with)
	return c.transpose(y, 0, 3, 1, 2)
}

func (c *call) convOf(x, kernel, scratch node, out tensor.Shape, with numbers) node {
	inputs := []node{x, kernel, scratch}
	with[forProcessor] = C.int32_t(kernels.InUse())
	if c.Has(2) {
		inputs = append(inputs, c.dense(c.in(2)))
	}
	return c.kernel("convolution", tensor.Type{DType: tensor.F32, Shape: out}, with, inputs...)
}

func lowerConv2d(c *call) node {
	x, k, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	spans := ops.Windows(c.Call)
	if c.backend.cpu {
		return c.convKernel(x, k, out, spans[0], spans[1])
	}
	w, ok := newWindow(spans[1], spans[0])
	if !ok || c.In[1].DType != tensor.F32 {
		return none
	}
	in, kernel, groups := c.dense(c.in(0)), c.dense(c.in(1)), c.Int("groups")
	switch {
	case groups == x[1] && k[0] == groups && k[1] == 1:
		return c.channelBias(c.conv2dDepthwise(kernel, in, w), out)
	case groups != 1:
		return none
	}
	windows := c.im2col(kernel, in, w, true) // [n, oh, ow, c * kh * kw]
	size := out[2] * out[3]
	windows = c.reshape(windows, x[0], size, k[1]*k[2]*k[3])
	return c.convProduct(windows, c.reshape(kernel, k[0], k[1]*k[2]*k[3]), x[0], out)
}

// convProduct multiplies windows [n, size, m] with a kernel [oc, m] to [n, oc,
// size], adds the bias, and gives the result its shape.
func (c *call) convProduct(windows, kernel node, n int64, out tensor.Shape) node {
	if n == 1 {
		// With the windows as the left factor the channels come out as rows.
		return c.channelBias(c.mulMat(windows, kernel), out)
	}
	y := c.mulMat(kernel, windows) // [n, size, oc]
	return c.channelBias(c.copy(c.transpose(y, 0, 2, 1)), out)
}

// channelBias gives a result its shape and adds input 2, one number a channel.
func (c *call) channelBias(y node, out tensor.Shape) node {
	y = c.reshape(y, out...)
	if !c.Has(2) {
		return y
	}
	perChannel := tensor.Shape{out[1], 1, 1}[:len(out)-1]
	return c.add(y, c.reshape(c.in(2), perChannel...))
}
