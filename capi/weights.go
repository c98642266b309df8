package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

//export go_qtsa_weights_create
func go_qtsa_weights_create(outWeights *C.uintptr_t) C.qtsa_status {
	return guard(func() error { return give(weightsSets, weights.New(), outWeights) })
}

//export go_qtsa_weights_free
func go_qtsa_weights_free(set C.uintptr_t) C.qtsa_status { return free(weightsSets, set) }

//export go_qtsa_weights_declare
func go_qtsa_weights_declare(set C.uintptr_t, name *C.const_char, dtype C.qtsa_dtype, shape *C.const_int64_t, rank C.int32_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		t, err := tensorType(dtype, shape, rank)
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		return w.Declare(n, t)
	})
}

//export go_qtsa_weights_set
func go_qtsa_weights_set(set C.uintptr_t, name *C.const_char, data unsafe.Pointer, size C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		content, err := bytes(data, size, "data")
		if err != nil {
			return status.Wrapf(err, "tensor %q", n)
		}
		return w.Set(n, content)
	})
}

//export go_qtsa_weights_count
func go_qtsa_weights_count(set C.uintptr_t, outCount *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		*outCount = C.size_t(w.Len())
		return nil
	})
}

//export go_qtsa_weights_find
func go_qtsa_weights_find(set C.uintptr_t, name *C.const_char, outIndex *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		i, err := w.Find(n)
		if err != nil {
			return err
		}
		*outIndex = C.size_t(i)
		return nil
	})
}

//export go_qtsa_weights_info
func go_qtsa_weights_info(set C.uintptr_t, index C.size_t, outInfo *C.qtsa_tensor_info) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		t, err := tensorAt(w, index)
		if err != nil {
			return err
		}
		fillInfo(outInfo, t.Type, t.Bytes())
		return nil
	})
}

//export go_qtsa_weights_name_copy
func go_qtsa_weights_name_copy(set C.uintptr_t, index C.size_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		t, err := tensorAt(w, index)
		if err != nil {
			return err
		}
		return fill(t.Name, buffer, capacity, outSize)
	})
}

// tensorAt finds a tensor by an index that may be beyond what Go's int holds.
func tensorAt(w *weights.Weights, index C.size_t) (*weights.Tensor, error) {
	if n := w.Len(); uint64(index) >= uint64(n) {
		return nil, status.Errorf(status.InvalidArgument, "index is %d, the weights have %d tensors", uint64(index), n)
	}
	return w.At(int(index))
}
