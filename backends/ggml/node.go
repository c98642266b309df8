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

// Element by element. The second operand may be broadcast along axes where it is
// 1; the first has the result's shape.
func (l *lowering) add(x, y node) node { return node{C.shim_add(l.b, x.t, y.t)} }
func (l *lowering) sub(x, y node) node { return node{C.shim_sub(l.b, x.t, y.t)} }
func (l *lowering) mul(x, y node) node { return node{C.shim_mul(l.b, x.t, y.t)} }
func (l *lowering) div(x, y node) node { return node{C.shim_div(l.b, x.t, y.t)} }

// unary applies one of GGML_UNARY_OP_*.
func (l *lowering) unary(op C.int32_t, x node) node { return node{C.shim_unary(l.b, op, x.t)} }

func (l *lowering) scale(x node, scale, bias float64) node {
	return node{C.shim_scale(l.b, x.t, C.float(scale), C.float(bias))}
}

// expand repeats x along axes where it is 1, to a shape.
func (l *lowering) expand(x node, s tensor.Shape) node {
	ne := extents(s)
	return node{C.shim_repeat(l.b, x.t, &ne[0])}
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
	return l.backend.cpu || x.t == nil || int64(x.t.view_offs)%l.backend.alignment == 0
}

func (l *lowering) copy(x node) node { return node{C.shim_cont(l.b, x.t)} }

func (l *lowering) reshape(x node, s ...int64) node {
	ne := extents(s)
	return node{C.shim_reshape(l.b, l.dense(x).t, &ne[0])}
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
	return node{C.shim_view(l.b, x.t, &ne[0], &nb[0], C.size_t(offset))}
}

// transpose moves axis axes[i] of a tensor of that rank to i, without a copy.
func (l *lowering) transpose(x node, axes ...int) node {
	rank := len(axes)
	to := [tensor.MaxRank]C.int32_t{0, 1, 2, 3}
	for i, a := range axes {
		to[rank-1-a] = C.int32_t(rank - 1 - i)
	}
	return node{C.shim_permute(l.b, x.t, &to[0])}
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

func (l *lowering) rmsNorm(x node, eps float64) node {
	return node{C.shim_rms_norm(l.b, x.t, C.float(eps))}
}

func (l *lowering) softMax(x node) node { return node{C.shim_soft_max(l.b, x.t)} }

// softMaxMasked gives softmax(scale x + mask).
func (l *lowering) softMaxMasked(x, mask node, scale float64) node {
	return node{C.shim_soft_max_ext(l.b, x.t, mask.t, C.float(scale))}
}

func (l *lowering) rope(x, positions node, dims int, interleaved bool, base, scale float64) node {
	mode := C.int32_t(C.GGML_ROPE_TYPE_NEOX)
	if interleaved {
		mode = C.GGML_ROPE_TYPE_NORMAL
	}
	return node{C.shim_rope(l.b, x.t, positions.t, C.int32_t(dims), mode, C.float(base), C.float(scale))}
}

// flashAttention takes q [heads, t, d], k and v [kv heads, n, d] and gives [t, heads, d].
func (l *lowering) flashAttention(q, k, v, mask node, scale float64) node {
	return node{C.shim_flash_attn(l.b, q.t, k.t, v.t, mask.t, C.float(scale))}
}

func (l *lowering) getRows(x, ids node) node { return node{C.shim_get_rows(l.b, x.t, ids.t)} }
func (l *lowering) setRows(x, values, ids node) node {
	return node{C.shim_set_rows(l.b, x.t, values.t, ids.t)}
}

// copyTo writes x into the memory of y, in y's dtype, and gives y.
func (l *lowering) copyTo(x, y node) node { return node{C.shim_cpy(l.b, x.t, y.t)} }

func (l *lowering) cast(x node, d tensor.DType) node {
	return node{C.shim_cast(l.b, x.t, dtypes[d])}
}

// lowHalves gives i64 as i32.
func (l *lowering) lowHalves(x node) node { return l.copy(node{C.shim_low_halves(l.b, x.t)}) }

func (l *lowering) sumRows(x node) node  { return node{C.shim_sum_rows(l.b, x.t)} }
func (l *lowering) meanRows(x node) node { return node{C.shim_mean(l.b, x.t)} }

// concat2 puts y behind x along an axis of tensors of that rank.
func (l *lowering) concat2(x, y node, axis, rank int) node {
	return node{C.shim_concat(l.b, x.t, y.t, C.int32_t(rank-1-axis))}
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
	return node{C.shim_pad(l.b, l.dense(x).t, &lo[0], &hi[0])}
}

func (l *lowering) padReflect(x node, before, after int64) node {
	return node{C.shim_pad_reflect(l.b, x.t, C.int32_t(before), C.int32_t(after))}
}

// upscale repeats the elements of the last two axes to a shape that is a multiple.
func (l *lowering) upscale(x node, s tensor.Shape) node {
	ne := extents(s)
	return node{C.shim_upscale_nearest(l.b, x.t, &ne[0])}
}

// window is how a convolution's kernel moves along the last axis and the one
// before it, in this order.
type window struct{ stride, padding, dilation [2]C.int32_t }

func (l *lowering) im2col(kernel, x node, w window, twoD bool) node {
	return node{C.shim_im2col(l.b, kernel.t, x.t, &w.stride[0], &w.padding[0], &w.dilation[0], C.bool(twoD))}
}

func (l *lowering) conv2dDepthwise(kernel, x node, w window) node {
	return node{C.shim_conv_2d_depthwise(l.b, kernel.t, x.t, &w.stride[0], &w.padding[0], &w.dilation[0])}
}
