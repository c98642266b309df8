package quant

import "qtsaccel/core/tensor"

// Block is 32 elements that were quantised elsewhere, to be stored as they are:
// value = Scale * level, or Scale * level + Least in the types that have one.
type Block struct {
	Scale, Least float32
	Levels       [32]int32
}

// Write stores the block as q8_0 (levels -128 to 127), q4_0 (-8 to 7), q4_1 (0 to
// 15), q5_0 (-16 to 15) or q5_1 (0 to 31), scale and least rounded to f16. False:
// another type, or one of the two is too large for f16.
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
	if (d == tensor.Q4_1 || d == tensor.Q5_1) && !putF16(dst[2:], b.Least) {
		return false
	}
	return putF16(dst, b.Scale)
}

func (b *Block) pack4(dst []byte, shift int32) {
	for i := range half {
		dst[i] = byte(b.Levels[i]+shift) | byte(b.Levels[i+half]+shift)<<4
	}
}
