package ggml

// #include "ggml.h"
import "C"

import "qtsaccel/core/tensor"

// dtypes are ggml's numbers for ours: those of the GGUF format.
var dtypes = map[tensor.DType]C.int32_t{
	tensor.F32: C.GGML_TYPE_F32, tensor.F16: C.GGML_TYPE_F16, tensor.BF16: C.GGML_TYPE_BF16,
	tensor.I8: C.GGML_TYPE_I8, tensor.I16: C.GGML_TYPE_I16, tensor.I32: C.GGML_TYPE_I32, tensor.I64: C.GGML_TYPE_I64,
	tensor.Q8_0: C.GGML_TYPE_Q8_0, tensor.Q4_0: C.GGML_TYPE_Q4_0, tensor.Q4_1: C.GGML_TYPE_Q4_1,
	tensor.Q5_0: C.GGML_TYPE_Q5_0, tensor.Q5_1: C.GGML_TYPE_Q5_1,
	tensor.Q2_K: C.GGML_TYPE_Q2_K, tensor.Q3_K: C.GGML_TYPE_Q3_K, tensor.Q4_K: C.GGML_TYPE_Q4_K,
	tensor.Q5_K: C.GGML_TYPE_Q5_K, tensor.Q6_K: C.GGML_TYPE_Q6_K,
	tensor.IQ4NL: C.GGML_TYPE_IQ4_NL, tensor.MXFP4: C.GGML_TYPE_MXFP4,
}

// extents are a shape's dimensions as ggml has them: the innermost first, filled
// up with ones.
func extents(s tensor.Shape) [tensor.MaxRank]C.int64_t {
	ne := [tensor.MaxRank]C.int64_t{1, 1, 1, 1}
	for i, d := range s {
		ne[len(s)-1-i] = C.int64_t(d)
	}
	return ne
}
