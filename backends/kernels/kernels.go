// Package kernels computes operators on the CPU: matrix products and convolutions,
// attention, norms, and what libraries lack or do otherwise than the operator table says.
// It knows no library, no graph and no thread: a kernel is a function over views of
// tensors (kernels.h) that computes the part of thread ith of nth, on whoever's threads.
//
// Most are compiled for several instruction sets, of which the best that the processor
// has is taken when they run.
//
// To add a kernel, write its file; its entry stands there, and no other list names it:
//
//	void run(const call *c, int32_t ith, int32_t nth) { ... }
//	const kernel entry("snake", run, {KERNELS_DENSE, false, {}});
//
// With inputs that are said to lie in some way, as here, a call of the operator of that
// name is one call of the kernel, and backends that run kernels need no more. Otherwise
// the backend's lowering calls it by its name.
package kernels

/*
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra
#include "kernels.h"
*/
import "C"

import (
	"iter"
	"unsafe"
)

// Layout is how the elements of a tensor must lie.
type Layout int

// The layouts, each of which allows what the one before it does.
const (
	Dense   Layout = C.KERNELS_DENSE   // in order, without gaps
	Rows    Layout = C.KERNELS_ROWS    // those of each row side by side
	Strided Layout = C.KERNELS_STRIDED // anyhow
)

// The most inputs that a kernel has, and how many numbers go with each of its calls.
const (
	MaxInputs = C.KERNELS_INPUTS
	Numbers   = C.KERNELS_NUMBERS
)

// Kernel is an entry of the list of kernels.
type Kernel struct{ entry *C.struct_kernels_kernel }

// All gives every kernel, in no particular order. The entries are static objects of C++:
// not for the initialisation of Go packages, which in a shared library runs beside theirs.
func All() iter.Seq[Kernel] {
	return func(yield func(Kernel) bool) {
		for k := C.kernels_first(); k != nil && yield(Kernel{k}); k = k.next {
			continue
		}
	}
}

// Name is the kernel's, and that of the operator that it is, if [Kernel.Operator] has one.
func (k Kernel) Name() string { return C.GoString(k.entry.name) }

// Entry is the kernel's struct kernels_kernel, for C.
func (k Kernel) Entry() unsafe.Pointer { return unsafe.Pointer(k.entry) }

// Operator is how a call of the operator that has a kernel's name is one call of the
// kernel.
type Operator struct {
	Inputs     Layout   // of all inputs
	AnyOrder   bool     // one input, element by element: its axes may stand in any order
	Attributes []string // that become numbers, a real one a float's bits, an integer two halves
}

// Operator tells that; false: the kernel alone is no operator.
func (k Kernel) Operator() (Operator, bool) {
	as := &k.entry.as_operator
	o := Operator{Inputs: Layout(as.inputs), AnyOrder: bool(as.any_order)}
	for _, name := range as.numbers {
		if name == nil {
			break
		}
		o.Attributes = append(o.Attributes, C.GoString(name))
	}
	return o, o.Inputs != 0
}

// ProductScratch gives the bytes of scratch memory for "product" of m rows over k with a
// weight of a type, by its number in the GGUF format, on so many threads; or for
// "convolution" of m output channels, or positions where the channels are last, over k
// elements of a kernel.
func ProductScratch(dtype int32, m, k int64, threads int) int64 {
	return int64(C.kernels_product_scratch(C.int32_t(dtype), C.int64_t(m), C.int64_t(k), C.int32_t(threads)))
}

// AttentionScratch is the same for "attention" with heads of d elements, and of dv in
// values.
func AttentionScratch(d, dv int64, threads int) int64 {
	return int64(C.kernels_attention_scratch(C.int64_t(d), C.int64_t(dv), C.int32_t(threads)))
}

// AttentionChunk is how many of n keys "attention" puts into one piece: n, unless the
// queries alone give too few pieces. With less than n its result is one for each chunk,
// which "combine" puts together; see attention.h.
func AttentionChunk(t, heads, kvHeads, n int64) int64 {
	return int64(C.kernels_attention_chunk(C.int64_t(t), C.int64_t(heads), C.int64_t(kvHeads), C.int64_t(n)))
}
