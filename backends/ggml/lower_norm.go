package ggml

// #include "shim_ops.h"
import "C"

func lowerRMSNorm(c *call) node {
	if c.backend.cpu {
		return c.normalise(false, c.In[0].Shape.Dim(-1), 1, 1)
	}
	return c.affine(c.rmsNorm(c.dense(c.in(0)), c.Real("eps")), func(i int) node { return c.dense(c.in(i)) })
}

func lowerLayerNorm(c *call) node {
	if c.backend.cpu {
		return c.normalise(true, c.In[0].Shape.Dim(-1), 1, 1)
	}
	return c.affine(c.centredNorm(c.dense(c.in(0))), func(i int) node { return c.dense(c.in(i)) })
}

func lowerGroupNorm(c *call) node {
	s, groups := c.In[0].Shape, c.Int("groups")
	rest := s[2:].Elements()
	if c.backend.cpu {
		return c.normalise(true, s[1]/groups*rest, rest, groups)
	}
	y := c.centredNorm(c.reshape(c.in(0), s[0]*groups, s[1]/groups*rest))
	y = c.affine(c.reshape(y, s[0], s[1], 1, rest), func(i int) node { return c.reshape(c.in(i), s[1], 1, 1) })
	return c.reshape(y, s...)
}

// centredNorm is the norm of rows less their mean, without weight and bias. ggml's own
// takes the variance for the mean square less the squared mean, which loses digits
// where the mean is large. So does the mean itself, by some of its last bits: what is
// left of it is taken off, too.
func (c *call) centredNorm(x node) node {
	x = c.sub(x, c.meanRows(x))
	return c.rmsNorm(c.sub(x, c.meanRows(x)), c.Real("eps"))
}

// normalise norms pieces of n elements by a kernel of our own, each element of weight
// and bias serving so many, and their rows the pieces in turn; see norm.h of the kernels.
func (c *call) normalise(centred bool, n, repeat, parameterRows int64) node {
	inputs, flags := []node{c.dense(c.in(0))}, C.int32_t(0)
	if centred {
		flags = 1
	}
	for i := 1; i <= 2; i++ {
		if c.Has(i) {
			flags |= 1 << i
			inputs = append(inputs, c.dense(c.in(i)))
		}
	}
	with := numbers{floatBits(c.Real("eps")), flags}
	for i, v := range []int64{n, repeat, parameterRows} {
		with[2+2*i], with[3+2*i] = halves(v)
	}
	return c.kernel("norm", c.Out[0], with, inputs...)
}

// affine multiplies by input 1 and adds input 2, where they are given.
func (c *call) affine(y node, param func(i int) node) node {
	if c.Has(1) {
		y = c.mul(y, param(1))
	}
	if c.Has(2) {
		y = c.add(y, param(2))
	}
	return y
}

func lowerSoftmax(c *call) node {
	axis, rank := c.Axis(), len(c.In[0].Shape)
	y := c.softMax(c.dense(c.lastAxis(c.in(0), axis, rank)))
	return c.lastAxis(y, axis, rank)
}

// lowerReduceSum and the other reductions do the last axis, which stays with
// length 1; the rest arrives decomposed into that.
func lowerReduceSum(c *call) node  { return c.reduceRows((*lowering).sumRows) }
func lowerReduceMean(c *call) node { return c.reduceRows((*lowering).meanRows) }
func lowerReduceMax(c *call) node  { return c.reduceRows((*lowering).maxRows) }

func (c *call) reduceRows(f func(l *lowering, x node) node) node {
	if c.Axis() != len(c.In[0].Shape)-1 || c.Int("keepdims") == 0 {
		return none
	}
	return f(c.lowering, c.dense(c.in(0)))
}

// lowerCumsum. On the CPU ggml's adds in f32.
func lowerCumsum(c *call) node {
	rank := len(c.In[0].Shape)
	if !c.backend.cpu {
		y := c.cumsum(c.dense(c.lastAxis(c.in(0), c.Axis(), rank)))
		return c.lastAxis(y, c.Axis(), rank)
	}
	axis := C.int32_t(rank - 1 - c.Axis())
	return c.kernel("cumsum", c.Out[0], numbers{axis}, c.dense(c.in(0)))
}
