package ggml

// #include "shim_ops.h"
import "C"

import "qtsaccel/core/tensor"

func lowerEmbedding(c *call) node {
	n := c.In[1].Shape.Elements()
	rows := c.getRows(c.dense(c.in(0)), c.reshape(c.index(1), n))
	return c.reshape(rows, c.Out[0].Shape...)
}

// lowerStateWrite writes into the state's own memory; the result is a look at it.
func lowerStateWrite(c *call) node {
	state, values := c.in(0), c.dense(c.in(1))
	if !c.Has(2) {
		return c.copyTo(values, state)
	}
	if values.root() == state.root() {
		values = c.copy(values) // rows must not be read that were written already
	}
	s := c.In[0].Shape
	row := s[1:].Elements()
	n := c.In[1].Shape[0]
	written := c.setRows(c.reshape(state, s[0], row), c.reshape(values, n, row), c.index(2))
	return c.reshape(written, s...)
}

// lowerArgmax takes the first of equal elements. ggml's takes the last on the CPU
// and any on other devices, so it is no use.
func lowerArgmax(c *call) node {
	if !c.backend.cpu {
		return none
	}
	axis, s := c.Axis(), c.In[0].Shape
	x := c.dense(c.lastAxis(c.in(0), axis, len(s)))
	// The exchange of axes has brought the last one to where axis was.
	left := append(tensor.Shape{}, s[:len(s)-1]...)
	if axis < len(left) {
		left[axis] = s[len(s)-1]
	}
	y := c.kernel("argmax", tensor.Type{DType: tensor.I32, Shape: left}, noNumbers, x)
	if axis >= len(left)-1 {
		return c.reshape(y, c.Out[0].Shape...)
	}
	// [.., last, between] to [.., between, last]
	axes := make([]int, 0, len(left))
	for i := range left {
		if i != axis {
			axes = append(axes, i)
		}
	}
	return c.reshape(c.transpose(y, append(axes, axis)...), c.Out[0].Shape...)
}

// lowerTopK: one kernel gives the values and, behind them, the places.
func lowerTopK(c *call) []node {
	if !c.backend.cpu {
		return nil
	}
	out := c.Out[0].Shape
	rows, k := out[:len(out)-1].Elements(), out.Dim(-1)
	both := c.kernel("top_k", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, rows, k}}, noNumbers, c.dense(c.in(0)))
	part := func(i int64) node {
		return c.view(both, i*rows*k*4, tensor.Shape{rows, k}, []int64{k * 4, 4})
	}
	return []node{c.reshape(part(0), out...), c.reshape(c.asI32(part(1)), out...)}
}

// maxRows gives the largest element of each row.
func (l *lowering) maxRows(x node) node {
	if l.backend.cpu {
		s := tensor.Shape{x.ne(3), x.ne(2), x.ne(1), 1}
		return l.kernel("row_max", tensor.Type{DType: tensor.F32, Shape: s}, noNumbers, x)
	}
	return l.rowMax(x)
}
