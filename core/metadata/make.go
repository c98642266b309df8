package metadata

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// Text is a string as a value, not copied: some files have 40 MB of them.
func Text(s string) Value {
	return Value{KindString, unsafe.Slice(unsafe.StringData(s), len(s))}
}

// U32 is a whole number as a value.
func U32(n uint32) Value { return Value{KindU32, binary.LittleEndian.AppendUint32(nil, n)} }

// Int is a whole number as a value: of 32 bits where it fits, as readers expect.
func Int(n int64) Value {
	le := binary.LittleEndian
	switch {
	case n >= 0 && n <= math.MaxUint32:
		return U32(uint32(n))
	case n >= math.MinInt32 && n < 0:
		return Value{KindI32, le.AppendUint32(nil, uint32(n))}
	default:
		return Value{KindI64, le.AppendUint64(nil, uint64(n))}
	}
}

// Float is a number as a value, rounded to f32, as readers expect.
func Float(f float64) Value {
	return Value{KindF32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))}
}

// Ints is an array of whole numbers: i32 where all fit.
func Ints(n []int64) Value {
	le := binary.LittleEndian
	narrow := !slices.ContainsFunc(n, func(v int64) bool { return v != int64(int32(v)) })
	of := KindI64
	if narrow {
		of = KindI32
	}
	raw := arrayOf(of, len(n))
	for _, v := range n {
		if narrow {
			raw = le.AppendUint32(raw, uint32(v))
		} else {
			raw = le.AppendUint64(raw, uint64(v))
		}
	}
	return Value{KindArray, raw}
}

// Floats is an array of f32.
func Floats(f []float64) Value {
	raw := arrayOf(KindF32, len(f))
	for _, v := range f {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
	}
	return Value{KindArray, raw}
}

func arrayOf(k Kind, n int) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint32(nil, uint32(k)), uint64(n))
}
