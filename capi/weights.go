package main

// #include "const_types.h"
import "C"

import (
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

//export go_qtsa_weights_create
func go_qtsa_weights_create(outWeights *C.uintptr_t) C.qtsa_status {
	return guard(func() error { return give(weightsSets, weights.New(), outWeights) })
}

//export go_qtsa_weights_free
func go_qtsa_weights_free(set C.uintptr_t) C.qtsa_status { return free(weightsSets, set) }

//export go_qtsa_weights_count
func go_qtsa_weights_count(set C.uintptr_t, outTensors, outMetadata *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		*outTensors, *outMetadata = C.size_t(w.Len()), C.size_t(len(w.MetadataKeys()))
		return nil
	})
}

//export go_qtsa_weights_info
func go_qtsa_weights_info(set C.uintptr_t, name *C.const_char, index C.size_t, outInfo *C.qtsa_tensor_info) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		t, err := tensorBy(w, name, index)
		if err != nil {
			return err
		}
		fillInfo(outInfo, t.Type, t.Bytes())
		return nil
	})
}

// tensorBy finds a tensor by its name or, where that is null, by its index.
func tensorBy(w *weights.Weights, name *C.const_char, index C.size_t) (*weights.Tensor, error) {
	if name == nil {
		return tensorAt(w, index)
	}
	n, err := text(name, "name")
	if err != nil {
		return nil, err
	}
	if index != 0 {
		return nil, status.Errorf(status.InvalidArgument, "both a name, %q, and an index, %d, are given", n, uint64(index))
	}
	return tensorNamed(w, n)
}

//export go_qtsa_weights_name_copy
func go_qtsa_weights_name_copy(set C.uintptr_t, kind C.int32_t, index C.size_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		switch kind {
		case C.QTSA_NAME_TENSOR:
			t, err := tensorAt(w, index)
			if err != nil {
				return err
			}
			return fill(t.Name, buffer, capacity, outSize)
		case C.QTSA_NAME_METADATA:
			keys := w.MetadataKeys()
			if uint64(index) >= uint64(len(keys)) {
				return status.Errorf(status.InvalidArgument, "index is %d, the metadata has %d keys", uint64(index), len(keys))
			}
			return fill(keys[index], buffer, capacity, outSize)
		default:
			return status.Errorf(status.InvalidArgument, "kind is %d, want %d (tensors) or %d (metadata)", int32(kind), C.QTSA_NAME_TENSOR, C.QTSA_NAME_METADATA)
		}
	})
}

// tensorAt finds a tensor by an index that may be beyond what Go's int holds.
func tensorAt(w *weights.Weights, index C.size_t) (*weights.Tensor, error) {
	if n := w.Len(); uint64(index) >= uint64(n) {
		return nil, status.Errorf(status.InvalidArgument, "index is %d, the weights have %d tensors", uint64(index), n)
	}
	return w.At(int(index))
}
