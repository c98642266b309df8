package ggml

// #include "shim_ops.h"
import "C"

import (
	"math"
	"slices"
	"sync"

	"qtsaccel/backends/kernels"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// kernelsByName are the kernels of our own. They are asked for at their first use: where
// Go is a library's, its packages are initialised beside C++'s static objects, which the
// entries are, and may find some of them only.
var kernelsByName = sync.OnceValue(func() map[string]kernels.Kernel {
	list := map[string]kernels.Kernel{}
	for k := range kernels.All() {
		list[k.Name()] = k
	}
	return list
})

// kernelLowerings are the operators that are one call of a kernel each, as its entry
// says: the CPU needs no other lowering of them.
var kernelLowerings = sync.OnceValue(func() map[string]lowerFunc {
	list := map[string]lowerFunc{}
	for name, k := range kernelsByName() {
		if as, ok := k.Operator(); ok {
			list[name] = one(func(c *call) node { return c.asKernel(name, as) })
		}
	}
	return list
})

// asKernel lowers a call of an operator to one of the kernel of its name.
func (c *call) asKernel(name string, as kernels.Operator) node {
	var with numbers
	at := 0
	for _, attribute := range as.Attributes {
		if c.Op.Attrs[slices.IndexFunc(c.Op.Attrs, func(a ops.Attr) bool { return a.Name == attribute })].Type == ops.Real {
			with[at] = floatBits(c.Real(attribute))
			at++
			continue
		}
		with[at], with[at+1] = halves(c.Int(attribute))
		at += 2
	}
	if as.AnyOrder {
		return c.elementwiseKernel(name, with, as.Inputs)
	}
	inputs := make([]node, len(c.In))
	for i := range inputs {
		inputs[i] = c.laidOut(c.in(i), as.Inputs)
	}
	return c.kernel(name, c.Out[0], with, inputs...)
}

// elementwiseKernel applies a kernel that works element by element to input 0, in the
// order in which that lies in memory.
func (c *call) elementwiseKernel(name string, with numbers, layout kernels.Layout) node {
	return c.inMemoryOrder(func(x node, _ ...node) node {
		t := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{x.ne(3), x.ne(2), x.ne(1), x.ne(0)}}
		return c.kernel(name, t, with, c.laidOut(x, layout))
	}, c.in(0))
}

// laidOut gives x as a kernel takes it.
func (l *lowering) laidOut(x node, layout kernels.Layout) node {
	switch layout {
	case kernels.Dense:
		return l.dense(x)
	case kernels.Rows:
		return l.strided(x)
	case kernels.Strided:
	}
	return x
}

// numbers go with a kernel of our own.
type numbers [kernels.Numbers]C.int32_t

var noNumbers numbers

// halves are the low and the high half of a number that needs 64 bits.
func halves(n int64) (low, high C.int32_t) { return C.int32_t(n), C.int32_t(n >> 32) }

// floatBits puts an f32 number among those that go with a kernel.
func floatBits(v float64) C.int32_t { return C.int32_t(int32(math.Float32bits(float32(v)))) }

// kernel runs the kernel of our own that has a name, which only the CPU does.
func (l *lowering) kernel(name string, t tensor.Type, with numbers, inputs ...node) node {
	k, ok := kernelsByName()[name]
	if !ok {
		l.err = status.Errorf(status.Internal, "there is no kernel %q", name)
		return none
	}
	var in [kernels.MaxInputs]C.shim_tensor
	for i, n := range inputs {
		in[i] = n.t
	}
	ne := extents(t.Shape)
	return node{C.shim_kernel(l.b, k.Entry(), dtypes[t.DType], &ne[0], &in[0], C.int32_t(len(inputs)), &with[0])}
}

// scratch is memory of so many bytes that a kernel uses while it runs.
func (l *lowering) scratch(bytes int64) node { return node{C.shim_scratch(l.b, C.int64_t(bytes))} }
