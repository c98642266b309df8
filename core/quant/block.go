package quant

import (
	"math"

	"qtsaccel/core/tensor"
)

// Block is 32 elements that were quantised elsewhere, to be stored as they are:
// value = Scale * level, or Scale * level + Least in the types that have one.
type Block struct {
	Scale, Least float32
	Levels       [32]int32
}

// Write stores the block as q8_0 (levels -128 to 127), q4_0 (-8 to 7), q4_1 (0 to
// 15), q5_0 (-16 to 15) or q5_1 (0 to 31), scale and least rounded to f16. False:
// another type, or f16 does not hold the two so that a value stays within [F16Error]
// of its terms.
func (b *Block) Write(d tensor.DType, dst []byte) bool {
	switch d {
	case tensor.Q8_0:
		for i, l := range b.Levels {
			dst[2+i] = byte(l)
		}
	case tensor.Q4_0:
		b.pack4(dst[2:], 8)
	case tensor.Q4_1:
		b.pack4(dst[4:], 0)
	case tensor.Q5_0:
		pack5(dst[2:], func(i int) byte { return byte(b.Levels[i] + 16) })
	case tensor.Q5_1:
		pack5(dst[4:], func(i int) byte { return byte(b.Levels[i]) })
	default:
		return false
	}
	least := float32(0)
	if d == tensor.Q4_1 || d == tensor.Q5_1 {
		least = b.Least
		if !putF16(dst[2:], least) {
			return false
		}
	}
	if !putF16(dst, b.Scale) {
		return false
	}
	scaleOff, leastOff := lost(b.Scale), lost(least)
	if Fits(b.Scale) && Fits(least) {
		return true
	}
	for _, l := range b.Levels { // of levels of 0, say, no scale is lost
		level := math.Abs(float64(l))
		terms := math.Abs(float64(b.Scale))*level + math.Abs(float64(least))
		if scaleOff*level+leastOff > F16Error*terms {
			return false
		}
	}
	return true
}

// Fits says whether f16 holds a number to within [F16Error] of it.
func Fits(v float32) bool { return lost(v) <= F16Error*math.Abs(float64(v)) }

// lost is by how much v as an f16 is off.
func lost(v float32) float64 {
	return math.Abs(float64(tensor.F16ToF32(tensor.F32ToF16(v))) - float64(v))
}

func (b *Block) pack4(dst []byte, shift int32) {
	for i := range half {
		dst[i] = byte(b.Levels[i]+shift) | byte(b.Levels[i+half]+shift)<<4
	}
}
