package quant

import "math"

// Types with blocks of 32 elements whose 4 bits choose from a table. Elements i
// and i+16 are in the low and high half of byte i.

// iq4nlLevels are the levels of iq4_nl, denser near zero.
var iq4nlLevels = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// iq4_nl: scale f16, 32 x 4 bits; value = scale * level.

func decodeIQ4NL(dst []float32, b []byte) {
	d := f16(b)
	for i, q := range b[2:18] {
		dst[i] = d * iq4nlLevels[q&15]
		dst[i+half] = d * iq4nlLevels[q>>4]
	}
}

// encodeIQ4NL puts the value of the greatest magnitude on the outermost level,
// the others on those nearest, and then fits the scale to them by least squares,
// each value weighted by its square.
func encodeIQ4NL(b []byte, src []float32) bool {
	most := largest(src)
	if abs(most) < 1e-15 {
		clear(b)
		// The level of the bits 0 times a scale of 0.
		return true
	}
	id := 1 / (most / iq4nlLevels[0])
	var levels [32]byte
	var sumqx, sumq2 float32
	for i, v := range src[:32] {
		levels[i] = nearestIQ4NL(id * v)
		q, w := iq4nlLevels[levels[i]], v*v
		sumqx += float32(w * q * v)
		sumq2 += float32(w * q * q)
	}
	for i := range half {
		b[2+i] = levels[i] | levels[i+half]<<4
	}
	d := float32(0)
	if sumq2 > 0 {
		d = sumqx / sumq2
	}
	return putF16(b, d)
}

// nearestIQ4NL finds the level nearest to v, the greater of two equally near.
func nearestIQ4NL(v float32) byte {
	levels := &iq4nlLevels
	if v <= levels[0] {
		return 0
	}
	above := 1
	for above < len(levels)-1 && v >= levels[above] {
		above++
	}
	if v >= levels[above] || v-levels[above-1] >= levels[above]-v {
		return byte(above)
	}
	return byte(above - 1)
}

// mxfp4Levels are the values of an E2M1 number, doubled.
var mxfp4Levels = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// mxfp4: exponent E8M0 (a byte e for 2^(e-127)), 32 x E2M1; value = 2^(e-127) *
// E2M1. Source: OCP Microscaling Formats v1.0; a NaN of the exponent, 255, is
// read as 2^128, as ggml does.

func decodeMXFP4(dst []float32, b []byte) {
	d := halfPower(b[0])
	for i, q := range b[1:17] {
		dst[i] = mxfp4Levels[q&15] * d
		dst[i+half] = mxfp4Levels[q>>4] * d
	}
}

// halfPower is 2^(e-128): the levels are doubled.
func halfPower(e byte) float32 {
	if e < 2 { // denormal
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// encodeMXFP4 chooses the exponent so that the greatest magnitude falls into the
// uppermost binade of E2M1, 4 to 8, and saturates beyond its 6.
func encodeMXFP4(b []byte, src []float32) bool {
	b[0] = 0
	if most := magnitude(src); most > 0 {
		// The logarithm as f32: just below a power of two it rounds up to it.
		b[0] = byte(max(0, math.Floor(float64(float32(math.Log2(float64(most)))))-2+127))
	}
	d := halfPower(b[0])
	for i := range half {
		b[1+i] = nearestMXFP4(src[i], d) | nearestMXFP4(src[i+half], d)<<4
	}
	return true
}

// nearestMXFP4 finds the level nearest to v, the first of equals.
func nearestMXFP4(v, d float32) byte {
	best, least := 0, float32(math.Inf(1))
	for i, level := range mxfp4Levels {
		if err := abs(float32(level*d) - v); err < least {
			best, least = i, err
		}
	}
	return byte(best)
}
