package backendtest

import (
	"math/rand/v2"

	"qtsaccel/core/tensor"
)

// quantised are the dtypes of weights in blocks, with the least row that they take.
var quantised = []struct {
	dtype tensor.DType
	row   int64
}{
	{tensor.Q8_0, 32},
	{tensor.Q4_0, 32},
	{tensor.Q4_1, 32},
	{tensor.Q5_0, 32},
	{tensor.Q5_1, 32},
	{tensor.IQ4NL, 32},
	{tensor.MXFP4, 32},
	{tensor.Q2_K, 256},
	{tensor.Q3_K, 256},
	{tensor.Q4_K, 256},
	{tensor.Q5_K, 256},
	{tensor.Q6_K, 256},
}

// scaleOffsets are where the blocks of the K types have their f16 scales.
var scaleOffsets = map[tensor.DType][]int{
	tensor.Q2_K: {80, 82}, tensor.Q3_K: {108}, tensor.Q4_K: {0, 2}, tensor.Q5_K: {0, 2}, tensor.Q6_K: {208},
}

// RandomBlocks are blocks of a K type with random levels, and scales between
// 2^-7 and 2^-6 that keep the values near those of other operands.
func RandomBlocks(r *rand.Rand, t tensor.Type) []byte {
	data := make([]byte, t.Bytes())
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	_, bytes := t.DType.Block()
	for block := data; len(block) > 0; block = block[bytes:] {
		for _, at := range scaleOffsets[t.DType] {
			block[at], block[at+1] = byte(r.Uint32()), byte(0x20|r.Uint32N(4))
		}
	}
	return data
}
