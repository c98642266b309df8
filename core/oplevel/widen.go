package oplevel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// A GPU's kernels multiply f16 weights with an input rounded to f16, and quantised ones
// with an input quantised in blocks whose scale and sum are f16. What lies beyond comes
// out as infinity or as any number, what lies below as zero, and NaN is lost in blocks. A
// call whose input has such values multiplies the weight widened to f32. A backend that
// takes care of that itself says so ([backend.Info], WholeRange). And fused attention keeps a
// running maximum, which an infinite score makes NaN, or hides: a call whose queries or
// keys have such values computes the parts.

// infinity is the least magnitude, as the bits of a float32, of what is no finite number.
const infinity = 0x7f800000

// inputRange are the magnitudes that kernels take of an input, as the bits of a float32:
// none of limit or more, and in each row of it one of least or more, or only zeros.
type inputRange struct{ least, limit uint32 }

// rangeOf is the range that a weight's kernels take; limit 0: they take all.
func rangeOf(d tensor.DType) inputRange {
	switch {
	case d == tensor.F16:
		return inputRange{math.Float32bits(1.0 / (1 << 14)), math.Float32bits(65504)} // the least normal number
	case d.Quantised():
		// Of 32 elements the sum is f16, and the largest divided by 127: above 2^-10 that
		// scale is off by no more than the levels are.
		return inputRange{math.Float32bits(1.0 / (1 << 10)), math.Float32bits(65504.0 / 32)}
	}
	return inputRange{}
}

// and is the range that both take.
func (r inputRange) and(o inputRange) inputRange {
	if r.limit == 0 || o.limit == 0 {
		return inputRange{max(r.least, o.least), max(r.limit, o.limit)}
	}
	return inputRange{max(r.least, o.least), min(r.limit, o.limit)}
}

// loses says whether kernels of a range do not take rows of n float32 at p.
func (c *Calls) loses(r inputRange, p unsafe.Pointer, rows, n int64) bool {
	if c.info.WholeRange || r.limit == 0 {
		return false
	}
	if exceeds(p, rows*n, r.limit) {
		return true
	}
	for row := range rows {
		if vanishes(unsafe.Add(p, 4*row*n), n, r.least) {
			return true
		}
	}
	return false
}

// vanishes says whether n float32 at p are all below a magnitude, but not all zero.
// Mostly one of the first tells.
func vanishes(p unsafe.Pointer, n int64, least uint32) bool {
	found := uint32(0)
	for i := range n {
		magnitude := *(*uint32)(unsafe.Add(p, 4*i)) & 0x7fffffff
		if magnitude >= least {
			return false
		}
		found |= magnitude
	}
	return found != 0
}

// exceeds says whether a float32 of n at p has a magnitude of limit or more, or is
// infinite or NaN: then adding what is missing from limit to 2^31 sets the highest
// bit.
func exceeds(p unsafe.Pointer, n int64, limit uint32) bool {
	const magnitude = 0x7fffffff7fffffff
	missing := uint64(1<<31 - limit)
	missing |= missing << 32
	var found uint64
	i := int64(0)
	for ; i+8 <= n; i += 8 {
		at := unsafe.Add(p, 4*i)
		found |= (*(*uint64)(at) & magnitude) + missing
		found |= (*(*uint64)(unsafe.Add(at, 8)) & magnitude) + missing
		found |= (*(*uint64)(unsafe.Add(at, 16)) & magnitude) + missing
		found |= (*(*uint64)(unsafe.Add(at, 24)) & magnitude) + missing
	}
	for ; i < n; i++ {
		found |= uint64(*(*uint32)(unsafe.Add(p, 4*i))&0x7fffffff) + missing&math.MaxUint32
	}
	return found&0x8000000080000000 != 0
}

// widened gives a weight's matrix as f32.
func (b *builder) widened(w ops.Ref, m *Matrix) ops.Ref {
	switch {
	case m.dtype() == tensor.F32:
		return w
	case !m.dtype().Quantised():
		return b.op("cast", []ops.Ref{w}, ops.TextAttr("dtype", "f32"))
	}
	all := b.constant(tensor.Type{DType: tensor.I32, Shape: tensor.Shape{m.nOut()}}, func(data []byte) {
		for i := range m.nOut() {
			binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
		}
	})
	return b.op("embedding", []ops.Ref{w, all})
}
