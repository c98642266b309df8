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

// array is qtsa_array with user as the number that it may be.
type array struct {
	structSize C.size_t
	dtype      C.qtsa_dtype
	rank       C.int32_t
	shape      [C.QTSA_MAX_RANK]C.int64_t
	data       unsafe.Pointer
	bytes      C.size_t
	strides    *C.const_int64_t
	release    C.qtsa_release_callback
	user       C.uintptr_t
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_array{})^unsafe.Sizeof(array{}))|
	(unsafe.Offsetof(C.qtsa_array{}.data)^unsafe.Offsetof(array{}.data))|
	(unsafe.Offsetof(C.qtsa_array{}.strides)^unsafe.Offsetof(array{}.strides))|
	(unsafe.Offsetof(C.qtsa_array{}.release)^unsafe.Offsetof(array{}.release))|
	(unsafe.Offsetof(C.qtsa_array{}.user)^unsafe.Offsetof(array{}.user))]

// withArray runs f with weights, a name, and an array.
func withArray(set C.uintptr_t, name *C.const_char, given *C.const_array, f func(*weights.Weights, string, *array) error) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		if given == nil {
			return status.Errorf(status.InvalidArgument, "tensor %q: array is null", n)
		}
		a, err := readStruct((*array)(unsafe.Pointer(given)), unsafe.Sizeof(array{}))
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		return f(w, n, &a)
	})
}

//export go_qtsa_weights_add
func go_qtsa_weights_add(set C.uintptr_t, name *C.const_char, given *C.const_array) C.qtsa_status {
	return withArray(set, name, given, func(w *weights.Weights, n string, a *array) error {
		t, err := tensorType(a.dtype, (*C.const_int64_t)(unsafe.Pointer(&a.shape)), a.rank)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		if a.data == nil {
			if a.bytes != 0 || a.release != nil {
				return status.Errorf(status.InvalidArgument, "tensor %q: data is null, but bytes or release is given", n)
			}
			return w.Declare(n, t)
		}
		if err := t.Check(false); err != nil { // before it is used to find the elements
			return status.Wrapf(err, "tensor %q", n)
		}
		content, err := a.elements(t)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		return w.Add(n, content)
	})
}

//export go_qtsa_weights_set
func go_qtsa_weights_set(set C.uintptr_t, name *C.const_char, given *C.const_array) C.qtsa_status {
	return withArray(set, name, given, func(w *weights.Weights, n string, a *array) error {
		there, err := tensorNamed(w, n)
		if err != nil {
			return err
		}
		t, err := a.typeFor(there.Type)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		content, err := a.elements(t)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		return w.SetArray(n, content)
	})
}

// typeFor is what the array's elements are, for a tensor of a type.
func (a *array) typeFor(there tensor.Type) (tensor.Type, error) {
	t, err := tensorType(a.dtype, (*C.const_int64_t)(unsafe.Pointer(&a.shape)), a.rank)
	if err != nil {
		return t, err
	}
	if a.dtype == 0 {
		t.DType = there.DType
	}
	if a.rank == 0 {
		t.Shape = there.Shape
	}
	if err := t.Check(false); err != nil {
		return t, err
	}
	if !t.Shape.Equal(there.Shape) {
		return t, status.Errorf(status.ShapeMismatch, "it is %v, the array has the shape %v", there, t.Shape)
	}
	return t, nil
}

// elements are the array's in the host's memory, of a type.
func (a *array) elements(t tensor.Type) (weights.Array, error) {
	if a.data == nil {
		return weights.Array{}, status.Errorf(status.InvalidArgument, "data is null, and bytes is %d", uint64(a.bytes))
	}
	switch {
	case a.strides != nil && a.bytes != 0:
		return weights.Array{}, status.Errorf(status.InvalidArgument, "bytes is %d, with strides it is 0", uint64(a.bytes))
	case a.strides == nil && uint64(a.bytes) != uint64(t.Bytes()):
		return weights.Array{}, status.Errorf(status.ShapeMismatch, "the array has %d bytes, %v takes %d", uint64(a.bytes), t, t.Bytes())
	}
	content, err := arrayAt(a.data, t, a.strides)
	content.Release = releaseOf(a.release, a.user)
	return content, err
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
func splitMatrix(given *C.const_split_matrix) (split.Split, error) {
	if given == nil {
		return split.Split{}, status.Errorf(status.InvalidArgument, "matrix is null")
	}
	p, err := readStruct((*C.qtsa_split_matrix)(unsafe.Pointer(given)), unsafe.Sizeof(C.qtsa_split_matrix{}))
	if err != nil {
		return split.Split{}, err
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
