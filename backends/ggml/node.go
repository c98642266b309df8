package ggml

/*
#include "ggml.h"
#include "shim_ops.h"
*/
import "C"

import "qtsaccel/core/tensor"

// node is a tensor of the graph that is being lowered; see [lowering]. Shapes
// and axes are given row-major here, as everywhere but in ggml.
type node struct{ t *C.struct_ggml_tensor }

// ggmlOps makes tensors of ggml's operators, by ops.list.
//
//go:generate go run ./gen ops.list .
type ggmlOps struct{ b *C.struct_shim_builder }

// strides and the like ask the tensor itself; after a failed call there is none,
// and any answer will do.
func (n node) ne(axis int) int64 {
	if n.t == nil {
		return 1
	}
	return int64(n.t.ne[axis])
}

func (n node) stride(axis int) int64 {
	if n.t == nil {
		return 1
	}
	return int64(n.t.nb[axis])
}

func (n node) is(d tensor.DType) bool { return n.t != nil && C.int32_t(n.t._type) == dtypes[d] }

// root is the tensor whose memory a view looks at.
func (n node) root() node {
	if n.t == nil || n.t.view_src == nil {
		return n
	}
	return node{n.t.view_src}
}

// contiguous says whether elements lie as their row-major indices say.
func (n node) contiguous() bool { return n.t == nil || bool(C.shim_is_contiguous(n.t)) }

// packed says whether the elements of the last axis lie side by side.
func (n node) packed() bool { return n.t == nil || n.stride(0) == int64(C.shim_type_size(n.t)) }

func (l *lowering) leaf(t tensor.Type) node {
	ne := extents(t.Shape)
	return node{C.shim_leaf(l.b, dtypes[t.DType], &ne[0])}
}

// dense gives x with its elements in order: x itself, or a copy that its other
// users share.
func (l *lowering) dense(x node) node {
	if x.contiguous() && l.aligned(x) {
		return x
	}
	if d, ok := l.copies[x]; ok {
		return d
	}
	d := l.copy(x)
	l.copies[x] = d
	return d
}

// strided gives x with the elements of each row side by side, the rows wherever
// they lie.
func (l *lowering) strided(x node) node {
	if x.packed() && l.aligned(x) {
		return x
	}
	return l.dense(x)
}

// rows is strided where the CPU computes, whose operators all take rows from
// anywhere, and dense elsewhere: what other devices do not take as it is, they copy
// in f16.
func (l *lowering) rows(x node) node {
	if l.backend.cpu {
		return l.strided(x)
	}
	return l.dense(x)
}

// aligned says whether x starts where a device can bind memory: some of Vulkan's
// kernels assert that.
func (l *lowering) aligned(x node) bool {
	return l.backend.cpu || x.t == nil || int64(x.t.view_offs)%l.backend.device.Alignment == 0
}

func (l *lowering) reshape(x node, s ...int64) node {
	return l.ggmlOps.reshape(l.dense(x), s)
}

// view looks at x through other dimensions and strides in bytes, row-major, from
// an offset on.
func (l *lowering) view(x node, offset int64, s tensor.Shape, strides []int64) node {
	ne := extents(s)
	nb := [tensor.MaxRank]C.size_t{}
	for i := range nb {
		switch at := len(s) - 1 - i; {
		case at >= 0:
			nb[i] = C.size_t(strides[at])
		case i == 0:
			nb[i] = C.shim_type_size(x.t)
		default:
			nb[i] = nb[i-1] * C.size_t(ne[i-1])
		}
	}
	return l.ggmlOps.view(x, &ne, &nb, offset)
}

// transpose moves axis axes[i] of a tensor of that rank to i, without a copy.
func (l *lowering) transpose(x node, axes ...int) node {
	rank := len(axes)
	to := [tensor.MaxRank]C.int32_t{0, 1, 2, 3}
	for i, a := range axes {
		to[rank-1-a] = C.int32_t(rank - 1 - i)
	}
	return l.permute(x, &to)
}

// lastAxis moves an axis to the end, and back again: the same exchange.
func (l *lowering) lastAxis(x node, axis, rank int) node {
	if axis == rank-1 {
		return x
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	axes[axis], axes[rank-1] = axes[rank-1], axes[axis]
	return l.transpose(x, axes...)
}

func (l *lowering) rope(x, positions node, dims int, interleaved bool, base, scale float64) node {
	mode := C.int32_t(C.GGML_ROPE_TYPE_NEOX)
	if interleaved {
		mode = C.GGML_ROPE_TYPE_NORMAL
	}
	return l.ggmlOps.rope(x, positions, C.int32_t(dims), mode, base, scale)
}

// concat2 puts y behind x along an axis of tensors of that rank.
func (l *lowering) concat2(x, y node, axis, rank int) node {
	return l.concat(x, y, C.int32_t(rank-1-axis))
}

// pad puts zeros before and behind each axis. On the CPU it is done by rows.
func (l *lowering) pad(x node, before, after []int64) node {
	var lo, hi numbers
	padded := make(tensor.Shape, len(before))
	for i := range before {
		axis := len(before) - 1 - i // of ggml
		lo[axis], hi[axis] = C.int32_t(before[i]), C.int32_t(after[i])
		padded[i] = before[i] + x.ne(axis) + after[i]
	}
	if l.backend.cpu {
		return l.kernel("pad", tensor.Type{DType: tensor.F32, Shape: padded}, lo, l.strided(x))
	}
	return l.ggmlOps.pad(l.dense(x), (*[4]C.int32_t)(lo[:]), (*[4]C.int32_t)(hi[:]))
}

// window is how a convolution's kernel moves along the last axis and the one
// before it, in this order.
type window struct{ stride, padding, dilation [2]C.int32_t }

func (l *lowering) im2col(kernel, x node, w window, twoD bool) node {
	return l.ggmlOps.im2col(kernel, x, &w.stride, &w.padding, &w.dilation, twoD)
}

func (l *lowering) conv2dDepthwise(kernel, x node, w window) node {
	return l.ggmlOps.conv2dDepthwise(kernel, x, &w.stride, &w.padding, &w.dilation)
}
