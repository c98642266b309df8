package ggml

// #include "shim.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Quantise stores values in a quantised type by ggml's own routine, the one for
// whole models, which searches for good scales. dst has the bytes that the values
// take, in whole blocks. It may be called from several goroutines at once.
func (l *Library) Quantise(d tensor.DType, dst []byte, src []float32) error {
	block, bytes := d.Block()
	if n := int64(len(src)); !d.Quantised() || n%block != 0 || n/block*bytes != int64(len(dst)) {
		return status.Errorf(status.ShapeMismatch, "%d elements as %v are not %d bytes", len(src), d, len(dst))
	}
	if len(src) == 0 {
		return nil
	}
	if C.shim_quantise(dtypes[d], (*C.float)(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst)), C.int64_t(len(src))) != 0 {
		return lastFailure("ggml, storing as " + d.String())
	}
	return nil
}
