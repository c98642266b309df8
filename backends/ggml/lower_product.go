package ggml

// #include "shim_ops.h"
import "C"

import (
	"qtsaccel/backends/kernels"
	"qtsaccel/core/tensor"
)

// product gives x w^T + bias over the last axes, [.., n_in] by [n_out, n_in] to
// [.., n_out], summed in f32; there may be no bias. With many rows the CPU's products
// are by a kernel of our own; productPays decides from how many on.
func (l *lowering) product(w, x, bias node) node {
	if !l.takesProduct(w, x) {
		return l.ggmlProduct(w, x, bias)
	}
	inputs := []node{x, w, l.productScratch(w, x.ne(1), x.ne(0))}
	if bias != none {
		inputs = append(inputs, l.dense(bias))
	}
	t := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{x.ne(3), x.ne(2), x.ne(1), w.ne(1)}}
	with := numbers{forProcessor: C.int32_t(kernels.InUse())}
	return l.kernel("product", t, with, inputs...)
}

func (l *lowering) mulMat(w, x node) node { return l.product(w, x, none) }

// ggmlProduct is product by ggml's own kernels. On the CPU these round x as suits the
// weight, so that a kernel of ours looks after it; see check_body.h of the kernels.
func (l *lowering) ggmlProduct(w, x, bias node) node { return l.ggmlProductOf(w, w, x, bias) }

// ggmlProductOf is ggmlProduct with a weight that is given rearranged and as it is stored.
func (l *lowering) ggmlProductOf(w, stored, x, bias node) node {
	y := l.ggmlMulMat(w, x)
	if l.backend.cpu && x.is(tensor.F32) && !w.is(tensor.F32) {
		return l.checked(y, x, stored, bias)
	}
	if bias != none {
		y = l.add(y, bias)
	}
	return y
}

func (l *lowering) takesProduct(w, x node) bool {
	return l.backend.cpu && w.t != nil && x.is(tensor.F32) && x.packed() && w.packed() && productPays(w.t._type, x.ne(1), false)
}

// forProcessor is the number of "product" and "convolution" that holds the kind of
// processor which their scratch memory was measured for, and whose variant computes.
const forProcessor = kernels.Numbers - 1

// productScratch is what a product of m rows over k takes beside its factors, or a
// convolution as one.
func (l *lowering) productScratch(w node, m, k int64) node {
	if w.t == nil {
		return none
	}
	return l.scratch(kernels.ProductScratch(int32(w.t._type), m, k, l.backend.info.Threads))
}
