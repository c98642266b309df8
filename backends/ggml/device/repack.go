package device

// #include "device.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/gguf"
	"qtsaccel/core/guarded"
	"qtsaccel/core/mem"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Repacked is a layout in which the CPU's products find a weight rearranged for its
// instruction set: one of ggml's extra buffer types, by its place among them.
type Repacked struct{ number C.int32_t }

// Repacked gives the layout in which ggml multiplies so many rows with a weight; false:
// none, or the device keeps weights as they are stored.
func (d *Device) Repacked(t tensor.Type, rows int64) (Repacked, bool) {
	layout := Repacked{-1}
	if !d.CPU || !d.repack {
		return layout, false
	}
	ne := extents(t.Shape)
	ok := C.shim_repack_layout(d.ptr, C.int32_t(gguf.Number(t.DType)), &ne[0], C.int64_t(rows), &layout.number) == 0
	return layout, ok && layout.number >= 0
}

// LayoutName is ggml's name of a layout: "CPU_REPACK".
func (d *Device) LayoutName(l Repacked) string {
	return C.GoString(C.shim_repack_name(d.ptr, l.number))
}

// rowsApart is the least of rows that are rearranged by themselves: layouts move rows
// among 4 to 32 neighbours.
const rowsApart = 64

func (l Repacked) bytes(d *Device, t tensor.Type) (int64, error) {
	bytes, _, err := l.size(d, t)
	return bytes, err
}

// size is what a weight takes, and whether parts of it can be rearranged by themselves.
func (l Repacked) size(d *Device, t tensor.Type) (int64, bool, error) {
	ne := extents(t.Shape)
	var bytes C.size_t
	var divisible C.bool
	err := d.Do("a weight's size", func() int32 {
		return int32(C.shim_repack_bytes(d.ptr, l.number, C.int32_t(gguf.Number(t.DType)), &ne[0], &bytes, &divisible))
	})
	return int64(bytes), bool(divisible), err
}

// create rearranges a weight, on as many threads as a run has.
func (l Repacked) create(d *Device, t tensor.Type, bytes int64, data []byte) (weights.Copy, error) {
	dtype, ne := C.int32_t(gguf.Number(t.DType)), extents(t.Shape)
	_, divisible, err := l.size(d, t)
	if err != nil {
		return nil, err
	}
	if err := mem.Check(bytes); err != nil {
		return nil, err
	}
	made := weight{device: d.ptr}
	err = d.Do("a weight", func() int32 {
		return int32(C.shim_repack_new(d.ptr, l.number, C.size_t(bytes), &made.buffer))
	})
	if err != nil {
		return nil, err
	}
	mem.PreferHugePages(C.shim_repack_memory(made.buffer), bytes)

	rows, row := t.Shape[0], t.Bytes()/t.Shape[0]
	step := rows
	if divisible {
		step = (rows/int64(d.threads)/rowsApart + 1) * rowsApart
	}
	var group guarded.Group
	for from := int64(0); from < rows; from += step {
		group.Go(func() error {
			part := ne
			part[1] = C.int64_t(min(step, rows-from))
			return d.Do("a weight", func() int32 {
				return int32(C.shim_repack_rows(d.ptr, made.buffer, dtype, &part[0], C.size_t(from*row), unsafe.Pointer(&data[from*row])))
			})
		})
	}
	if err := group.Wait(); err != nil {
		made.Free()
		return nil, err
	}
	return made, nil
}
