package ggml

/*
#include "ggml.h"
#include "shim_ops.h"
*/
import "C"

import (
	"math"

	"qtsaccel/backends/kernels"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// lowerRope uses a kernel of our own on the CPU. Elsewhere it leaves heads of odd length
// alone: ggml copies what does not turn by twos, one element beyond the head's end.
func lowerRope(c *call) node {
	interleaved := c.Text("mode") == "interleaved"
	if !c.backend.cpu {
		if c.In[0].Shape[2]%2 != 0 {
			return none
		}
		return c.rope(c.rows(c.in(0)), c.index(1), ops.RopeDims(c.Call), interleaved, c.Real("base"), c.Real("scale"))
	}
	angles, with := c.ropeAngles(interleaved)
	return c.kernel("rope", c.Out[0], with, c.strided(c.in(0)), angles)
}

// ropeKey is what the angles of a rope depend on.
type ropeKey struct {
	positions   node
	dims        int
	base, scale float64
	interleaved bool
}

// ropeAngles gives the cosines and sines of a call's angles as in rope.h of the kernels, which all
// calls with the same share, and the numbers for the kernels. ggml computes angles in
// f32: at position 10^5 they are off by 10^-3.
func (c *call) ropeAngles(interleaved bool) (node, numbers) {
	width, with := int64(ops.RopeDims(c.Call)/2), noNumbers
	if interleaved {
		width, with[0] = 2*width, 1
	}
	key := ropeKey{c.dense(c.in(1)), ops.RopeDims(c.Call), c.Real("base"), c.Real("scale"), interleaved}
	if n, ok := c.angles[key]; ok {
		return n, with
	}
	frequencies := c.leaf(tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, int64(key.dims / 2)}})
	C.shim_rope_frequencies(c.b, frequencies.t, C.double(key.base), C.double(key.scale))
	angles := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{c.In[0].Shape[0], 2, width}}
	n := c.kernel("rope_angles", angles, with, key.positions, frequencies)
	c.angles[key] = n
	return n, with
}

// lowerAttention uses a kernel of our own on the CPU. Elsewhere it is ggml's fused
// attention where that is as exact as the parts it is made of, and those parts
// otherwise.
func lowerAttention(c *call) node {
	if c.backend.cpu {
		return c.attend()
	}
	q := c.transpose(c.in(0), 1, 0, 2) // [heads, t, d]
	k := c.transpose(c.f32OrF16(1), 1, 0, 2)
	v := c.transpose(c.f32OrF16(2), 1, 0, 2)
	scale := ops.AttentionScale(c.Call)

	// Its mask is f16, in which a caller's own need not be exact. It computes in f16,
	// which keys and values of f16 allow.
	if !c.Has(3) && k.is(tensor.F16) && v.is(tensor.F16) {
		y := c.flashAttention(c.strided(q), c.strided(k), c.strided(v), c.mask(tensor.F16), scale)
		if c.deviceTakes(y) {
			return y
		}
	}
	mask, seen := c.mask(tensor.F32), none
	if c.Has(3) {
		given := c.dense(c.in(3))
		if mask != none {
			given = c.add(given, mask)
		}
		// A row of minus infinities would be NaN: of the greatest numbers it is a mean, which
		// is taken away where no key is seen.
		mask = c.clamp(given, -math.MaxFloat32, math.MaxFloat32)
		out := c.unary(C.GGML_UNARY_OP_STEP, c.scale(given, -1, -math.MaxFloat32))
		seen = c.maxRows(c.scale(out, -1, 1)) // [t, 1]
	}
	weights := c.softMaxMasked(c.mulMat(c.rows(k), c.rows(q)), mask, scale) // [heads, t, n]
	y := c.mulMat(c.dense(c.transpose(v, 0, 2, 1)), weights)                // [heads, t, dv]
	if seen != none {
		y = c.mul(y, seen)
	}
	return c.copy(c.transpose(y, 1, 0, 2))
}

// attend lowers attention to a kernel of our own, and where few queries leave too few
// pieces for it, to one that has the keys in chunks and one that puts these together.
func (c *call) attend() node {
	t, heads, d := c.In[0].Shape[0], c.In[0].Shape[1], c.In[0].Shape[2]
	n, kvHeads, dv := c.In[1].Shape[0], c.In[1].Shape[1], c.In[2].Shape[2]
	scratch := c.scratch(kernels.AttentionScratch(d, dv, c.backend.info.Threads))
	with := numbers{floatBits(ops.AttentionScale(c.Call)), C.int32_t(c.Int("causal"))}
	with[2], with[3] = halves(c.Int("window"))
	inputs := []node{c.strided(c.in(0)), c.strided(c.in(1)), scratch, c.strided(c.in(2))}
	if c.Has(3) {
		with[4] = 1
		inputs = append(inputs, c.strided(c.in(3)))
	}
	if c.Has(4) {
		with[5] = 1
		inputs = append(inputs, c.index(4))
	}
	chunk := kernels.AttentionChunk(t, heads, kvHeads, n)
	if chunk >= n {
		return c.kernel("attention", c.Out[0], with, inputs...)
	}
	parts := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{(n + chunk - 1) / chunk, t * heads, dv + 2}}
	return c.kernel("combine", c.Out[0], noNumbers, c.kernel("attention", parts, with, inputs...))
}

// f32OrF16 gives input i, widened where it is bf16: ggml would round the queries
// to it.
func (c *call) f32OrF16(i int) node {
	if c.In[i].DType == tensor.BF16 {
		return c.cast(c.in(i), tensor.F32)
	}
	return c.in(i)
}

// mask gives the mask [t, n] of the keys that positions or causal hide; none where
// every query sees all keys.
func (c *call) mask(d tensor.DType) node {
	t, n := c.In[0].Shape[0], c.In[1].Shape[0]
	causal, window := c.Int("causal") == 1, c.Int("window")
	if !c.Has(4) && (!causal || t == 1 && (window == 0 || window >= n)) {
		return none
	}
	key := maskKey{positions: -1, t: t, n: n, window: window, dtype: d}
	if c.Has(4) && c.program != nil {
		key.positions = c.inputs[c.tensors[4]]
	}
	if m, ok := c.masks[key]; ok {
		return m
	}
	m := c.leaf(tensor.Type{DType: d, Shape: tensor.Shape{t, n}})
	C.shim_mask(c.b, C.int32_t(key.positions), m.t, C.int64_t(window), C.bool(c.Has(4) && c.In[4].DType == tensor.I64))
	c.masks[key] = m
	return m
}
