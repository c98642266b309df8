package main

// #include "const_types.h"
import "C"

import (
	"unicode/utf8"
	"unsafe"

	"qtsaccel/core/report"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// maxCount bounds the lengths of arrays that a host passes; a greater one is a
// mistake, and what lies there would not be the host's.
const maxCount = 1 << 20

// text reads a string that must be given.
func text(p *C.const_char, parameter string) (string, error) {
	if p == nil {
		return "", status.Errorf(status.InvalidArgument, "%s is null", parameter)
	}
	s := C.GoString(p)
	if !utf8.ValidString(s) {
		return "", status.Errorf(status.InvalidArgument, "%s is not valid UTF-8: %q", parameter, s)
	}
	return s, nil
}

// optionalText reads a string that may be null, "" then.
func optionalText(p *C.const_char, parameter string) (string, error) {
	if p == nil {
		return "", nil
	}
	return text(p, parameter)
}

// list gives n elements of the host's memory, without a copy.
func list[To, From any](p *From, n C.size_t, parameter string) ([]To, error) {
	if n == 0 {
		return nil, nil
	}
	if p == nil {
		return nil, status.Errorf(status.InvalidArgument, "%s is null, but has %d elements", parameter, uint64(n))
	}
	if n > maxCount {
		return nil, status.Errorf(status.InvalidArgument, "%s has %d elements, more than %d are never right", parameter, uint64(n), maxCount)
	}
	return unsafe.Slice((*To)(unsafe.Pointer(p)), int(n)), nil
}

// bytes gives n bytes of the host's memory, without a copy.
func bytes(p unsafe.Pointer, n C.size_t, parameter string) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if p == nil {
		return nil, status.Errorf(status.InvalidArgument, "%s is null, but has %d bytes", parameter, uint64(n))
	}
	if n > maxBytes {
		return nil, status.Errorf(status.InvalidArgument, "%s has %d bytes, more than any memory", parameter, uint64(n))
	}
	return unsafe.Slice((*byte)(p), int(n)), nil
}

// maxBytes is what half of the address space has, as processors know it today.
const maxBytes = 1 << 47

// tensorType reads an element type and a shape; core checks the rest of it.
func tensorType(dtype C.qtsa_dtype, shape *C.const_int64_t, rank C.int32_t) (tensor.Type, error) {
	if rank < 0 || rank > tensor.MaxRank {
		return tensor.Type{}, status.Errorf(status.InvalidArgument, "rank is %d, want 0 to %d dimensions", int32(rank), tensor.MaxRank)
	}
	dims, err := list[int64](shape, C.size_t(rank), "shape")
	if err != nil {
		return tensor.Type{}, err
	}
	// A copy, since the host's array is not ours to keep.
	return tensor.Type{DType: tensor.DType(dtype), Shape: append(tensor.Shape(nil), dims...)}, nil
}

// fillInfo writes what a tensor is.
func fillInfo(out *C.qtsa_tensor_info, t tensor.Type, bytes int64) {
	info := C.qtsa_tensor_info{dtype: C.qtsa_dtype(t.DType), rank: C.int32_t(len(t.Shape)), bytes: C.uint64_t(bytes)}
	for i, d := range t.Shape {
		info.shape[i] = C.int64_t(d)
	}
	*out = info
}

// fill answers a _copy function.
func fill(s string, buffer *C.char, capacity C.size_t, outSize *C.size_t) error {
	need := C.size_t(len(s) + 1)
	*outSize = need
	switch {
	case buffer == nil && capacity == 0:
		return nil
	case buffer == nil:
		return status.Errorf(status.InvalidArgument, "buffer is null, but its capacity is %d", uint64(capacity))
	case capacity < need:
		return status.Errorf(status.InvalidArgument, "the buffer has %d bytes, %d are needed", uint64(capacity), uint64(need))
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), int(need))
	copy(to, s)
	to[need-1] = 0
	return nil
}

// fillReport answers a _copy function with a report in a format.
func fillReport(r report.Report, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) error {
	text, err := report.Format(format).Write(r)
	if err != nil {
		return err
	}
	return fill(text, buffer, capacity, outSize)
}

// readStruct copies as much of a struct that begins with struct_size as the host
// knows; the rest, and all of it where the host gives none, is zero, which is every
// default. first is the struct's size in its first form.
func readStruct[T any](p *T, first uintptr) (T, error) {
	var o T
	if p == nil {
		return o, nil
	}
	size := *(*C.size_t)(unsafe.Pointer(p))
	if err := checkStructSize[T](size, first); err != nil {
		return o, err
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&o)), unsafe.Sizeof(o)), unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size)))
	return o, nil
}

// structs is an array of the host's whose structs begin with struct_size: the first
// one's counts for all.
type structs[T any] struct {
	first unsafe.Pointer
	size  uintptr // of each as the host knows it
	n     int
}

// readStructs finds the n structs of an array; first is their size in their first form.
func readStructs[T any](p unsafe.Pointer, n C.size_t, parameter string, first uintptr) (structs[T], error) {
	if _, err := list[byte]((*byte)(p), n, parameter); err != nil || n == 0 {
		return structs[T]{}, err
	}
	size := *(*C.size_t)(p)
	if err := checkStructSize[T](size, first); err != nil {
		return structs[T]{}, status.Wrapf(err, "%s", parameter)
	}
	return structs[T]{p, uintptr(size), int(n)}, nil
}

// at copies struct i; what the host does not know of it is zero.
func (s structs[T]) at(i int) (o T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&o)), unsafe.Sizeof(o)),
		unsafe.Slice((*byte)(unsafe.Add(s.first, uintptr(i)*s.size)), s.size))
	return o
}

// put gives the host as much of struct i as it knows; struct_size stays as it is.
func (s structs[T]) put(i int, o *T) {
	to := unsafe.Slice((*byte)(unsafe.Add(s.first, uintptr(i)*s.size)), s.size)
	kept := unsafe.Sizeof(C.size_t(0))
	copy(to[kept:], unsafe.Slice((*byte)(unsafe.Pointer(o)), s.size)[kept:])
}

// checkStructSize finds a struct that was never initialised, and one of a newer
// header: what stands at its end may be asked for, and could not be given.
func checkStructSize[T any](size C.size_t, first uintptr) error {
	var o T
	switch known := unsafe.Sizeof(o); {
	case uintptr(size) < first:
		return status.Errorf(status.InvalidArgument, "struct_size is %d, this struct has at least %d bytes: was it initialised?", uint64(size), first)
	case uintptr(size) > known:
		return status.Errorf(status.VersionMismatch, "struct_size is %d, this library knows a struct of %d bytes: the header is newer, or the struct was not initialised", uint64(size), known)
	}
	return nil
}

// checkReserved keeps fields free for later versions.
func checkReserved(v C.int32_t) error {
	if v != 0 {
		return status.Errorf(status.InvalidArgument, "reserved is %d, it must be 0", int32(v))
	}
	return nil
}
