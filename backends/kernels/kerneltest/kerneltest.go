// Package kerneltest calls kernels from tests: with operands in memory that is as large
// as they are and no larger, so that the address sanitizer sees a step beyond, and with
// quantised blocks read by package quant, whose values are the ones that are meant.
package kerneltest

/*
#include <stdlib.h>
#include "expand.h"

static void call(const struct kernels_kernel *k, const struct kernels_call *c, int32_t ith, int32_t nth) { k->run(c, ith, nth); }
*/
import "C"

import (
	"slices"
	"testing"
	"unsafe"

	"qtsaccel/backends/kernels"
	"qtsaccel/core/gguf"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/tensor"
)

//export kerneltestDecode
func kerneltestDecode(number C.int32_t, blocks unsafe.Pointer, floats *C.float, n C.int64_t) {
	d, _ := gguf.DTypeOf(uint32(number))
	block, bytes := d.Block()
	src := unsafe.Slice((*byte)(blocks), int64(n)/block*bytes)
	if err := quant.Decode(d, unsafe.Slice((*float32)(floats), n), src); err != nil {
		panic(err)
	}
}

// Operand is a tensor that a kernel reads or writes. Two with the same data are one
// piece of memory.
type Operand struct {
	Type    tensor.Type
	Strides []int64 // row-major, in bytes; nil: dense
	Offset  int64   // of the first element in the data, in bytes
	Data    []byte
}

// Of makes an operand of a dense tensor's elements.
func Of[T any](d tensor.DType, elements []T, shape ...int64) Operand {
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), uintptr(len(elements))*unsafe.Sizeof(*new(T)))
	return Operand{Type: tensor.Type{DType: d, Shape: shape}, Data: data}
}

// OfValue makes an operand of a reference value.
func OfValue(t testing.TB, v ops.Value) Operand {
	o := Operand{Type: v.Type, Data: make([]byte, v.Type.Bytes())}
	if err := v.Encode(o.Data); err != nil {
		t.Fatal(err)
	}
	return o
}

// Call is a call of a kernel made ready, with its operands in C's memory.
type Call struct {
	kernel *C.struct_kernels_kernel
	call   *C.struct_kernels_call
	owned  []unsafe.Pointer
	copies map[*byte]unsafe.Pointer
	out    Operand
}

// Prepare makes a call ready; numbers that are not given are 0.
func Prepare(t testing.TB, name string, numbers []int32, out Operand, in ...Operand) *Call {
	c := &Call{copies: map[*byte]unsafe.Pointer{}, out: out}
	t.Cleanup(c.free)
	for k := range kernels.All() {
		if k.Name() == name {
			c.kernel = (*C.struct_kernels_kernel)(k.Entry())
		}
	}
	if c.kernel == nil {
		t.Fatalf("there is no kernel %q", name)
	}
	c.call = alloc[C.struct_kernels_call](c, 1)
	c.call.out = c.operand(out)
	list := unsafe.Slice(alloc[C.struct_kernels_tensor](c, len(in)), len(in))
	for i, o := range in {
		list[i] = c.operand(o)
	}
	c.call.in, c.call.inputs = unsafe.SliceData(list), C.int32_t(len(in))
	with := unsafe.Slice(alloc[C.int32_t](c, kernels.Numbers), kernels.Numbers)
	for i := range with {
		with[i] = 0
		if i < len(numbers) {
			with[i] = C.int32_t(numbers[i])
		}
	}
	c.call.numbers = unsafe.SliceData(with)
	return c
}

// Run computes the parts of so many threads, one after the other.
func (c *Call) Run(threads int) {
	for i := range threads {
		C.call(c.kernel, c.call, C.int32_t(i), C.int32_t(threads))
	}
}

// Fetch copies the result into the data of the output.
func (c *Call) Fetch() {
	copy(c.out.Data, unsafe.Slice((*byte)(c.copies[unsafe.SliceData(c.out.Data)]), len(c.out.Data)))
}

// Run makes a call ready, runs it and fetches its result.
func Run(t testing.TB, name string, threads int, numbers []int32, out Operand, in ...Operand) {
	c := Prepare(t, name, numbers, out, in...)
	c.Run(threads)
	c.Fetch()
}

func (c *Call) free() {
	for _, p := range c.owned {
		C.free(p)
	}
	c.owned = nil
}

func alloc[T any](c *Call, n int) *T {
	p := C.malloc(C.size_t(uintptr(max(n, 1)) * unsafe.Sizeof(*new(T))))
	c.owned = append(c.owned, p)
	return (*T)(p)
}

func (c *Call) operand(o Operand) C.struct_kernels_tensor {
	typ, ne, nb := alloc[C.struct_kernels_type](c, 1), alloc[[4]C.int64_t](c, 1), alloc[[4]C.size_t](c, 1)
	block, bytes := o.Type.DType.Block()
	number := C.int32_t(gguf.Number(o.Type.DType))
	*typ = C.struct_kernels_type{is: number, block: C.int64_t(block), block_bytes: C.size_t(bytes), expand: C.kerneltest_expand(number)}
	*ne = [4]C.int64_t{1, 1, 1, 1}
	shape := slices.Clone(o.Type.Shape)
	slices.Reverse(shape)
	for i, n := range shape {
		ne[i] = C.int64_t(n)
	}
	nb[0] = C.size_t(bytes)
	nb[1] = C.size_t(int64(ne[0]) / block * bytes)
	for i := 2; i < 4; i++ {
		nb[i] = nb[i-1] * C.size_t(ne[i-1])
	}
	strides := slices.Clone(o.Strides)
	slices.Reverse(strides)
	for i, s := range strides {
		nb[i] = C.size_t(s)
	}
	return C.struct_kernels_tensor{_type: typ, ne: &ne[0], nb: &nb[0], data: unsafe.Add(c.memory(o.Data), o.Offset)}
}

// memory is a copy of data in C's memory, aligned as malloc does.
func (c *Call) memory(data []byte) unsafe.Pointer {
	at := unsafe.SliceData(data)
	if p, ok := c.copies[at]; ok && at != nil {
		return p
	}
	p := unsafe.Pointer(alloc[byte](c, len(data)))
	copy(unsafe.Slice((*byte)(p), len(data)), data)
	c.copies[at] = p
	return p
}
