package gguf

import (
	"fmt"

	"qtsaccel/core/tensor"
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

// otherTypes are the names of types that files have and the library has not.
var otherTypes = map[uint32]string{
	9: "q8_1", 15: "q8_K", 16: "iq2_xxs", 17: "iq2_xs", 18: "iq3_xxs", 19: "iq1_s", 21: "iq3_s",
	22: "iq2_s", 23: "iq4_xs", 28: "f64", 29: "iq1_m", 34: "tq1_0", 35: "tq2_0", 40: "nvfp4",
	41: "q1_0", 42: "q2_0",
}

// typeName names a type that the library has not.
func typeName(number uint32) string {
	if name, ok := otherTypes[number]; ok {
		return name
	}
	return fmt.Sprintf("number %d", number)
}
