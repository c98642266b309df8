package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/gguf"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

//export go_qtsa_weights_metadata_count
func go_qtsa_weights_metadata_count(set C.uintptr_t, outCount *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		*outCount = C.size_t(len(w.MetadataKeys()))
		return nil
	})
}

//export go_qtsa_weights_metadata_key_copy
func go_qtsa_weights_metadata_key_copy(set C.uintptr_t, index C.size_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		keys := w.MetadataKeys()
		if uint64(index) >= uint64(len(keys)) {
			return status.Errorf(status.InvalidArgument, "index is %d, the metadata has %d keys", uint64(index), len(keys))
		}
		return fill(keys[index], buffer, capacity, outSize)
	})
}

//export go_qtsa_weights_metadata_info
func go_qtsa_weights_metadata_info(set C.uintptr_t, key *C.const_char, outInfo *C.qtsa_metadata_info) C.qtsa_status {
	return withMetadata(set, key, func(v gguf.Value) error {
		d := v.Describe()
		*outInfo = C.qtsa_metadata_info{_type: C.int32_t(d.Type), count: C.uint64_t(d.Count)}
		if d.IsArray {
			outInfo.is_array = 1
		}
		for i := range len(d.Stored) { // the longest is "string"
			outInfo.stored[i] = C.char(d.Stored[i])
		}
		return nil
	})
}

//export go_qtsa_weights_metadata_ints
func go_qtsa_weights_metadata_ints(set C.uintptr_t, key *C.const_char, values *C.int64_t, capacity C.size_t, outCount *C.size_t) C.qtsa_status {
	return metadataList(set, key, (*int64)(values), capacity, outCount, gguf.Value.Ints)
}

//export go_qtsa_weights_metadata_floats
func go_qtsa_weights_metadata_floats(set C.uintptr_t, key *C.const_char, values *C.double, capacity C.size_t, outCount *C.size_t) C.qtsa_status {
	return metadataList(set, key, (*float64)(values), capacity, outCount, gguf.Value.Floats)
}

//export go_qtsa_weights_metadata_bools
func go_qtsa_weights_metadata_bools(set C.uintptr_t, key *C.const_char, values *C.int32_t, capacity C.size_t, outCount *C.size_t) C.qtsa_status {
	return metadataList(set, key, (*int32)(values), capacity, outCount, gguf.Value.Bools)
}

//export go_qtsa_weights_metadata_string_copy
func go_qtsa_weights_metadata_string_copy(set C.uintptr_t, key *C.const_char, index C.size_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		k, err := text(key, "key")
		if err != nil {
			return err
		}
		s, err := w.MetadataText(k, uint64(index))
		if err != nil {
			return err
		}
		return fill(string(s), buffer, capacity, outSize)
	})
}

//export go_qtsa_weights_metadata_copy
func go_qtsa_weights_metadata_copy(set C.uintptr_t, key *C.const_char, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return withMetadata(set, key, func(v gguf.Value) error { return fill(v.String(), buffer, capacity, outSize) })
}

// withMetadata runs f with a metadata value.
func withMetadata(set C.uintptr_t, key *C.const_char, f func(gguf.Value) error) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		k, err := text(key, "key")
		if err != nil {
			return err
		}
		v, err := w.Metadata(k)
		if err != nil {
			return err
		}
		return status.Wrapf(f(v), "metadata %q", k)
	})
}

// metadataList answers a function that gives all elements of a value by read.
func metadataList[T any](set C.uintptr_t, key *C.const_char, values *T, capacity C.size_t, outCount *C.size_t, read func(gguf.Value, []T) error) C.qtsa_status {
	return withMetadata(set, key, func(v gguf.Value) error {
		if err := read(v, nil); err != nil { // of another type
			return err
		}
		n := v.Describe().Count
		*outCount = C.size_t(n)
		switch {
		case values == nil && capacity == 0:
			return nil
		case values == nil:
			return status.Errorf(status.InvalidArgument, "values is null, but its capacity is %d", uint64(capacity))
		case uint64(capacity) < uint64(n):
			return status.Errorf(status.InvalidArgument, "there is room for %d elements, it has %d", uint64(capacity), n)
		}
		return read(v, unsafe.Slice(values, n))
	})
}
