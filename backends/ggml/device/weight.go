package device

// #include "device.h"
import "C"

import (
	"unsafe"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/gguf"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Layout is how a weight lies on a device where that is not as it is stored. As a value it
// is the key of the copy.
type Layout interface {
	// bytes is what a weight takes of the device's memory.
	bytes(d *Device, t tensor.Type) (int64, error)
	create(d *Device, t tensor.Type, bytes int64, data []byte) (weights.Copy, error)
}

// Weight gives the memory of a weight, a struct ggml_backend_buffer, in a layout, nil: as
// it is stored, and what it takes there. It is put there if it is not yet. The caller
// retains the weights as long as it uses the memory.
func (d *Device) Weight(w *weights.Tensor, l Layout) (buffer unsafe.Pointer, bytes int64, err error) {
	var key any
	if l == nil {
		l = stored{}
	} else {
		key = l
	}
	bytes, err = l.bytes(d, w.Type)
	if err != nil {
		return nil, 0, err
	}
	c, err := d.copies.Get(w, key, bytes, func(data []byte) (weights.Copy, error) { return l.create(d, w.Type, bytes, data) })
	if err != nil {
		return nil, 0, err
	}
	if m, ok := c.(onDevice); ok { // what this package makes is
		buffer = unsafe.Pointer(m.memory())
	}
	return buffer, bytes, nil
}

// onDevice is a copy of a weight, in any layout.
type onDevice interface {
	memory() *C.struct_ggml_backend_buffer
}

// weight is a weight's memory on the device.
type weight struct {
	device *C.struct_shim_device
	buffer *C.struct_ggml_backend_buffer
}

func (w weight) memory() *C.struct_ggml_backend_buffer { return w.buffer }

// Free implements [weights.Copy].
func (w weight) Free() { C.shim_buffer_free(w.device, w.buffer) }

// stored is a weight as it is.
type stored struct{}

// bytes is 0 on the CPU, where a weight stays where it is.
func (stored) bytes(d *Device, t tensor.Type) (int64, error) {
	if d.CPU {
		return 0, nil
	}
	return t.Bytes(), nil
}

// create puts a weight on the device. On the CPU that is the data itself, which stays as
// long as its weights do.
func (stored) create(d *Device, t tensor.Type, _ int64, data []byte) (weights.Copy, error) {
	w, err := d.newWeight(t, data)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (d *Device) newWeight(t tensor.Type, data []byte) (weight, error) {
	ne := extents(t.Shape)
	w := weight{device: d.ptr}
	code := C.shim_weight_new(d.ptr, C.int32_t(gguf.Number(t.DType)), &ne[0], unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), &w.buffer)
	if code != 0 {
		return w, library.LastFailure(d.Name)
	}
	return w, nil
}
