package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

// Bounds make a computed tensor fit to be an index. They start at operators whose
// values are whole and bounded whatever their inputs hold (argmax, top_k,
// arange), never at ones such as clamp that let a NaN through, and pass through
// operators that only move values.

// boundOfFirst is the bound of operators that only move their first input's values.
func boundOfFirst(_ *Call, in []int64) int64 { return in[0] }

// boundOfAll is the bound of operators that only move all their inputs' values.
func boundOfAll(_ *Call, in []int64) int64 {
	bound := int64(0)
	for _, b := range in {
		if b == 0 {
			return 0
		}
		bound = max(bound, b)
	}
	return bound
}

// boundOfCast lets a bound through where the dtype can hold it.
func boundOfCast(c *Call, in []int64) int64 {
	switch c.Out[0].DType {
	case tensor.F32, tensor.I32, tensor.I64:
		return in[0]
	default:
		return 0
	}
}

// boundOfArange is the bound of whole numbers that f32 can count to.
func boundOfArange(c *Call, _ []int64) int64 {
	start, step := c.Real("start"), c.Real("step")
	last := start + float64(c.Int("count")-1)*step
	top := math.Max(start, last)
	if !(math.Min(start, last) >= 0 && top < 1<<24) || start != math.Trunc(start) || step != math.Trunc(step) {
		return 0
	}
	return int64(top) + 1
}
