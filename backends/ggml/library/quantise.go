package library

// #include "library.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/gguf"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Quantise stores values in a quantised type by ggml's own routine, the one for
// whole models, which searches for good scales. dst has the bytes that the values
// take, in whole blocks. importance is nil, or has a number, 0 or more, for each
// column of rows that src is then made of: errors there count as much. It may be
// called from several goroutines at once.
func (l *Library) Quantise(d tensor.DType, dst []byte, src, importance []float32) error {
	block, bytes := d.Block()
	if n := int64(len(src)); !d.Quantised() || n%block != 0 || n/block*bytes != int64(len(dst)) {
		return status.Errorf(status.ShapeMismatch, "%d elements as %v are not %d bytes", len(src), d, len(dst))
	}
	if len(src) == 0 {
		return nil
	}
	row := len(src)
	if importance != nil {
		row = len(importance)
		if row == 0 || len(src)%row != 0 || int64(row)%block != 0 {
			return status.Errorf(status.ShapeMismatch, "%d elements as %v are not rows of %d", len(src), d, row)
		}
	}
	if C.shim_quantise(C.int32_t(gguf.Number(d)), (*C.float)(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst)), C.int64_t(len(src)/row),
		C.int64_t(row), (*C.float)(unsafe.SliceData(importance))) != 0 {
		return LastFailure("ggml, storing as " + d.String())
	}
	return nil
}
