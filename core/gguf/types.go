package gguf

import (
	"fmt"

	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// dtypes are the element types of the library by their number in the file.
var dtypes = map[uint32]tensor.DType{
	0: tensor.F32, 1: tensor.F16, 30: tensor.BF16,
	24: tensor.I8, 25: tensor.I16, 26: tensor.I32, 27: tensor.I64,
	2: tensor.Q4_0, 3: tensor.Q4_1, 6: tensor.Q5_0, 7: tensor.Q5_1, 8: tensor.Q8_0,
	10: tensor.Q2_K, 11: tensor.Q3_K, 12: tensor.Q4_K, 13: tensor.Q5_K, 14: tensor.Q6_K,
	20: tensor.IQ4NL, 39: tensor.MXFP4,
}

// numbers are the other way.
var numbers = func() map[tensor.DType]uint32 {
	m := make(map[tensor.DType]uint32, len(dtypes))
	for number, d := range dtypes {
		m[d] = number
	}
	return m
}()

// Number is a type's number in the file, and wherever else ggml's are used.
func Number(d tensor.DType) uint32 { return numbers[d] }

// DTypeOf is the type that has a number, false where the library has none of it.
func DTypeOf(number uint32) (tensor.DType, bool) {
	d, ok := dtypes[number]
	return d, ok
}

// otherTypes are types that files have and the library has not, with the size of their
// blocks, from ggml-common.h.
var otherTypes = map[uint32]tensorfile.Element{
	9:  tensorfile.Unknown("q8_1", 32, 36),
	15: tensorfile.Unknown("q8_K", 256, 292),
	16: tensorfile.Unknown("iq2_xxs", 256, 66),
	17: tensorfile.Unknown("iq2_xs", 256, 74),
	18: tensorfile.Unknown("iq3_xxs", 256, 98),
	19: tensorfile.Unknown("iq1_s", 256, 50),
	21: tensorfile.Unknown("iq3_s", 256, 110),
	22: tensorfile.Unknown("iq2_s", 256, 82),
	23: tensorfile.Unknown("iq4_xs", 256, 136),
	28: tensorfile.F64.Named("f64"),
	29: tensorfile.Unknown("iq1_m", 256, 56),
	34: tensorfile.Unknown("tq1_0", 256, 54),
	35: tensorfile.Unknown("tq2_0", 256, 66),
	40: tensorfile.Unknown("nvfp4", 64, 36),
	41: tensorfile.Unknown("q1_0", 128, 18),
	42: tensorfile.Unknown("q2_0", 64, 18),
}

// elementOf is a type by its number: of one that is not known, the size is neither.
func elementOf(number uint32) tensorfile.Element {
	if d, ok := dtypes[number]; ok {
		return tensorfile.Native(d, d.String())
	}
	if e, ok := otherTypes[number]; ok {
		return e
	}
	return tensorfile.Unknown(fmt.Sprintf("type %d", number), 0, 0)
}
