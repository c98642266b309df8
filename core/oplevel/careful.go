package oplevel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// Kernels multiply f16 weights with an input rounded to f16, and quantised ones with
// an input quantised in blocks whose scale is f16. What lies beyond comes out as
// infinity or as any number, NaN is lost in blocks. A call whose input has such
// values multiplies the weight widened to f32. And fused attention keeps a running
// maximum, which an infinite score makes NaN, or hides: a call whose queries or keys
// have such values computes the parts.

// infinity is the least magnitude, as the bits of a float32, of what is no finite number.
const infinity = 0x7f800000

// limit is the least magnitude, as the bits of a float32, that a weight's kernels do
// not take; 0: they take all.
func limit(d tensor.DType) uint32 {
	switch {
	case d == tensor.F16:
		return math.Float32bits(65504)
	case d.Quantised():
		return math.Float32bits(65504 * 127) // of q8_0, whose scale is the largest divided by 127
	}
	return 0
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
func (s *sketch) widened(w ops.Ref, m *Matrix) ops.Ref {
	switch {
	case m.dtype() == tensor.F32:
		return w
	case !m.dtype().Quantised():
		return s.op("cast", []ops.Ref{w}, ops.TextAttr("dtype", "f32"))
	}
	all := s.constant(tensor.Type{DType: tensor.I32, Shape: tensor.Shape{m.nOut()}}, func(data []byte) {
		for i := range m.nOut() {
			binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
		}
	})
	return s.op("embedding", []ops.Ref{w, all})
}
