package ggml

// #include "shim.h"
import "C"

import (
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// lowerRope leaves heads of odd length alone: ggml copies what does not turn by twos, one
// element beyond the head's end.
func lowerRope(c *call) node {
	if c.In[0].Shape[2]%2 != 0 {
		return none
	}
	return c.rope(c.rows(c.in(0)), c.index(1), ops.RopeDims(c.Call), c.Text("mode") == "interleaved", c.Real("base"), c.Real("scale"))
}

// lowerAttention uses ggml's fused attention where it is as exact as the parts it
// is made of, and those parts elsewhere.
func lowerAttention(c *call) node {
	q := c.transpose(c.in(0), 1, 0, 2) // [heads, t, d]
	k := c.transpose(c.f32OrF16(1), 1, 0, 2)
	v := c.transpose(c.f32OrF16(2), 1, 0, 2)
	scale := ops.AttentionScale(c.Call)

	// Its mask is f16, in which a caller's own need not be exact. Off the CPU it
	// computes in f16, which keys and values of f16 allow.
	if !c.Has(3) && (c.backend.cpu || k.is(tensor.F16) && v.is(tensor.F16)) {
		y := c.flashAttention(c.strided(q), c.strided(k), c.strided(v), c.mask(tensor.F16), scale)
		if c.deviceTakes(y) {
			return y
		}
	}
	mask := c.in(3)
	if mask != none {
		mask = c.dense(mask)
	}
	switch hidden := c.mask(tensor.F32); {
	case mask == none:
		mask = hidden
	case hidden != none:
		mask = c.add(mask, hidden)
	}
	weights := c.softMaxMasked(c.mulMat(c.rows(k), c.rows(q)), mask, scale) // [heads, t, n]
	y := c.mulMat(c.dense(c.transpose(v, 0, 2, 1)), weights)                // [heads, t, dv]
	return c.copy(c.transpose(y, 1, 0, 2))
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
	C.shim_mask(c.b, C.int32_t(key.positions), m.t, C.int64_t(window))
	c.masks[key] = m
	return m
}
