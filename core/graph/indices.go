package graph

import (
	"unsafe"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// CheckIndices keeps values that a backend would go astray on away from it: those of
// an input with a bound must lie in [0, Below). data has the input's type, one of
// integers, and need not be aligned.
func (t *ProgramTensor) CheckIndices(data unsafe.Pointer) error {
	for n := range t.Type.Shape.Elements() {
		var v int64
		switch t.Type.DType {
		case tensor.I64:
			v = *(*int64)(unsafe.Add(data, 8*n))
		case tensor.I32:
			v = int64(*(*int32)(unsafe.Add(data, 4*n)))
		case tensor.I16:
			v = int64(*(*int16)(unsafe.Add(data, 2*n)))
		default:
			v = int64(*(*int8)(unsafe.Add(data, n)))
		}
		if v < 0 || v >= t.Below {
			return status.Errorf(status.InvalidArgument, "input %q: element %d is %d, want 0 to %d", t.Name, n, v, t.Below-1)
		}
	}
	return nil
}
