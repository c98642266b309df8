package oplevel

import (
	"qtsaccel/core/ops"
)

// norm gives what normalises rows of x [pixels, channels] as they are loaded. Group
// statistics are taken over all of x, block by block, so that they need no second x.
func (b *builder) norm(x ops.Ref, g *Geometry, n Norm) func(ops.Ref) ops.Ref {
	gamma, beta := ops.None, ops.None
	if n.Gamma != nil {
		gamma = b.input(f32(g.CIn))
	}
	if n.Beta != nil {
		beta = b.input(f32(g.CIn))
	}
	var normalise func(ops.Ref) ops.Ref
	switch n.Kind {
	case GroupNorm:
		normalise = b.groupNorm(x, g, n, gamma, beta)
	case LayerNorm:
		normalise = func(rows ops.Ref) ops.Ref {
			return b.op("layer_norm", []ops.Ref{rows, gamma, beta}, ops.RealAttr("eps", n.Eps))
		}
	case NoNorm:
		normalise = func(rows ops.Ref) ops.Ref { return rows }
	}
	if !n.SiLU {
		return normalise
	}
	return func(rows ops.Ref) ops.Ref { return b.op("silu", []ops.Ref{normalise(rows)}) }
}

// groupNorm is (x - mean) / sqrt(var + eps) * gamma + beta, mean and var those of the
// channel's group over all pixels. The mean is taken first, since the mean square
// less the squared mean loses digits where the mean is large.
func (b *builder) groupNorm(x ops.Ref, g *Geometry, n Norm, gamma, beta ops.Ref) func(ops.Ref) ops.Ref {
	mean := b.groupMeans(x, g, n, func(block ops.Ref) ops.Ref { return block })
	variance := b.groupMeans(x, g, n, func(block ops.Ref) ops.Ref {
		return b.op("square", []ops.Ref{b.op("sub", []ops.Ref{block, mean})})
	})
	factor := b.op("sqrt", []ops.Ref{b.op("scale", []ops.Ref{variance}, ops.RealAttr("bias", n.Eps))})
	return func(rows ops.Ref) ops.Ref {
		y := b.op("div", []ops.Ref{b.op("sub", []ops.Ref{rows, mean}), factor})
		if gamma != ops.None {
			y = b.op("mul", []ops.Ref{y, gamma})
		}
		if beta != ops.None {
			y = b.op("add", []ops.Ref{y, beta})
		}
		return y
	}
}

// groupMeans gives [channels], for each channel the mean of f over its group.
func (b *builder) groupMeans(x ops.Ref, g *Geometry, n Norm, f func(ops.Ref) ops.Ref) ops.Ref {
	pixels, perGroup := g.H*g.W, g.CIn/n.Groups
	block := normBlock(g.CIn)
	sum := ops.None
	for first := int64(0); first < pixels; first += block {
		rows := x
		if block < pixels {
			rows = b.op("slice", []ops.Ref{x}, ops.IntAttr("axis", 0), ops.IntAttr("start", first), ops.IntAttr("end", min(first+block, pixels)))
		}
		part := b.op("reduce_sum", []ops.Ref{f(rows)}, ops.IntAttr("axis", 0), ops.IntAttr("keepdims", 0))
		if sum == ops.None {
			sum = part
		} else {
			sum = b.op("add", []ops.Ref{sum, part})
		}
	}
	groups := b.op("reduce_sum", []ops.Ref{b.reshape(sum, n.Groups, perGroup)}, ops.IntAttr("axis", 1))
	groups = b.op("scale", []ops.Ref{groups}, ops.RealAttr("scale", 1/float64(pixels*perGroup)))
	return b.reshape(b.op("expand", []ops.Ref{groups}, ops.IntsAttr("shape", n.Groups, perGroup)), g.CIn)
}
