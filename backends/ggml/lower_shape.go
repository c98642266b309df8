package ggml

// #include "shim_ops.h"
import "C"

import (
	"math"

	"qtsaccel/backends/kernels"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

func lowerReshape(c *call) node {
	if c.In[0].DType.Quantised() {
		return none
	}
	return c.reshape(c.in(0), c.Out[0].Shape...)
}

// moves says whether the device copies elements of input 0 from anywhere: but for the
// CPU those of 2 and 4 bytes, and Vulkan asserts on others.
func (c *call) moves() bool {
	_, size := c.In[0].DType.Block()
	return c.backend.cpu || size == 2 || size == 4
}

func lowerTranspose(c *call) node {
	if !c.moves() {
		return none
	}
	if len(c.In[0].Shape) == 0 {
		return c.in(0)
	}
	return c.transpose(c.in(0), ops.Axes(c.Call)...)
}

// lowerSlice looks at the elements where they are, as far as it goes forwards:
// backwards ggml cannot look.
func lowerSlice(c *call) node {
	if !c.moves() {
		return none
	}
	r, axis, s, out := ops.SliceRange(c.Call), c.Axis(), c.In[0].Shape, c.Out[0].Shape
	start, step := r.Start, r.Step
	switch {
	case out[axis] == 1:
		step = 1
	case step < 0:
		return c.backwards(r, axis)
	}
	x := c.in(0)
	strides := make([]int64, len(s))
	for i := range s {
		strides[i] = x.stride(len(s) - 1 - i)
	}
	offset := start * strides[axis]
	strides[axis] *= step
	return c.view(x, offset, out, strides)
}

// backwards takes elements in falling order: on the CPU by a kernel of our own, on
// other devices by fetching rows, which they do of floats, and give as f32.
func (c *call) backwards(r ops.Range, axis int) node {
	s, out, d := c.In[0].Shape, c.Out[0].Shape, c.In[0].DType
	if c.backend.cpu {
		with := numbers{C.int32_t(len(s) - 1 - axis)}
		with[1], with[2] = halves(r.Start)
		with[3], with[4] = halves(r.Step)
		return c.kernel("slice", c.Out[0], with, c.in(0))
	}
	if !d.Float() && d != tensor.I32 {
		return none
	}
	before, after := s[:axis].Elements(), s[axis+1:].Elements()
	ids := c.sequence(tensor.Type{DType: tensor.I32, Shape: tensor.Shape{before, out[axis]}}, float64(r.Start), float64(r.Step), out[axis])
	rows := c.reshape(c.getRows(c.reshape(c.in(0), before, s[axis], after), ids), out...)
	if d.Float() && d != tensor.F32 {
		return c.cast(rows, d)
	}
	return rows
}

// lowerConcat. ggml's own puts two tensors together, element by element on the
// CPU.
func lowerConcat(c *call) node {
	if !c.moves() {
		return none
	}
	axis, rank := c.Axis(), len(c.In[0].Shape)
	x := c.dense(c.in(0))
	for i := 1; i < len(c.In); i++ {
		if c.backend.cpu {
			parts := []node{x}
			s := append(tensor.Shape{}, c.In[0].Shape...)
			s[axis] = x.ne(rank - 1 - axis)
			for ; i < len(c.In) && len(parts) < kernels.MaxInputs; i++ {
				parts = append(parts, c.dense(c.in(i)))
				s[axis] += c.In[i].Shape[axis]
			}
			i--
			x = c.kernel("concat", tensor.Type{DType: c.In[0].DType, Shape: s}, numbers{C.int32_t(rank - 1 - axis)}, parts...)
			continue
		}
		x = c.concat2(x, c.dense(c.in(i)), axis, rank)
	}
	return x
}

func lowerExpand(c *call) node { return c.expand(c.dense(c.in(0)), c.Out[0].Shape) }

func lowerPad(c *call) node {
	rank := len(c.In[0].Shape)
	before, after := c.Ints("pads")[:rank], c.Ints("pads")[rank:]
	if c.Text("mode") == "reflect" {
		for axis := range rank - 1 {
			if before[axis] != 0 || after[axis] != 0 {
				return none
			}
		}
		if max(before[rank-1], after[rank-1]) > math.MaxInt32 {
			return none
		}
		return c.padReflect(c.dense(c.in(0)), C.int32_t(before[rank-1]), C.int32_t(after[rank-1]))
	}
	for i := range before {
		if max(before[i], after[i]) > math.MaxInt32 {
			return none
		}
	}
	if c.Real("value") != 0 {
		return none
	}
	return c.pad(c.in(0), before, after)
}

func lowerUpsample(c *call) node { return c.upscale(c.dense(c.in(0)), c.Out[0].Shape) }

// lowerArange is computed once.
func lowerArange(c *call) node {
	return c.sequence(c.Out[0], c.Real("start"), c.Real("step"), c.Int("count"))
}
