package ggml

import (
	"qtsaccel/backends/ggml/device"
	"qtsaccel/core/graph"
)

// tapMajor gives input i, an f32 weight [out, in, taps], in such a layout. A weight is
// laid out once, whoever uses it; what a graph computes is, at each run.
func (c *call) tapMajor(i int, as device.TapMajor) node {
	s := c.In[i].Shape
	if c.program == nil {
		return c.leaf(as.Type(c.In[i]))
	}
	if pt := &c.program.Tensors[c.tensors[i]]; pt.Kind == graph.Weight {
		n := c.leaf(as.Type(c.In[i]))
		c.placeWeight(n, pt.Weight, as)
		return n
	}
	kernel := c.dense(c.transpose(c.in(i), 0, 2, 1))
	if as.Row == s[1] {
		return kernel
	}
	return c.pad(kernel, []int64{0, 0, 0}, []int64{0, 0, as.Row - s[1]})
}
