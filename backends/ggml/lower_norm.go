package ggml

func lowerRMSNorm(c *call) node {
	return c.affine(c.rmsNorm(c.dense(c.in(0)), c.Real("eps")), func(i int) node { return c.dense(c.in(i)) })
}

// lowerLayerNorm. On other devices ggml's norm takes the variance for the mean
// square less the squared mean, which loses digits where the mean is large.
func lowerLayerNorm(c *call) node {
	x, eps := c.dense(c.in(0)), c.Real("eps")
	var y node
	if c.backend.cpu {
		y = c.norm(x, eps)
	} else {
		y = c.rmsNorm(c.sub(x, c.meanRows(x)), eps)
	}
	return c.affine(y, func(i int) node { return c.dense(c.in(i)) })
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

func lowerGroupNorm(c *call) node {
	s := c.In[0].Shape
	rest := s[2:].Elements()
	// ggml groups along its third axis.
	y := c.groupNorm(c.reshape(c.in(0), s[0], s[1], 1, rest), c.Int("groups"), c.Real("eps"))
	y = c.affine(y, func(i int) node { return c.reshape(c.in(i), s[1], 1, 1) })
	return c.reshape(y, s...)
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
