package ops_test

import (
	"math"
	"slices"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// onnxOps says for each of ONNX's operators which ones of the table compute it.
var onnxOps = map[string]func(e *evaluation) []ops.Value{
	"Add": pairs("add"),
	"Sub": pairs("sub"),
	"Mul": pairs("mul"),
	"Div": func(e *evaluation) []ops.Value {
		y := e.bin("div", e.asFloat(0), e.asFloat(1))
		if e.in[0].F == nil {
			y = e.truncated(y)
		}
		return one(y)
	},
	"Max":  folded("maximum"),
	"Min":  folded("minimum"),
	"Sum":  folded("add"),
	"Mean": mean,

	"Cos": plain("cos"), "Sin": plain("sin"), "Exp": plain("exp"), "Neg": plain("neg"), "Relu": plain("relu"),
	"Sigmoid": plain("sigmoid"), "Sqrt": plain("sqrt"), "Tanh": plain("tanh"), "Softplus": plain("softplus"),
	"Elu": func(e *evaluation) []ops.Value {
		return one(e.un("elu", e.x(0), ops.RealAttr("alpha", e.float("alpha", 1))))
	},
	"LeakyRelu": func(e *evaluation) []ops.Value {
		return one(e.un("leaky_relu", e.x(0), ops.RealAttr("negative_slope", e.float("alpha", 0.01))))
	},
	"Gelu": func(e *evaluation) []ops.Value {
		return one(e.un("gelu", e.x(0), ops.TextAttr("approximate", e.text("approximate", "none"))))
	},
	"Swish": func(e *evaluation) []ops.Value {
		return one(e.swish(e.x(0)))
	},
	"Clip": clip,
	"Selu": func(e *evaluation) []ops.Value {
		elu := e.un("elu", e.x(0), ops.RealAttr("alpha", e.float("alpha", 1.67326319217681884765625)))
		return one(e.un("scale", elu, ops.RealAttr("scale", e.float("gamma", 1.05070102214813232421875))))
	},
	"HardSigmoid": func(e *evaluation) []ops.Value {
		y := e.un("scale", e.x(0), ops.RealAttr("scale", e.float("alpha", 0.2)), ops.RealAttr("bias", e.float("beta", 0.5)))
		return one(e.un("clamp", y, ops.RealAttr("min", 0), ops.RealAttr("max", 1)))
	},
	"HardSwish": func(e *evaluation) []ops.Value {
		y := e.un("scale", e.x(0), ops.RealAttr("scale", 1.0/6), ops.RealAttr("bias", 0.5))
		return one(e.bin("mul", e.x(0), e.un("clamp", y, ops.RealAttr("min", 0), ops.RealAttr("max", 1))))
	},
	"Mish": func(e *evaluation) []ops.Value {
		return one(e.bin("mul", e.x(0), e.un("tanh", e.un("softplus", e.x(0)))))
	},
	"Reciprocal": func(e *evaluation) []ops.Value {
		return one(e.bin("div", e.un("scale", e.x(0), ops.RealAttr("scale", 0), ops.RealAttr("bias", 1)), e.x(0)))
	},
	"SwiGLU": func(e *evaluation) []ops.Value {
		if e.float("alpha", 1) != 1 {
			return one(e.bin("mul", e.swish(e.x(0)), e.x(1)))
		}
		return one(e.bin("swiglu", e.x(0), e.x(1)))
	},
	"Where": func(e *evaluation) []ops.Value {
		return one(e.all("where", []ops.Value{e.in[0].Value, e.x(1), e.x(2)})[0])
	},

	"MatMul": matmul,
	"Gemm":   gemm,

	"Softmax":    alongAxis("softmax"),
	"LogSoftmax": alongAxis("log_softmax"),
	"LayerNormalization": func(e *evaluation) []ops.Value {
		return rowNorm(e, "layer_norm")
	},
	"RMSNormalization": func(e *evaluation) []ops.Value { return rowNorm(e, "rms_norm") },
	"InstanceNormalization": func(e *evaluation) []ops.Value {
		return one(e.all("group_norm", []ops.Value{e.x(0), e.x(1), e.x(2)},
			ops.IntAttr("groups", e.x(0).Type.Shape[1]), ops.RealAttr("eps", e.float("epsilon", 1e-5)))[0])
	},
	"LpNormalization": func(e *evaluation) []ops.Value {
		axis := ops.IntAttr("axis", e.int("axis", -1))
		if e.int("p", 2) != 2 {
			e.leave("p is not 2")
		}
		norm := e.un("sqrt", e.un("reduce_sum", e.un("square", e.x(0)), axis))
		// What is 0 stays 0.
		least := filled(tensor.Shape{1}, func(int64) float64 { return 1e-30 })
		return one(e.bin("div", e.x(0), e.bin("maximum", norm, least)))
	},
	"BatchNormalization": batchNorm,

	"ReduceSum":  func(e *evaluation) []ops.Value { return one(reduced(e, "reduce_sum", e.x(0))) },
	"ReduceMean": func(e *evaluation) []ops.Value { return one(reduced(e, "reduce_mean", e.x(0))) },
	"ReduceMax":  func(e *evaluation) []ops.Value { return one(reduced(e, "reduce_max", e.asFloat(0))) },
	"ReduceMin": func(e *evaluation) []ops.Value {
		return one(e.un("neg", reduced(e, "reduce_max", e.un("neg", e.x(0)))))
	},
	"ReduceSumSquare": func(e *evaluation) []ops.Value { return one(reduced(e, "reduce_sum", e.un("square", e.x(0)))) },
	"ReduceL2": func(e *evaluation) []ops.Value {
		return one(e.un("sqrt", reduced(e, "reduce_sum", e.un("square", e.x(0)))))
	},
	"CumSum": cumsum,
	"ArgMax": argmax,
	"TopK": func(e *evaluation) []ops.Value {
		if axis := e.int("axis", -1); axis != -1 && axis != int64(len(e.in[0].Type.Shape)-1) {
			e.leave("not the last axis")
		}
		if e.int("largest", 1) != 1 {
			e.leave("the smallest elements")
		}
		return e.all("top_k", []ops.Value{e.asFloat(0)}, ops.IntAttr("k", e.in[1].I[0]))
	},
	"Range": func(e *evaluation) []ops.Value {
		start, limit, delta := number(e.in[0].Value, 0), number(e.in[1].Value, 0), number(e.in[2].Value, 0)
		return one(e.all("arange", nil, ops.IntAttr("count", int64(math.Ceil((limit-start)/delta))),
			ops.RealAttr("start", start), ops.RealAttr("step", delta))[0])
	},
	"Gather":        gather,
	"TensorScatter": tensorScatter,

	"Identity": func(e *evaluation) []ops.Value { return one(e.reshape(e.in[0].Value, e.in[0].Type.Shape...)) },
	"Transpose": func(e *evaluation) []ops.Value {
		var reversed []int64 // where no order is given
		for i := range slices.Backward(e.in[0].Type.Shape) {
			reversed = append(reversed, int64(i))
		}
		return one(e.transpose(e.in[0].Value, e.ints("perm", reversed...)...))
	},
	"Reshape": reshaped,
	// Their results' shapes are what the axes say; the elements stay.
	"Squeeze":   func(e *evaluation) []ops.Value { return one(e.reshape(e.in[0].Value, e.out[0].Type.Shape...)) },
	"Unsqueeze": func(e *evaluation) []ops.Value { return one(e.reshape(e.in[0].Value, e.out[0].Type.Shape...)) },
	"Concat": func(e *evaluation) []ops.Value {
		in := make([]ops.Value, len(e.in))
		for i := range in {
			in[i] = e.in[i].Value
		}
		return e.all("concat", in, ops.IntAttr("axis", e.int("axis", 0)))
	},
	"Slice": sliced,
	"Split": split,
	"Pad":   padded,
	"DepthToSpace": func(e *evaluation) []ops.Value {
		return one(e.un("depth_to_space", e.x(0), ops.IntAttr("block", e.int("blocksize", 0)), ops.TextAttr("mode", e.text("mode", "DCR"))))
	},
	"Resize": resize,

	"Conv":          conv,
	"ConvTranspose": convTranspose,
	"LSTM":          lstm,
	"Attention":     attention,
}

func one(v ops.Value) []ops.Value { return []ops.Value{v} }

func plain(name string) func(e *evaluation) []ops.Value {
	return func(e *evaluation) []ops.Value { return one(e.un(name, e.x(0))) }
}

func pairs(name string) func(e *evaluation) []ops.Value {
	return func(e *evaluation) []ops.Value { return one(e.bin(name, e.asFloat(0), e.asFloat(1))) }
}

// swish is x sigmoid(alpha x).
func (e *evaluation) swish(x ops.Value) ops.Value {
	if alpha := e.float("alpha", 1); alpha != 1 {
		return e.bin("mul", x, e.un("sigmoid", e.affine(x, alpha, 0)))
	}
	return e.un("silu", x)
}

func folded(name string) func(e *evaluation) []ops.Value {
	return func(e *evaluation) []ops.Value {
		y := e.asFloat(0)
		for i := 1; i < len(e.in); i++ {
			y = e.bin(name, y, e.asFloat(i))
		}
		return one(y)
	}
}

func mean(e *evaluation) []ops.Value {
	return one(e.un("scale", folded("add")(e)[0], ops.RealAttr("scale", 1/float64(len(e.in)))))
}

func clip(e *evaluation) []ops.Value {
	lo, hi := math.Inf(-1), math.Inf(1)
	if e.has(1) {
		lo = number(e.in[1].Value, 0)
	}
	if e.has(2) {
		hi = number(e.in[2].Value, 0)
	}
	if lo > hi { // which clamp refuses; it is max then
		bound := func(v float64) ops.Value { return filled(tensor.Shape{1}, func(int64) float64 { return v }) }
		return one(e.bin("minimum", e.bin("maximum", e.asFloat(0), bound(lo)), bound(hi)))
	}
	return one(e.un("clamp", e.asFloat(0), ops.RealAttr("min", lo), ops.RealAttr("max", hi)))
}

// matmul makes vectors of one axis matrices of one row or column.
func matmul(e *evaluation) []ops.Value {
	a, b := e.x(0), e.x(1)
	if len(a.Type.Shape) == 1 {
		a = e.reshape(a, 1, -1)
	}
	if len(b.Type.Shape) == 1 {
		b = e.reshape(b, -1, 1)
	}
	return one(e.reshape(e.bin("matmul", a, b), e.out[0].Type.Shape...))
}

func gemm(e *evaluation) []ops.Value {
	a, b := e.x(0), e.x(1)
	if e.int("transA", 0) == 1 {
		a = e.transpose(a, 1, 0)
	}
	var y ops.Value
	if e.int("transB", 0) == 1 {
		y = e.bin("linear", a, b)
	} else {
		y = e.bin("matmul", a, b)
	}
	y = e.un("scale", y, ops.RealAttr("scale", e.float("alpha", 1)))
	if e.has(2) {
		y = e.bin("add", y, e.un("scale", e.x(2), ops.RealAttr("scale", e.float("beta", 1))))
	}
	return one(y)
}

func alongAxis(name string) func(e *evaluation) []ops.Value {
	return func(e *evaluation) []ops.Value {
		return one(e.un(name, e.x(0), ops.IntAttr("axis", e.int("axis", -1))))
	}
}

// rowNorm normalises over all axes from one on: as rows.
func rowNorm(e *evaluation, name string) []ops.Value {
	shape, axis := e.x(0).Type.Shape, e.int("axis", -1)
	if axis < 0 {
		axis += int64(len(shape))
	}
	n := shape[axis:].Elements()
	in := []ops.Value{e.reshape(e.x(0), -1, n)}
	for i := 1; i < len(e.in); i++ {
		in = append(in, e.reshape(e.x(i), n))
	}
	y := e.all(name, in, ops.RealAttr("eps", e.float("epsilon", 1e-5)))[0]
	return one(e.reshape(y, shape...))
}

func batchNorm(e *evaluation) []ops.Value {
	if e.int("training_mode", 0) == 1 {
		e.leave("training")
	}
	perChannel := make([]int64, len(e.x(0).Type.Shape)-1)
	for i := range perChannel {
		perChannel[i] = 1
	}
	perChannel[0] = e.x(0).Type.Shape[1]
	p := func(i int) ops.Value { return e.reshape(e.x(i), perChannel...) }
	deviation := e.un("sqrt", e.un("scale", p(4), ops.RealAttr("bias", e.float("epsilon", 1e-5))))
	y := e.bin("div", e.bin("sub", e.x(0), p(3)), deviation)
	return one(e.bin("add", e.bin("mul", y, p(1)), p(2)))
}

// reduced folds several axes, one after the other.
func reduced(e *evaluation, name string, x ops.Value) ops.Value {
	var axes []int64
	if e.has(1) {
		axes = e.in[1].I
	}
	if len(axes) == 0 {
		if e.int("noop_with_empty_axes", 0) == 1 {
			return x
		}
		for i := range x.Type.Shape {
			axes = append(axes, int64(i))
		}
	}
	y := x
	for _, axis := range axes {
		y = e.un(name, y, ops.IntAttr("axis", axis))
	}
	if e.int("keepdims", 1) == 0 && len(axes) == 1 {
		y = e.un(name, x, ops.IntAttr("axis", axes[0]), ops.IntAttr("keepdims", 0))
	}
	return y
}

func cumsum(e *evaluation) []ops.Value {
	x, axis := e.x(0), e.in[1].I[0]
	reversed := func(x ops.Value) ops.Value {
		if e.int("reverse", 0) == 1 {
			return e.slice(x, axis, -1, math.MinInt64, -1)
		}
		return x
	}
	y := reversed(e.un("cumsum", reversed(x), ops.IntAttr("axis", axis)))
	if e.int("exclusive", 0) == 1 {
		y = e.bin("sub", y, x)
	}
	return one(y)
}

func argmax(e *evaluation) []ops.Value {
	x, axis := e.x(0), e.int("axis", 0)
	var y ops.Value
	if e.int("select_last_index", 0) == 1 { // the first from behind
		y = e.un("argmax", e.slice(x, axis, -1, math.MinInt64, -1), ops.IntAttr("axis", axis))
		y = e.affine(e.un("cast", y, ops.TextAttr("dtype", "f32")), -1, float64(x.Type.Shape.Dim(int(axis))-1))
	} else {
		y = e.un("argmax", x, ops.IntAttr("axis", axis))
	}
	if e.int("keepdims", 1) == 1 {
		y = e.reshape(y, e.out[0].Type.Shape...)
	}
	return one(y)
}

// gather brings the axis to the front, where embedding looks rows up.
func gather(e *evaluation) []ops.Value {
	x, axis := e.x(0), int(e.int("axis", 0))
	if axis < 0 {
		axis += len(x.Type.Shape)
	}
	ids := ops.NewValue(e.in[1].Type)
	for i, id := range e.in[1].I {
		if id < 0 {
			id += x.Type.Shape[axis]
		}
		ids.I[i] = id
	}
	axes, rest := []int64{int64(axis)}, []int64{}
	for i, d := range x.Type.Shape {
		if i != axis {
			axes, rest = append(axes, int64(i)), append(rest, d)
		}
	}
	rows := e.reshape(e.transpose(x, axes...), x.Type.Shape[axis], -1)
	n := ids.Type.Shape.Elements()
	y := e.bin("embedding", rows, e.reshape(ids, n))
	y = e.reshape(y, append([]int64{n}, rest...)...)
	back := make([]int64, 0, len(axes))
	for i := range rest {
		if i == axis {
			back = append(back, 0)
		}
		back = append(back, int64(i+1))
	}
	if axis == len(rest) {
		back = append(back, 0)
	}
	return one(e.reshape(e.transpose(y, back...), e.out[0].Type.Shape...))
}

// tensorScatter writes each batch's (and head's) rows into its own state.
func tensorScatter(e *evaluation) []ops.Value {
	past, update := e.x(0), e.x(1)
	s, u := past.Type.Shape, update.Type.Shape
	rows, width, n := s.Dim(-2), s.Dim(-1), u.Dim(-2)
	blocks := s.Elements() / (rows * width)
	states, updates := e.reshape(past, blocks, rows, width), e.reshape(update, blocks, n, width)
	written := make([]ops.Value, blocks)
	for b := range blocks {
		at := ops.NewValue(tensor.Type{DType: tensor.I64, Shape: tensor.Shape{n}})
		for i := range at.I {
			if e.has(2) {
				at.I[i] = e.in[2].I[b/(blocks/s[0])]
			}
			at.I[i] += int64(i)
			if e.text("mode", "linear") == "circular" {
				at.I[i] %= rows
			}
		}
		written[b] = e.all("state_write", []ops.Value{e.row(states, b), e.row(updates, b), at})[0]
	}
	return one(e.reshape(e.stack(written), s...))
}

func reshaped(e *evaluation) []ops.Value {
	shape := append([]int64{}, e.in[1].I...)
	for i := range shape {
		if shape[i] == 0 && e.int("allowzero", 0) == 0 {
			shape[i] = e.in[0].Type.Shape[i]
		}
	}
	return one(e.reshape(e.in[0].Value, shape...))
}

func sliced(e *evaluation) []ops.Value {
	y := e.in[0].Value
	for i, start := range e.in[1].I {
		axis, step := int64(i), int64(1)
		if e.has(3) {
			axis = e.in[3].I[i]
		}
		if e.has(4) {
			step = e.in[4].I[i]
		}
		y = e.slice(y, axis, start, e.in[2].I[i], step)
	}
	return one(y)
}

func split(e *evaluation) []ops.Value {
	var out []ops.Value
	axis, at := e.int("axis", 0), int64(0)
	for _, part := range e.out {
		n := part.Type.Shape.Dim(int(axis))
		if n == 0 {
			e.leave("a dimension of 0")
		}
		out = append(out, e.slice(e.in[0].Value, axis, at, at+n, 1))
		at += n
	}
	return out
}

func padded(e *evaluation) []ops.Value {
	mode := e.text("mode", "constant")
	if mode != "constant" && mode != "reflect" {
		e.leave("mode %q", mode)
	}
	x := e.asFloat(0)
	rank := int64(len(x.Type.Shape))
	pads := e.in[1].I
	if e.has(3) {
		all := make([]int64, 2*rank)
		for i, axis := range e.in[3].I {
			axis = (axis + rank) % rank
			all[axis], all[rank+axis] = pads[i], pads[len(e.in[3].I)+i]
		}
		pads = all
	}
	value := 0.0
	if e.has(2) {
		value = number(e.in[2].Value, 0)
	}
	return one(e.un("pad", x, ops.IntsAttr("pads", pads...), ops.TextAttr("mode", mode), ops.RealAttr("value", value)))
}

// resize knows whole factors with the nearest element.
func resize(e *evaluation) []ops.Value {
	if e.text("mode", "nearest") != "nearest" {
		e.leave("mode %q", e.text("mode", ""))
	}
	if how := e.text("coordinate_transformation_mode", "half_pixel") + " " + e.text("nearest_mode", "round_prefer_floor"); how != "half_pixel round_prefer_floor" && how != "asymmetric floor" {
		e.leave("coordinates are %s", how)
	}
	from, to := e.x(0).Type.Shape, e.out[0].Type.Shape
	if to[2]%from[2] != 0 || to[3]%from[3] != 0 {
		e.leave("the factor is not whole")
	}
	return one(e.un("upsample", e.x(0), ops.IntsAttr("scale", to[2]/from[2], to[3]/from[3])))
}

func conv(e *evaluation) []ops.Value {
	x, w := e.x(0).Type.Shape, e.x(1).Type.Shape
	if len(x) != 4 {
		e.leave("not an image")
	}
	stride, dilation := e.ints("strides", 1, 1), e.ints("dilations", 1, 1)
	padding := e.ints("pads", 0, 0, 0, 0)
	if e.text("auto_pad", "NOTSET") == "SAME_LOWER" {
		padding = make([]int64, 4)
		for i := range 2 {
			outputs := (x[2+i] + stride[i] - 1) / stride[i]
			total := max(0, (outputs-1)*stride[i]+(w[2+i]-1)*dilation[i]+1-x[2+i])
			padding[i], padding[2+i] = total-total/2, total/2
		}
	}
	in := []ops.Value{e.x(0), e.x(1)}
	if e.has(2) {
		in = append(in, e.x(2))
	}
	return e.all("conv2d", in, ops.IntsAttr("stride", stride...), ops.IntsAttr("padding", padding...),
		ops.IntsAttr("dilation", dilation...), ops.IntAttr("groups", e.int("group", 1)))
}

func convTranspose(e *evaluation) []ops.Value {
	if len(e.x(0).Type.Shape) != 3 {
		e.leave("more than one spatial axis")
	}
	return one(e.bin("conv_transpose1d", e.x(0), e.x(1), ops.IntAttr("stride", e.ints("strides", 1)[0]),
		ops.IntsAttr("padding", e.ints("pads", 0, 0)...), ops.IntAttr("output_padding", e.ints("output_padding", 0)[0]),
		ops.IntAttr("dilation", e.ints("dilations", 1)[0]), ops.IntAttr("groups", e.int("group", 1))))
}

// lstm runs a sequence step by step. ONNX has the gates in the order i, o, f, g.
func lstm(e *evaluation) []ops.Value {
	if e.has(7) {
		e.leave("peepholes")
	}
	x, hidden := e.x(0), e.int("hidden_size", 0)
	if e.int("layout", 0) == 1 {
		x = e.transpose(x, 1, 0, 2)
	}
	steps, batch := x.Type.Shape[0], x.Type.Shape[1]
	gates := func(w ops.Value) ops.Value {
		part := func(k int64) ops.Value { return e.slice(w, 0, k*hidden, (k+1)*hidden, 1) }
		return e.all("concat", []ops.Value{part(0), part(2), part(3), part(1)}, ops.IntAttr("axis", 0))[0]
	}
	in := make([]ops.Value, 5, 7)
	in[1] = ops.NewValue(tensor.Type{DType: tensor.F32, Shape: tensor.Shape{batch, hidden}})
	in[2] = ops.NewValue(in[1].Type)
	in[3], in[4] = gates(e.row(e.x(1), 0)), gates(e.row(e.x(2), 0))
	if e.has(3) {
		bias := e.row(e.x(3), 0)
		in = append(in, gates(e.slice(bias, 0, 0, 4*hidden, 1)), gates(e.slice(bias, 0, 4*hidden, 8*hidden, 1)))
	}
	for i := 5; i <= 6; i++ {
		if e.has(i) {
			in[i-4] = e.row(e.x(i), 0)
		}
	}
	var ys []ops.Value
	for step := range steps {
		in[0] = e.row(x, step)
		out := e.all("lstm_cell", in)
		in[1], in[2] = out[0], out[1]
		ys = append(ys, e.reshape(out[0], 1, batch, hidden))
	}
	y, h, c := e.stack(ys), e.reshape(in[1], 1, batch, hidden), e.reshape(in[2], 1, batch, hidden)
	if e.int("layout", 0) == 1 {
		y, h, c = e.transpose(y, 2, 0, 1, 3), e.transpose(h, 1, 0, 2), e.transpose(c, 1, 0, 2)
	}
	return []ops.Value{y, h, c}
}

// attention runs batch by batch, and head by head where heads have their own mask.
func attention(e *evaluation) []ops.Value {
	if e.float("softcap", 0) != 0 {
		e.leave("softcap")
	}
	// heads first: [batch, heads, sequence, d]
	headed := func(x ops.Value, attr string) ops.Value {
		s := x.Type.Shape
		if len(s) == 4 {
			return x
		}
		heads := e.int(attr, 0)
		return e.transpose(e.reshape(x, s[0], s[1], heads, s[2]/heads), 0, 2, 1, 3)
	}
	q, k, v := headed(e.x(0), "q_num_heads"), headed(e.x(1), "kv_num_heads"), headed(e.x(2), "kv_num_heads")
	past := int64(0)
	if e.has(4) {
		past = e.x(4).Type.Shape[2]
		k = e.all("concat", []ops.Value{e.x(4), k}, ops.IntAttr("axis", 2))[0]
		v = e.all("concat", []ops.Value{e.x(5), v}, ops.IntAttr("axis", 2))[0]
	}
	batch, heads, t, n := q.Type.Shape[0], q.Type.Shape[1], q.Type.Shape[2], k.Type.Shape[2]
	group := heads / k.Type.Shape[1]

	var results []ops.Value
	for b := range batch {
		keys := n
		if e.has(6) {
			keys = e.in[6].I[b] // the rest is padding
			past = keys - t
		}
		var perHead []ops.Value
		for h := range heads {
			sequence := func(x ops.Value, head, keep int64) ops.Value {
				s := e.slice(e.row(e.row(x, b), head), 0, 0, keep, 1)
				return e.reshape(s, keep, 1, s.Type.Shape[1])
			}
			in := []ops.Value{sequence(q, h, t), sequence(k, h/group, keys), sequence(v, h/group, keys), {}, {}}
			if e.has(3) {
				in[3] = attentionMask(e, b, h, batch, heads, t, keys)
			}
			if e.int("is_causal", 0) == 1 {
				in[4] = ops.NewValue(tensor.Type{DType: tensor.I32, Shape: tensor.Shape{t}})
				for j := range in[4].I {
					in[4].I[j] = past + int64(j)
					if in[4].I[j] < 0 || in[4].I[j] >= keys {
						e.leave("queries beyond the keys")
					}
				}
			}
			y := e.all("attention", in, ops.RealAttr("scale", e.float("scale", 0)))[0]
			for _, f := range y.F {
				if math.IsNaN(f) {
					e.leave("a query that sees no key")
				}
			}
			perHead = append(perHead, e.reshape(y, t, y.Type.Shape[2]))
		}
		results = append(results, e.stack(perHead))
	}
	y := e.stack(results)
	if len(e.in[0].Type.Shape) == 3 {
		y = e.reshape(e.transpose(y, 0, 2, 1, 3), batch, t, heads*y.Type.Shape[3])
	}
	if e.has(4) {
		return []ops.Value{y, k, v}
	}
	return one(y)
}

// attentionMask is the mask of one head, [t, keys], as numbers that are added.
func attentionMask(e *evaluation, b, h, batch, heads, t, keys int64) ops.Value {
	mask := e.in[3].Value
	if e.in[3].kind == onnxBool {
		mask = ops.NewValue(e.in[3].Type)
		for i, visible := range e.in[3].F {
			if visible == 0 {
				mask.F[i] = math.Inf(-1)
			}
		}
	}
	n := mask.Type.Shape.Dim(-1)
	mask = e.un("expand", mask, ops.IntsAttr("shape", batch, heads, t, n))
	mask = e.row(e.row(mask, b), h)
	if n < keys {
		e.leave("a mask shorter than the keys")
	}
	return e.slice(mask, 1, 0, keys, 1)
}
