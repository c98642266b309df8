package quant

import "math"

// Types with blocks of 32 elements. Those of 4 and 5 bits keep elements i and
// i+16 in the low and high half of byte i.

const half = 16

// q8_0: scale f16, 32 x int8; value = scale * q.

func decodeQ8_0(dst []float32, b []byte) {
	d := f16(b)
	for i, q := range b[2:34] {
		dst[i] = float32(int8(q)) * d
	}
}

func encodeQ8_0(b []byte, src []float32) bool {
	d := magnitude(src) / 127
	id := inverse(d)
	for i, v := range src[:32] {
		b[2+i] = byte(round(v * id))
	}
	return putF16(b, d)
}

// round rounds to nearest, halves away from zero. In f64, since adding a half to
// an f32 just below one would itself round up.
func round(v float32) int32 {
	x := float64(v)
	return int32(x + math.Copysign(0.5, x))
}

// q4_0: scale f16, 32 x 4 bits; value = scale * (q - 8).

func decodeQ4_0(dst []float32, b []byte) {
	d := f16(b)
	for i, q := range b[2:18] {
		dst[i] = float32(int(q&15)-8) * d
		dst[i+half] = float32(int(q>>4)-8) * d
	}
}

func encodeQ4_0(b []byte, src []float32) bool {
	d := largest(src) / -8
	id := inverse(d)
	for i := range half {
		b[2+i] = level(src[i]*id, 8.5, 15) | level(src[i+half]*id, 8.5, 15)<<4
	}
	return putF16(b, d)
}

// level is scaled + shift cut to a whole number, most at most.
func level(scaled, shift float32, most int) byte { return byte(min(int(scaled+shift), most)) }

// q4_1: scale f16, least f16, 32 x 4 bits; value = scale * q + least.

func decodeQ4_1(dst []float32, b []byte) {
	d, m := f16(b), f16(b[2:])
	for i, q := range b[4:20] {
		dst[i] = float32(float32(q&15)*d) + m
		dst[i+half] = float32(float32(q>>4)*d) + m
	}
}

func encodeQ4_1(b []byte, src []float32) bool {
	least, d := span(src, 15)
	id := inverse(d)
	for i := range half {
		b[4+i] = level(float32((src[i]-least)*id), 0.5, 15) | level(float32((src[i+half]-least)*id), 0.5, 15)<<4
	}
	finite := putF16(b, d)
	return putF16(b[2:], least) && finite
}

// span is the least value, and the distance of levels+1 levels from there to the
// greatest.
func span(src []float32, levels float32) (least, d float32) {
	least, most := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for _, v := range src { // not by min, which tells the two zeros apart
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
	}
	return least, (most - least) / levels
}

// q5_0: scale f16, u32 with the fifth bits, 32 x 4 bits; value = scale * (q - 16).

func decodeQ5_0(dst []float32, b []byte) {
	d, high := f16(b), le.Uint32(b[2:])
	for i, q := range b[6:22] {
		dst[i] = float32(int(q&15|fifth(high, i))-16) * d
		dst[i+half] = float32(int(q>>4|fifth(high, i+half))-16) * d
	}
}

// fifth is the fifth bit of element i, at its place.
func fifth(high uint32, i int) byte { return byte(high>>i&1) << 4 }

func encodeQ5_0(b []byte, src []float32) bool {
	d := largest(src) / -16
	id := inverse(d)
	pack5(b[2:], func(i int) byte { return level(src[i]*id, 16.5, 31) })
	return putF16(b, d)
}

// pack5 writes the fifth bits and then the other four of 32 levels.
func pack5(b []byte, of func(i int) byte) {
	var high uint32
	for i := range half {
		low, up := of(i), of(i+half)
		b[4+i] = low&15 | up<<4
		high |= uint32(low>>4)<<i | uint32(up>>4)<<(i+half)
	}
	le.PutUint32(b, high)
}

// q5_1: scale f16, least f16, u32 with the fifth bits, 32 x 4 bits;
// value = scale * q + least.

func decodeQ5_1(dst []float32, b []byte) {
	d, m, high := f16(b), f16(b[2:]), le.Uint32(b[4:])
	for i, q := range b[8:24] {
		dst[i] = float32(float32(q&15|fifth(high, i))*d) + m
		dst[i+half] = float32(float32(q>>4|fifth(high, i+half))*d) + m
	}
}

func encodeQ5_1(b []byte, src []float32) bool {
	least, d := span(src, 31)
	id := inverse(d)
	pack5(b[4:], func(i int) byte { return level(float32((src[i]-least)*id), 0.5, 31) })
	finite := putF16(b, d)
	return putF16(b[2:], least) && finite
}
