package ggml

// #include "shim_ops.h"
import "C"

import "qtsaccel/core/tensor"

// product gives x w^T + bias over the last axes, [.., n_in] by [n_out, n_in] to
// [.., n_out], summed in f32; there may be no bias. With many rows the CPU's products
// are by a kernel of our own; shim_product_pays decides from how many on.
func (l *lowering) product(w, x, bias node) node {
	if !l.takesProduct(w, x) {
		return l.ggmlProduct(w, x, bias)
	}
	inputs := []node{x, w, l.productScratch(w, x.ne(1), x.ne(0))}
	if bias != none {
		inputs = append(inputs, l.dense(bias))
	}
	t := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{x.ne(3), x.ne(2), x.ne(1), w.ne(1)}}
	return l.kernel(C.SHIM_PRODUCT, t, noNumbers, inputs...)
}

func (l *lowering) mulMat(w, x node) node { return l.product(w, x, none) }

// ggmlProduct is product by ggml's own kernels. On the CPU these round x as suits the
// weight, so that a kernel of ours looks after it; see cpu_check_body.h.
func (l *lowering) ggmlProduct(w, x, bias node) node { return l.ggmlProductOf(w, w, x, bias) }

// ggmlProductOf is ggmlProduct with a weight that is given rearranged and as it is stored.
func (l *lowering) ggmlProductOf(w, stored, x, bias node) node {
	y := node{C.shim_mul_mat(l.b, w.t, x.t)}
	if l.backend.cpu && x.is(tensor.F32) && !w.is(tensor.F32) {
		return node{C.shim_checked(l.b, y.t, x.t, stored.t, bias.t)}
	}
	if bias != none {
		y = l.add(y, bias)
	}
	return y
}

func (l *lowering) takesProduct(w, x node) bool {
	return l.backend.cpu && w.t != nil && x.is(tensor.F32) && x.packed() && w.packed() && productPays(w.t._type, x.ne(1), false)
}

// productPays says whether the kernel computes products of so many rows with a weight of
// one of ggml's types, where ggml would read it as it is stored, or rearranged.
func productPays(weight uint32, rows int64, rearranged bool) bool {
	return bool(C.shim_product_pays(C.int32_t(weight), C.int64_t(rows), C.bool(rearranged)))
}

// productScratch is what a product of m rows over k takes beside its factors.
func (l *lowering) productScratch(w node, m, k int64) node {
	if w.t == nil {
		return none
	}
	return node{C.shim_product_scratch(l.b, C.int32_t(w.t._type), C.int64_t(m), C.int64_t(k), C.int32_t(l.backend.info.Threads))}
}

// limitProcessor has the kernels use no more than a processor of this kind has, so
// that tests reach the code for lesser ones, and says whether this one has that.
func limitProcessor(p processor) bool { return bool(C.shim_limit_processor(C.int32_t(p))) }

// processor is a kind of processor that there are kernels for, as in cpu_variants.h.
type processor int

const (
	anyProcessor processor = iota
	withAVX2
	withAVX512
	withAVX512BF16
)
