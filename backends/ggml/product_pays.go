package ggml

// #include "ggml.h"
import "C"

import "qtsaccel/backends/kernels"

// productPays says whether our own kernel is to be taken for a product of so many rows
// with a weight of one of ggml's types rather than ggml, which reads the weight as it is
// stored, or rearranged: the one place where that is decided, by measurement
// (docs/dense-products.md).
func productPays(weight uint32, rows int64, rearranged bool) bool {
	least, ok := leastRows(weight, kernels.InUse(), rearranged)
	return ok && rows >= least
}

// leastRows is the number of rows from which on the kernel is taken; false: never. Few
// rows do not repay laying a weight out in panels, and the less it takes ggml to read it,
// the later.
func leastRows(weight uint32, p kernels.Processor, rearranged bool) (rows int64, ok bool) {
	bf16 := p == kernels.WithAVX512BF16
	switch {
	case p == kernels.AnyProcessor:
		return 0, false
	case rearranged && bf16:
		rows, ok = leastRowsOverRearranged[weight]
		return rows, ok
	case rearranged:
		return 0, false
	}
	switch weight {
	case C.GGML_TYPE_F32:
		return 16, true
	case C.GGML_TYPE_F16:
		return 8, true
	case C.GGML_TYPE_BF16:
		if bf16 {
			return 8, true
		}
		return 32, true
	case C.GGML_TYPE_Q8_0, C.GGML_TYPE_Q4_0:
		return 32, bf16
	case C.GGML_TYPE_Q4_1, C.GGML_TYPE_Q5_1, C.GGML_TYPE_Q4_K, C.GGML_TYPE_Q5_K:
		return 32, true
	case C.GGML_TYPE_Q3_K, C.GGML_TYPE_MXFP4:
		return 64, true
	case C.GGML_TYPE_Q5_0, C.GGML_TYPE_Q2_K, C.GGML_TYPE_Q6_K, C.GGML_TYPE_IQ4_NL:
		return 128, bf16
	}
	return 0, false
}

// leastRowsOverRearranged are for ggml's products with a weight that is rearranged, by
// its type, on a processor that multiplies bf16. Measured on Zen 4 (2048 by 2048, one
// thread), ours took this part of their time, at 32, 64, 128, 256 and 512 rows: q4_0
// 1.11, 0.84, 0.74, 0.69, 0.64; q4_K 1.58, 1.03, 0.87, 0.80, 0.79; iq4_nl 3.35, 1.78,
// 1.27, 0.93, 0.80; mxfp4 2.91, 1.87, 1.26, 0.94, 0.9.
var leastRowsOverRearranged = map[uint32]int64{
	C.GGML_TYPE_Q4_0: 64, C.GGML_TYPE_Q4_K: 128, C.GGML_TYPE_IQ4_NL: 256, C.GGML_TYPE_MXFP4: 256,
}
