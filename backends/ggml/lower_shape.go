package ggml

// #include "shim_ops.h"
import "C"

import "qtsaccel/core/tensor"

func lowerReshape(c *call) node {
	if c.In[0].DType.Quantised() {
		return none
	}
	return c.reshape(c.in(0), c.Out[0].Shape...)
}

func lowerTranspose(c *call) node {
	rank := len(c.In[0].Shape)
	axes := make([]int, rank)
	for i, a := range c.Ints("axes") {
		axes[i] = (int(a) + rank) % rank
	}
	if rank == 0 {
		return c.in(0)
	}
	return c.transpose(c.in(0), axes...)
}

// lowerSlice looks at the elements where they are. Backwards ggml cannot look:
// then rows are fetched by number.
func lowerSlice(c *call) node {
	axis, s, out := c.Axis(), c.In[0].Shape, c.Out[0].Shape
	start, step := sliceStart(c), c.Int("step")
	if step < 0 {
		if d := c.In[0].DType; d != tensor.F32 && d != tensor.I32 {
			return none
		}
		before, after := s[:axis].Elements(), s[axis+1:].Elements()
		ids := make([]int32, before*out[axis])
		for i := range ids {
			ids[i] = int32(start + int64(i)%out[axis]*step)
		}
		rows := c.getRows(c.reshape(c.in(0), before, s[axis], after),
			constant(c.lowering, ids, tensor.Type{DType: tensor.I32, Shape: tensor.Shape{before, out[axis]}}))
		return c.reshape(rows, out...)
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

// sliceStart is the first element of a slice, from the start of the axis.
func sliceStart(c *call) int64 {
	n, start := c.In[0].Shape[c.Axis()], c.Int("start")
	if start < 0 {
		start += n
	}
	if c.Int("step") < 0 {
		return min(max(start, 0), n-1)
	}
	return min(max(start, 0), n)
}

// lowerConcat. ggml's own puts two tensors together, element by element on the
// CPU.
func lowerConcat(c *call) node {
	axis, rank := c.Axis(), len(c.In[0].Shape)
	x := c.dense(c.in(0))
	for i := 1; i < len(c.In); i++ {
		if c.backend.cpu {
			parts := []node{x}
			s := append(tensor.Shape{}, c.In[0].Shape...)
			s[axis] = x.ne(rank - 1 - axis)
			for ; i < len(c.In) && len(parts) < maxKernelInputs; i++ {
				parts = append(parts, c.dense(c.in(i)))
				s[axis] += c.In[i].Shape[axis]
			}
			i--
			x = c.kernel(C.SHIM_CONCAT, tensor.Type{DType: c.In[0].DType, Shape: s}, numbers{C.int32_t(rank - 1 - axis)}, parts...)
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
		return c.padReflect(c.dense(c.in(0)), before[rank-1], after[rank-1])
	}
	if c.Real("value") != 0 {
		return none
	}
	return c.pad(c.in(0), before, after)
}

func lowerUpsample(c *call) node { return c.upscale(c.dense(c.in(0)), c.Out[0].Shape) }

// lowerArange is computed here, once.
func lowerArange(c *call) node {
	v := make([]float32, c.Int("count"))
	for i := range v {
		v[i] = float32(c.Real("start") + float64(i)*c.Real("step"))
	}
	return constant(c.lowering, v, c.Out[0])
}
