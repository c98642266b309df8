package ggml

func lowerAdd(c *call) node {
	return c.add(c.rows(c.in(0)), c.in(1))
}
