// Package quant converts between f32 and the types that tensors are stored in:
// f16, bf16, and the quantised ones, which pack a block of elements of one row
// together with its scales.
//
// The block layouts are those of the GGUF format, defined by ggml's
// ggml-common.h; what a block's values are, and how the reference rule chooses
// them, by its ggml-quants.c. Results are those of ggml's own routines to the bit:
// products are rounded to f32 before they are added to, which Go promises only
// where they are converted by name.
package quant

import (
	"encoding/binary"
	"math"
	"slices"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

var le = binary.LittleEndian

// format is how one quantised type is read and written, a block at a time.
type format struct {
	decode func(dst []float32, block []byte)
	// encode writes a block of finite values; false: its scale is too large for
	// the type. Nil: there is no simple rule, see [CanEncode].
	encode func(block []byte, src []float32) bool
}

// formats is the one table of the quantised types; their sizes are tensor's.
var formats = map[tensor.DType]format{
	tensor.Q8_0:  {decodeQ8_0, encodeQ8_0},
	tensor.Q4_0:  {decodeQ4_0, encodeQ4_0},
	tensor.Q4_1:  {decodeQ4_1, encodeQ4_1},
	tensor.Q5_0:  {decodeQ5_0, encodeQ5_0},
	tensor.Q5_1:  {decodeQ5_1, encodeQ5_1},
	tensor.IQ4NL: {decodeIQ4NL, encodeIQ4NL},
	tensor.MXFP4: {decodeMXFP4, encodeMXFP4},
	tensor.Q2_K:  {decodeQ2K, nil},
	tensor.Q3_K:  {decodeQ3K, nil},
	tensor.Q4_K:  {decodeQ4K, nil},
	tensor.Q5_K:  {decodeQ5K, nil},
	tensor.Q6_K:  {decodeQ6K, nil},
}

// CanDecode says whether [Decode] reads a type: all that hold real numbers.
func CanDecode(d tensor.DType) bool { return d.Float() || formats[d].decode != nil }

// CanEncode says whether [Encode] writes a type. The K types are only read here:
// good blocks of theirs take a search, which is ggml's own.
func CanEncode(d tensor.DType) bool { return d.Float() || formats[d].encode != nil }

// Decode gives the values of a tensor, or of any number of its blocks. dst has an
// element for each. UNSUPPORTED: a type that holds no real numbers;
// SHAPE_MISMATCH: dst and src are not of one size, or not whole blocks.
func Decode(d tensor.DType, dst []float32, src []byte) error {
	if !CanDecode(d) {
		return status.Errorf(status.Unsupported, "%v cannot be converted to f32", d)
	}
	if err := checkSizes(d, len(dst), len(src)); err != nil {
		return err
	}
	switch d {
	case tensor.F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case tensor.F16:
		for i := range dst {
			dst[i] = tensor.F16ToF32(le.Uint16(src[2*i:]))
		}
	case tensor.BF16:
		for i := range dst {
			dst[i] = tensor.BF16ToF32(le.Uint16(src[2*i:]))
		}
	default:
		decode := formats[d].decode
		elements, bytes := d.Block()
		for ; len(src) > 0; dst, src = dst[elements:], src[bytes:] {
			decode(dst[:elements], src[:bytes])
		}
	}
	return nil
}

// Encode stores values in a type, by its reference rule. dst has the bytes that
// they take. UNSUPPORTED: see [CanEncode]; SHAPE_MISMATCH: as in Decode;
// INVALID_ARGUMENT: a value that the type cannot hold: an infinity or a NaN in a
// block, or one that is too large (its f16 scale, or itself as f16 or
// bf16, would be infinite), which has an [Unheld]. What is too small becomes 0, see [Store].
func Encode(d tensor.DType, dst []byte, src []float32) error {
	if !CanEncode(d) {
		return status.Errorf(status.Unsupported, "f32 cannot be converted to %v without ggml", d)
	}
	if err := checkSizes(d, len(src), len(dst)); err != nil {
		return err
	}
	switch d {
	case tensor.F32:
		for i, v := range src {
			le.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case tensor.F16:
		return encodeF16(dst, src)
	case tensor.BF16:
		return encodeBF16(dst, src)
	default:
		return encodeBlocks(d, dst, src)
	}
	return nil
}

func checkSizes(d tensor.DType, elements, bytes int) error {
	perBlock, blockBytes := d.Block()
	if int64(elements)%perBlock != 0 || int64(elements)/perBlock*blockBytes != int64(bytes) {
		return status.Errorf(status.ShapeMismatch, "%d elements as %v, in blocks of %d, are not %d bytes", elements, d, perBlock, bytes)
	}
	return nil
}

func encodeF16(dst []byte, src []float32) error {
	for i, v := range src {
		h := tensor.F32ToF16(v)
		if h&0x7fff == infF16 && !math.IsInf(float64(v), 0) {
			return unheld(tensor.F16, i, i, false, float64(v))
		}
		le.PutUint16(dst[2*i:], h)
	}
	return nil
}

func encodeBF16(dst []byte, src []float32) error {
	for i, v := range src {
		h := tensor.F32ToBF16(v)
		if h&0x7fff == infBF16 && !math.IsInf(float64(v), 0) {
			return unheld(tensor.BF16, i, i, false, float64(v))
		}
		le.PutUint16(dst[2*i:], h)
	}
	return nil
}

func encodeBlocks(d tensor.DType, dst []byte, src []float32) error {
	encode := formats[d].encode
	elements, bytes := d.Block()
	for first := 0; len(src) > 0; first, dst, src = first+int(elements), dst[bytes:], src[elements:] {
		block := src[:elements]
		if i := notFinite(block); i >= 0 {
			return status.Errorf(status.InvalidArgument, "element %d is %v, which %v cannot hold", first+i, block[i], d)
		}
		if !encode(dst[:bytes], block) {
			return unheld(d, first, first+int(elements)-1, false, float64(magnitude(block)))
		}
	}
	return nil
}

// CheckFinite finds an infinity or a NaN, which no quantised type holds:
// INVALID_ARGUMENT, with the element.
func CheckFinite(d tensor.DType, src []float32) error {
	if i := notFinite(src); i >= 0 {
		return status.Errorf(status.InvalidArgument, "element %d is %v, which %v cannot hold", i, src[i], d)
	}
	return nil
}

// notFinite finds an infinity or a NaN, -1 if there is none.
func notFinite(src []float32) int {
	const infinity = 0x7f800000
	if math.Float32bits(magnitude(src)) < infinity {
		return -1
	}
	return slices.IndexFunc(src, func(v float32) bool { return math.Float32bits(v)&infinity == infinity })
}

const (
	infF16  = 0x7c00
	infBF16 = 0x7f80
)

// f16 reads a scale.
func f16(b []byte) float32 { return tensor.F16ToF32(le.Uint16(b)) }

// putF16 writes a scale, and says whether it is finite.
func putF16(b []byte, v float32) bool {
	h := tensor.F32ToF16(v)
	le.PutUint16(b, h)
	return h&0x7fff < infF16
}

// inverse is 1/d, and 0 where d is or is so small that it has no inverse: every
// value is 0 then, since the f16 scale is.
func inverse(d float32) float32 {
	if d == 0 || math.IsInf(float64(1/d), 0) {
		return 0
	}
	return 1 / d
}

// largest is the value of the greatest magnitude, the first of equals; of zeros it
// is 0.
func largest(src []float32) float32 {
	if most := magnitude(src); most > 0 {
		return src[slices.IndexFunc(src, func(v float32) bool { return abs(v) == most })]
	}
	return 0
}

// magnitude is the greatest magnitude. As integers, since then no jump depends on
// the values.
func magnitude(src []float32) float32 {
	most := uint32(0)
	for _, v := range src {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }
