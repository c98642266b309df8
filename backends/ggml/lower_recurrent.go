package ggml

// #include "shim_ops.h"
import "C"

import "qtsaccel/core/tensor"

// lowerLSTMCell: two products, and one kernel that adds them and the biases,
// squashes the gates, and gives h' and c' one behind the other.
func lowerLSTMCell(c *call) []node {
	if !c.backend.cpu {
		return nil
	}
	n, hidden := c.In[1].Shape[0], c.In[1].Shape[1]
	inputs := []node{c.mulMat(c.widened(3), c.rows(c.in(0))), c.mulMat(c.widened(4), c.rows(c.in(1))), c.dense(c.in(2))}
	for bias := 5; bias <= 6; bias++ {
		if c.Has(bias) {
			inputs = append(inputs, c.dense(c.in(bias)))
		}
	}
	both := c.kernel("lstm", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, n, hidden}}, noNumbers, inputs...)
	row := hidden * 4
	part := func(i int64) node {
		return c.view(both, i*n*row, tensor.Shape{n, hidden}, []int64{row, 4})
	}
	return []node{part(0), part(1)}
}

// widened gives input i, a 16-bit weight, as f32. A product on the CPU would round
// the other factor to the weight's dtype: an LSTM squashes its gates to numbers so
// small that this shows. Our own kernels have no other dtype.
func (c *call) widened(i int) node {
	if d := c.In[i].DType; d.Float() && d != tensor.F32 {
		return c.cast(c.in(i), tensor.F32)
	}
	return c.dense(c.in(i))
}
