package ops_test

import (
	"maps"
	"math"
	"slices"
	"strings"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// ONNX's operators that several of the table compute together.
func init() {
	maps.Copy(onnxOps, map[string]func(e *evaluation) []ops.Value{
		"And": func(e *evaluation) []ops.Value { return one(e.bin("mul", e.in[0].Value, e.in[1].Value)) },
		"Or":  func(e *evaluation) []ops.Value { return one(e.bin("maximum", e.in[0].Value, e.in[1].Value)) },
		"Not": func(e *evaluation) []ops.Value { return one(e.affine(e.in[0].Value, -1, 1)) },

		"Celu": func(e *evaluation) []ops.Value {
			alpha := e.float("alpha", 1)
			return one(e.affine(e.un("elu", e.affine(e.x(0), 1/alpha, 0)), alpha, 0))
		},
		"Cosh": func(e *evaluation) []ops.Value { return one(exponentials(e, "add")) },
		"Sinh": func(e *evaluation) []ops.Value { return one(exponentials(e, "sub")) },
		"Floor": func(e *evaluation) []ops.Value {
			return one(e.floor(e.x(0)))
		},
		"Pow": func(e *evaluation) []ops.Value {
			y := e.un("exp", e.bin("mul", e.un("log", e.asFloat(0)), e.asFloat(1)))
			return one(y)
		},
		"ThresholdedRelu": func(e *evaluation) []ops.Value {
			return one(e.bin("mul", e.x(0), e.un("step", e.affine(e.x(0), 1, -e.float("alpha", 1)))))
		},
		"Mod": func(e *evaluation) []ops.Value {
			x, y := e.asFloat(0), e.asFloat(1)
			whole := e.floor
			if e.int("fmod", 0) == 1 {
				whole = e.truncated
			}
			return one(e.bin("sub", x, e.bin("mul", y, whole(e.bin("div", x, y)))))
		},
		"Trilu": func(e *evaluation) []ops.Value {
			k := int64(0)
			if e.has(1) {
				k = e.in[1].I[0]
			}
			x := e.asFloat(0)
			s := x.Type.Shape
			return one(e.bin("mul", x, filled(tensor.Shape{s.Dim(-2), s.Dim(-1)}, func(i int64) float64 {
				row, column := i/s.Dim(-1), i%s.Dim(-1)
				if e.int("upper", 1) == 1 && column-row >= k || e.int("upper", 1) == 0 && column-row <= k {
					return 1
				}
				return 0
			})))
		},
		"OneHot":          oneHot,
		"GatherElements":  gatherElements,
		"GatherND":        gatherND,
		"Einsum":          einsum,
		"MaxPool":         maxPool,
		"AveragePool":     averagePool,
		"RotaryEmbedding": rotary,
	})
}

// affine is scale*x + bias.
func (e *evaluation) affine(x ops.Value, scale, bias float64) ops.Value {
	return e.un("scale", x, ops.RealAttr("scale", scale), ops.RealAttr("bias", bias))
}

// truncated cuts towards 0.
func (e *evaluation) truncated(x ops.Value) ops.Value {
	return e.un("cast", e.un("cast", x, ops.TextAttr("dtype", "i64")), ops.TextAttr("dtype", "f32"))
}

func (e *evaluation) floor(x ops.Value) ops.Value {
	t := e.truncated(x)
	return e.bin("sub", t, e.un("step", e.bin("sub", t, x)))
}

// filled is a tensor that does not depend on the inputs.
func filled(s tensor.Shape, f func(i int64) float64) ops.Value {
	v := ops.NewValue(tensor.Type{DType: tensor.F32, Shape: s})
	for i := range v.F {
		v.F[i] = f(int64(i))
	}
	return v
}

func exponentials(e *evaluation, name string) ops.Value {
	return e.affine(e.bin(name, e.un("exp", e.x(0)), e.un("exp", e.un("neg", e.x(0)))), 0.5, 0)
}

// oneHot compares the indices with 0, 1, 2, ...
func oneHot(e *evaluation) []ops.Value {
	depth := int64(number(e.in[1].Value, 0))
	ids, values := e.asFloat(0), e.asFloat(2)
	ids = e.bin("add", ids, e.affine(e.un("step", e.un("neg", ids)), float64(depth), 0))
	s := ids.Type.Shape
	grid := e.all("arange", nil, ops.IntAttr("count", depth))[0]
	distance := e.un("abs", e.bin("sub", e.reshape(ids, append(append([]int64{}, s...), 1)...), grid))
	equal := e.affine(e.un("step", e.affine(distance, 1, -0.5)), -1, 1)
	off := values.F[0]
	y := e.affine(equal, values.F[1]-off, off)
	axis := e.int("axis", -1)
	if axis < 0 {
		axis += int64(len(s)) + 1
	}
	var axes []int64
	for i := range s {
		axes = append(axes, int64(i))
	}
	axes = append(axes[:axis], append([]int64{int64(len(s))}, axes[axis:]...)...)
	return one(e.transpose(y, axes...))
}

// rows looks elements of x, as rows of n, up by indices in floats.
func (e *evaluation) rows(x ops.Value, n int64, ids ops.Value) ops.Value {
	flat := e.un("cast", e.reshape(ids, -1), ops.TextAttr("dtype", "i64"))
	return e.bin("embedding", e.reshape(x, -1, n), flat)
}

// counted makes negative indices count from the end of n.
func (e *evaluation) fromEnd(ids, n ops.Value) ops.Value {
	return e.bin("add", ids, e.bin("mul", e.un("step", e.un("neg", ids)), n))
}

func gatherElements(e *evaluation) []ops.Value {
	x, ids := e.asFloat(0), e.asFloat(1)
	s, axis := x.Type.Shape, int(e.int("axis", 0))
	if axis < 0 {
		axis += len(s)
	}
	stride := s[axis+1:].Elements()
	ids = e.fromEnd(ids, filled(tensor.Shape{1}, func(int64) float64 { return float64(s[axis]) }))
	// Where each element's row of the axis begins.
	begin := filled(ids.Type.Shape, func(i int64) float64 {
		at := int64(0)
		for d, n := range slices.Backward(ids.Type.Shape) {
			if d != axis {
				at += i % n * s[d+1:].Elements()
			}
			i /= n
		}
		return float64(at)
	})
	y := e.rows(x, 1, e.bin("add", begin, e.affine(ids, float64(stride), 0)))
	return one(e.reshape(y, ids.Type.Shape...))
}

func gatherND(e *evaluation) []ops.Value {
	if e.int("batch_dims", 0) != 0 {
		e.leave("batch_dims")
	}
	x, ids := e.asFloat(0), e.asFloat(1)
	s, k := x.Type.Shape, ids.Type.Shape.Dim(-1)
	ids = e.fromEnd(ids, filled(tensor.Shape{k}, func(i int64) float64 { return float64(s[i]) }))
	at := e.bin("matmul", e.reshape(ids, -1, k), filled(tensor.Shape{k, 1}, func(i int64) float64 {
		return float64(s[i+1 : k].Elements())
	}))
	return one(e.reshape(e.rows(x, s[k:].Elements(), at), e.out[0].Type.Shape...))
}

func einsum(e *evaluation) []ops.Value {
	x := e.x(0)
	switch equation := strings.ReplaceAll(e.text("equation", ""), " ", ""); equation {
	case "ij->ji":
		return one(e.transpose(x, 1, 0))
	case "...ii->...i":
		n := x.Type.Shape.Dim(-1)
		diagonal := filled(tensor.Shape{n, n}, func(i int64) float64 {
			if i/n == i%n {
				return 1
			}
			return 0
		})
		return one(e.un("reduce_sum", e.bin("mul", x, diagonal), ops.IntAttr("axis", -1), ops.IntAttr("keepdims", 0)))
	default:
		e.leave("equation %s", equation)
		return nil
	}
}

// window is how a pooling's kernel goes over an axis.
type window struct{ size, stride, dilation, begin, end, outputs int64 }

func windows(e *evaluation) []window {
	x, y := e.in[0].Type.Shape[2:], e.out[0].Type.Shape[2:]
	n := len(x)
	ones, zeros := make([]int64, n), make([]int64, 2*n)
	for i := range ones {
		ones[i] = 1
	}
	kernel, strides, dilations := e.ints("kernel_shape"), e.ints("strides", ones...), e.ints("dilations", ones...)
	pads := e.ints("pads", zeros...)
	all := make([]window, n)
	for i := range all {
		w := window{kernel[i], strides[i], dilations[i], pads[i], pads[n+i], y[i]}
		total := max(0, (y[i]-1)*w.stride+(w.size-1)*w.dilation+1-x[i])
		switch e.text("auto_pad", "NOTSET") {
		case "SAME_UPPER":
			w.begin, w.end = total/2, total-total/2
		case "SAME_LOWER":
			w.begin, w.end = total-total/2, total/2
		}
		all[i] = w
	}
	return all
}

// padTo pads the spatial axes with a value to the windows' ends, or cuts them there.
func (e *evaluation) padTo(x ops.Value, all []window, value float64) ops.Value {
	for i, w := range all {
		axis := int64(i + 2)
		pads := make([]int64, 2*len(x.Type.Shape))
		need := (w.outputs-1)*w.stride + (w.size-1)*w.dilation + 1
		pads[axis], pads[int(axis)+len(x.Type.Shape)] = w.begin, max(0, need-w.begin-x.Type.Shape[axis])
		x = e.un("pad", x, ops.IntsAttr("pads", pads...), ops.RealAttr("value", value))
		x = e.slice(x, axis, 0, need, 1)
	}
	return x
}

// pooled folds what the windows see.
func (e *evaluation) pooled(x ops.Value, all []window, fold string) ops.Value {
	for i, w := range all {
		axis := int64(i + 2)
		var y ops.Value
		for k := range w.size {
			part := e.slice(x, axis, k*w.dilation, k*w.dilation+(w.outputs-1)*w.stride+1, w.stride)
			if k == 0 {
				y = part
			} else {
				y = e.bin(fold, y, part)
			}
		}
		x = y
	}
	return x
}

func maxPool(e *evaluation) []ops.Value {
	if len(e.out) > 1 && !e.out[1].absent() {
		e.leave("where the maxima are")
	}
	all := windows(e)
	return one(e.pooled(e.padTo(e.asFloat(0), all, -math.MaxFloat32), all, "maximum"))
}

func averagePool(e *evaluation) []ops.Value {
	all := windows(e)
	counted := filled(e.x(0).Type.Shape, func(int64) float64 { return 1 })
	if e.int("count_include_pad", 0) == 1 {
		pads := make([]int64, 2*len(counted.Type.Shape))
		for i, w := range all {
			pads[i+2], pads[i+2+len(counted.Type.Shape)] = w.begin, w.end
		}
		counted = e.un("pad", counted, ops.IntsAttr("pads", pads...), ops.RealAttr("value", 1))
		inside := append([]window{}, all...)
		for i := range inside {
			inside[i].begin = 0
		}
		counted = e.padTo(counted, inside, 0)
	} else {
		counted = e.padTo(counted, all, 0)
	}
	return one(e.bin("div", e.pooled(e.padTo(e.x(0), all, 0), all, "add"), e.pooled(counted, all, "add")))
}

// rotary turns pairs by sines and cosines that are given.
func rotary(e *evaluation) []ops.Value {
	x := e.x(0)
	flat := len(x.Type.Shape) == 3
	if flat { // heads first
		s, heads := x.Type.Shape, e.int("num_heads", 0)
		x = e.transpose(e.reshape(x, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
	}
	s := x.Type.Shape
	turned := e.int("rotary_embedding_dim", 0)
	if turned == 0 {
		turned = s[3]
	}
	table := func(i int) ops.Value {
		t := e.x(i)
		half := t.Type.Shape.Dim(-1)
		if e.has(3) {
			t = e.rows(t, half, e.asFloat(3))
		}
		t = e.un("expand", e.reshape(t, s[0], 1, s[2], half), ops.IntsAttr("shape", s[0], s[1], s[2], half))
		return e.slice(e.reshape(t, -1, half), 1, 0, turned/2, 1)
	}
	cos, sin := table(1), table(2)
	rows := e.reshape(x, -1, s[3])
	n := rows.Type.Shape[0]
	a, b := e.slice(rows, 1, 0, turned/2, 1), e.slice(rows, 1, turned/2, turned, 1)
	interleaved := e.int("interleaved", 0) == 1
	if interleaved {
		a, b = e.slice(rows, 1, 0, turned, 2), e.slice(rows, 1, 1, turned, 2)
	}
	first := e.bin("sub", e.bin("mul", cos, a), e.bin("mul", sin, b))
	second := e.bin("add", e.bin("mul", sin, a), e.bin("mul", cos, b))
	along := func(axis int64, parts ...ops.Value) ops.Value {
		return e.all("concat", parts, ops.IntAttr("axis", axis))[0]
	}
	var y ops.Value
	if interleaved {
		y = e.reshape(along(2, e.reshape(first, n, turned/2, 1), e.reshape(second, n, turned/2, 1)), n, turned)
	} else {
		y = along(1, first, second)
	}
	if turned < s[3] {
		y = along(1, y, e.slice(rows, 1, turned, s[3], 1))
	}
	y = e.reshape(y, s...)
	if flat {
		y = e.transpose(y, 0, 2, 1, 3)
	}
	return one(e.reshape(y, e.out[0].Type.Shape...))
}
