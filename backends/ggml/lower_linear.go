package ggml

import (
	"qtsaccel/backends/ggml/device"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// lowerLinear: x w^T + bias. Products take the weight as it is stored, or rearranged.
func lowerLinear(c *call) node {
	x, w := c.In[0].Shape, c.In[1].Shape
	rows, bias := c.asRows(c.in(0), x), none
	if c.Has(2) {
		bias = c.dense(c.in(2))
	}
	y := c.repackedProduct(1, rows, bias)
	if y == none {
		y = c.product(c.dense(c.in(1)), rows, bias)
	}
	return c.fromRows(y, append(x[:len(x)-1:len(x)-1], w[0]))
}

// linearLayout: what the CPU's products take rearranged.
func linearLayout(b *Backend, c *ops.Call, input int, w *weights.Tensor) device.Layout {
	if input != 1 || w == nil || !b.cpu {
		return nil
	}
	x := c.In[0].Shape
	if l, ok := b.productLayout(w, x.Elements()/x.Dim(-1)); ok {
		return l
	}
	return nil
}

// asRows makes one matrix of all the leading axes: ggml multiplies its rows at
// once. fromRows gives the shape back.
func (l *lowering) asRows(x node, s tensor.Shape) node {
	if len(s) <= 2 {
		return l.rows(x)
	}
	return l.reshape(x, s.Elements()/s.Dim(-1), s.Dim(-1))
}

func (l *lowering) fromRows(y node, s tensor.Shape) node {
	if len(s) <= 2 {
		return y
	}
	return l.reshape(y, s...)
}

// lowerMatmul: a b is a (b^T)^T to ggml, which takes its left factor transposed.
func lowerMatmul(c *call) node {
	a, b, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	if len(a) < 2 || len(b) < 2 {
		return none
	}
	swap := []int{0, 1, 2, 3}[:len(b)]
	swap[len(b)-1], swap[len(b)-2] = swap[len(b)-2], swap[len(b)-1]
	bT := c.rows(c.transpose(c.in(1), swap...))

	if b[:len(b)-2].Elements() == 1 && len(a) >= len(b) {
		return c.fromRows(c.mulMat(c.reshape(bT, b.Dim(-1), b.Dim(-2)), c.asRows(c.in(0), a)), out)
	}
	// ggml repeats the transposed factor's matrices along the batch, not the other's;
	// along the outermost axis only on the CPU.
	x, batch := c.rows(c.in(0)), out[:len(out)-2]
	if !sameExtents(a[:len(a)-2], batch) {
		x = c.expand(c.dense(x), append(append(tensor.Shape{}, batch...), a.Dim(-2), a.Dim(-1)))
	}
	if !c.backend.cpu && len(batch) == 2 && !sameExtents(b[:len(b)-2], batch) && c.In[1].DType == tensor.F32 {
		bT = c.expand(c.dense(bT), append(append(tensor.Shape{}, batch...), b.Dim(-1), b.Dim(-2)))
	}
	return c.mulMat(bT, x)
}
