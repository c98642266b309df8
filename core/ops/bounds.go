package ops

import "qtsaccel/core/tensor"

// Bounds of whole numbers make a computed tensor fit to be an index. They start
// at operators whose values are whole and bounded whatever their inputs hold
// (argmax, step, arange), never at ones such as clamp that let a NaN through.

// countable is a bound as an int64, 0 (none) where f32 cannot count that far.
func countable(bound float64) int64 {
	if bound > 1<<24 {
		return 0
	}
	return int64(bound)
}

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
	}
	return 0
}
