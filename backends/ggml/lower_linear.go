package ggml

// linear: x w^T + bias. ggml's product takes the weight as it is stored.
func lowerLinear(c *call) node {
	y := c.mulMat(c.in(1), c.dense(c.in(0)))
	if c.Has(2) {
		y = c.add(y, c.dense(c.in(2)))
	}
	return y
}
