package tensor

import (
	"math"
	"math/bits"
)

// Conversions between f32 and the two 16-bit formats, IEEE 754 binary16 (f16)
// and bfloat16 (the upper half of an f32). They use integer arithmetic only: a
// host may have set its thread to flush denormals, and an f16 denormal must
// keep its value even then.

// F16ToF32 gives an f16's value, which an f32 always holds exactly. A NaN keeps
// its sign and payload.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	mantissa := uint32(h & 0x3ff)
	switch {
	case exponent == 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | mantissa<<13)
	case exponent != 0: // the biases are 15 and 127
		return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
	case mantissa == 0:
		return math.Float32frombits(sign)
	}
	// mantissa * 2^-24: its highest bit becomes the implicit one.
	top := uint32(bits.Len32(mantissa)) - 1
	return math.Float32frombits(sign | (top+103)<<23 | mantissa<<(23-top)&0x7fffff)
}

// F32ToF16 rounds to the nearest f16, to the even one of two equally near: from
// 65520 on to infinity, up to 2^-25 to zero. A NaN becomes a quiet one and keeps
// its sign and the upper bits of its payload.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 65536 and more; below, rounding up carries into infinity
		return sign | 0x7c00
	case b >= 0x38800000: // 2^-14 and more: a normal f16
		return sign | uint16(roundShift(b-112<<23, 13))
	case b <= 0x33000000: // up to 2^-25, half of the smallest f16
		return sign
	}
	// A denormal f16 counts units of 2^-24.
	exponent := b >> 23
	return sign | uint16(roundShift(b&0x7fffff|0x800000, 126-exponent))
}

// roundShift is v / 2^n, rounded to nearest, ties to even; 1 <= n < 32.
func roundShift(v, n uint32) uint32 {
	return (v + 1<<(n-1) - 1 + v>>n&1) >> n
}

// BF16ToF32 gives a bf16's value, which an f32 always holds exactly.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bf16, to the even one of two equally near;
// beyond the largest to infinity. A NaN becomes a quiet one and keeps its sign
// and the upper bits of its payload.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((uint64(b) + 0x7fff + uint64(b>>16&1)) >> 16)
}

// F16SliceToF32 converts as many elements as the shorter slice has, and gives
// their number, as copy does. So do the other slice conversions.
func F16SliceToF32(dst []float32, src []uint16) int { return convert(dst, src, F16ToF32) }

// F32SliceToF16 is [F32ToF16] for each element.
func F32SliceToF16(dst []uint16, src []float32) int { return convert(dst, src, F32ToF16) }

// BF16SliceToF32 is [BF16ToF32] for each element.
func BF16SliceToF32(dst []float32, src []uint16) int { return convert(dst, src, BF16ToF32) }

// F32SliceToBF16 is [F32ToBF16] for each element.
func F32SliceToBF16(dst []uint16, src []float32) int { return convert(dst, src, F32ToBF16) }

func convert[To, From any](dst []To, src []From, one func(From) To) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	for i, v := range src {
		dst[i] = one(v)
	}
	return n
}
