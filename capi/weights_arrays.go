package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/split"
)

//export go_qtsa_weights_set_array
func go_qtsa_weights_set_array(set C.uintptr_t, name *C.const_char, data unsafe.Pointer, dtype C.qtsa_dtype, strides *C.const_int64_t, release C.qtsa_release_callback, user C.uintptr_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		t, err := tensorNamed(w, n)
		if err != nil {
			return err
		}
		a, err := arrayAt(data, tensor.Type{DType: tensor.DType(dtype), Shape: t.Type.Shape}, strides)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		a.Release = releaseOf(release, user)
		return w.SetArray(n, a)
	})
}

func tensorNamed(w *weights.Weights, name string) (*weights.Tensor, error) {
	i, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	return w.At(i)
}

// arrayAt is the array whose first element a host points to.
func arrayAt(data unsafe.Pointer, t tensor.Type, strides *C.const_int64_t) (weights.Array, error) {
	a := weights.Array{Type: t}
	if strides != nil {
		dims, err := list[int64](strides, C.size_t(len(t.Shape)), "strides")
		if err != nil {
			return a, err
		}
		a.Strides = append([]int64{}, dims...)
	}
	before, after, err := weights.Reach(t, a.Strides)
	if err != nil {
		return a, err
	}
	if data == nil {
		return a, status.Errorf(status.InvalidArgument, "data is null")
	}
	a.Origin = -before
	a.Data, err = bytes(unsafe.Add(data, before), C.size_t(after-before), "data")
	return a, err
}

//export go_qtsa_weights_add_split
func go_qtsa_weights_add_split(set C.uintptr_t, name *C.const_char, matrix *C.const_split_matrix, dtype C.qtsa_dtype, outReport *C.qtsa_split_report) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		m, err := splitMatrix(matrix)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		t, loss, err := split.Add(w, n, &m, tensor.DType(dtype))
		if err != nil {
			return err
		}
		*outReport = splitReport(t, loss)
		return nil
	})
}

func splitReport(t tensor.Type, loss split.Loss) C.qtsa_split_report {
	r := C.qtsa_split_report{
		dtype: C.qtsa_dtype(t.DType), bytes: C.uint64_t(t.Bytes()),
		max_absolute_error: C.double(loss.MaxAbsolute), max_relative_error: C.double(loss.MaxRelative),
	}
	if loss.Exact {
		r.exact = 1
	}
	return r
}

// splitMatrix reads a matrix of the host's, whose data is not copied.
func splitMatrix(p *C.const_split_matrix) (split.Split, error) {
	if p == nil {
		return split.Split{}, status.Errorf(status.InvalidArgument, "matrix is null")
	}
	if err := checkReserved(p.reserved); err != nil {
		return split.Split{}, err
	}
	m := split.Split{
		Rows: int64(p.n_out), Columns: int64(p.n_in), Block: int64(p.block),
		Bits: int(p.bits), Signed: p.is_signed != 0, Zero: int32(p.zero), Nibbles: split.NibbleOrder(p.nibbles),
		LevelStrides: [2]int64{int64(p.level_row), int64(p.level_byte)},
		ScaleDType:   tensor.DType(p.scale_dtype), ScaleStrides: [2]int64{int64(p.scale_row), int64(p.scale_column)},
	}
	if err := m.Check(); err != nil {
		return m, err
	}
	levels, err := m.LevelBytes()
	if err != nil {
		return m, err
	}
	scales, err := m.ScaleBytes()
	if err != nil {
		return m, err
	}
	if m.Levels, err = bytes(p.levels, C.size_t(levels), "levels"); err != nil {
		return m, err
	}
	if m.Scales, err = bytes(p.scales, C.size_t(scales), "scales"); err != nil {
		return m, err
	}
	if p.offsets != nil {
		m.Offsets, err = bytes(p.offsets, C.size_t(scales), "offsets")
	}
	return m, err
}
