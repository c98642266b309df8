package quant

// The K types: blocks of 256 elements with f16 scales for the whole, and smaller
// blocks within that have their own, quantised scales.

// q2_K: 16 bytes of scales, 64 of 2-bit levels, d f16, dmin f16. 16 blocks of 16
// elements: value = d * scale * q - dmin * least; scale and least share a byte,
// low and high.
func decodeQ2K(dst []float32, b []byte) {
	scales, levels, d, dmin := b[:16], b[16:80], f16(b[80:]), f16(b[82:])
	for i, s := range scales {
		scale, least := d*float32(s&15), dmin*float32(s>>4)
		at, shift := twoBits(i)
		for j := range 16 {
			dst[16*i+j] = float32(scale*float32(levels[at+j]>>shift&3)) - least
		}
	}
}

// twoBits is where the 16 levels of a small block lie: elements 128h + 32s + k are
// in bits 2s and 2s+1 of byte 32h + k.
func twoBits(block int) (at, shift int) {
	return block/8*32 + block%2*16, block % 8 / 2 * 2
}

// q3_K: 32 bytes of third bits, 64 of 2-bit levels, 12 of scales, d f16. 16 blocks
// of 16 elements: value = d * (scale - 32) * (q - 4), where the third bit counts
// 4: element 32r + k has it in bit r of byte k.
func decodeQ3K(dst []float32, b []byte) {
	third, levels, packed, d := b[:32], b[32:96], b[96:108], f16(b[108:])
	for i := range 16 {
		// Six bits: the low four of the first eight bytes, low halves before high
		// ones; the upper two of the last four bytes.
		low := packed[i%8] >> (i / 8 * 4) & 15
		up := packed[8+i%4] >> (i / 4 * 2) & 3
		scale := d * float32(int(low|up<<4)-32)
		at, shift := twoBits(i)
		for j := range 16 {
			q := int(levels[at+j] >> shift & 3)
			if third[i%2*16+j]>>(i/2)&1 == 0 {
				q -= 4
			}
			dst[16*i+j] = scale * float32(q)
		}
	}
}

// scaleAndLeast reads the 6-bit scale and least of small block i of q4_K and q5_K,
// out of 12 bytes. The first four have the low six bits of their own bytes; of the
// others four bits share a byte, and two are above the first four's six.
func scaleAndLeast(packed []byte, i int) (scale, least byte) {
	if i < 4 {
		return packed[i] & 63, packed[i+4] & 63
	}
	return packed[i+4]&15 | packed[i-4]>>6<<4, packed[i+4]>>4 | packed[i]>>6<<4
}

// q4_K: d f16, dmin f16, 12 bytes of scales, 128 of 4-bit levels. 8 blocks of 32
// elements: value = d * scale * q - dmin * least; two blocks share 32 bytes, low
// and high.
func decodeQ4K(dst []float32, b []byte) {
	d, dmin, packed, levels := f16(b), f16(b[2:]), b[4:16], b[16:144]
	for i := range 8 {
		s, l := scaleAndLeast(packed, i)
		scale, least := d*float32(s), dmin*float32(l)
		for j, q := range levels[i/2*32:][:32] {
			dst[32*i+j] = float32(scale*float32(q>>(i%2*4)&15)) - least
		}
	}
}

// q5_K: as q4_K, with 32 bytes of fifth bits before the levels: element 32i + j
// has it in bit i of byte j.
func decodeQ5K(dst []float32, b []byte) {
	d, dmin, packed, fifths, levels := f16(b), f16(b[2:]), b[4:16], b[16:48], b[48:176]
	for i := range 8 {
		s, l := scaleAndLeast(packed, i)
		scale, least := d*float32(s), dmin*float32(l)
		for j, q := range levels[i/2*32:][:32] {
			q = q>>(i%2*4)&15 | fifths[j]>>i&1<<4
			dst[32*i+j] = float32(scale*float32(q)) - least
		}
	}
}

// q6_K: 128 bytes of low four bits, 64 of upper two, 16 scales int8, d f16. 16
// blocks of 16 elements: value = d * scale * (q - 32).
func decodeQ6K(dst []float32, b []byte) {
	low, up, scales, d := b[:128], b[128:192], b[192:208], f16(b[208:])
	for i := range 256 {
		// In each half of 128, element 32r + k has its low bits in byte k or 32 + k
		// (by r's parity), low or high (by r/2), and the upper ones in bits 2r of
		// byte k.
		h, r, k := i/128, i%128/32, i%32
		q := low[h*64+r%2*32+k] >> (r / 2 * 4) & 15
		q |= up[h*32+k] >> (2 * r) & 3 << 4
		dst[i] = d * float32(int8(scales[i/16])) * float32(int(q)-32)
	}
}
