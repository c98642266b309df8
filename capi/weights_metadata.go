package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/abi"
	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

//export go_qtsa_weights_metadata_info
func go_qtsa_weights_metadata_info(set C.uintptr_t, key *C.const_char, outInfo *C.qtsa_metadata_info) C.qtsa_status {
	return withMetadata(set, key, func(v metadata.Value) error {
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

//export go_qtsa_weights_metadata_get
func go_qtsa_weights_metadata_get(set C.uintptr_t, key *C.const_char, valueType C.int32_t, values unsafe.Pointer, capacity C.size_t, outCount *C.size_t) C.qtsa_status {
	return withMetadata(set, key, func(v metadata.Value) error {
		switch valueType {
		case C.QTSA_METADATA_INT:
			return metadataList(v, (*int64)(values), capacity, outCount, metadata.Value.Ints)
		case C.QTSA_METADATA_FLOAT:
			return metadataList(v, (*float64)(values), capacity, outCount, metadata.Value.Floats)
		case C.QTSA_METADATA_BOOL:
			return metadataList(v, (*int32)(values), capacity, outCount, metadata.Value.Bools)
		default:
			return status.Errorf(status.InvalidArgument, "type is %d, want %d (int), %d (float) or %d (bool)",
				int32(valueType), C.QTSA_METADATA_INT, C.QTSA_METADATA_FLOAT, C.QTSA_METADATA_BOOL)
		}
	})
}

//export go_qtsa_weights_metadata_copy
func go_qtsa_weights_metadata_copy(set C.uintptr_t, key *C.const_char, index C.int64_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	if index == abi.Whole {
		return withMetadata(set, key, func(v metadata.Value) error { return fill(v.String(), buffer, capacity, outSize) })
	}
	return with(weightsSets, set, func(w *weights.Weights) error {
		k, err := text(key, "key")
		if err != nil {
			return err
		}
		if index < 0 {
			return status.Errorf(status.InvalidArgument, "metadata %q: index is %d, want 0 or more, or %d for the whole", k, int64(index), abi.Whole)
		}
		s, err := w.MetadataText(k, uint64(index))
		if err != nil {
			return err
		}
		return fill(string(s), buffer, capacity, outSize)
	})
}

// withMetadata runs f with a metadata value.
func withMetadata(set C.uintptr_t, key *C.const_char, f func(metadata.Value) error) C.qtsa_status {
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

// metadataList gives all elements of a value by read.
func metadataList[T any](v metadata.Value, values *T, capacity C.size_t, outCount *C.size_t, read func(metadata.Value, []T) error) error {
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
}
