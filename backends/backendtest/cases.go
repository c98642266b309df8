package backendtest

import (
	"math"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// To try a new operator on every backend, add its cases here. TestEveryOperatorHasCases
// fails until then.

const (
	f32  = tensor.F32
	f16  = tensor.F16
	bf16 = tensor.BF16
	i32  = tensor.I32
	i64  = tensor.I64
)

var (
	integer = ops.IntAttr
	number  = ops.RealAttr
	text    = ops.TextAttr
	ints    = ops.IntsAttr
)

// shapes are those that unary operators are tried with: every rank, and lengths
// around the widths of vector units and of quantised blocks.
var shapes = []tensor.Shape{{}, {1}, {31}, {32}, {33}, {255}, {256}, {257}, {3, 33}, {2, 3, 257}, {2, 1, 3, 5}, {2, 3, 4, 65}}

// floats are the dtypes of weights tried everywhere.
var floats = []tensor.DType{f32, f16, bf16}

// Cases gives the cases of every operator, by name.
func Cases() map[string][]Case {
	cases := map[string][]Case{
		"gelu":       append(unary(x(), text("approximate", "none")), unary(x(), text("approximate", "tanh"))...),
		"leaky_relu": append(unary(x()), unary(x(), number("negative_slope", 0.3))...),
		"elu":        append(unary(x()), unary(x(), number("alpha", 0.7))...),
		"clamp":      append(unary(x(), number("min", -0.5), number("max", 0.25)), unary(x(), number("min", 0), number("max", math.MaxFloat32))...),
		"scale":      append(unary(x(), number("scale", -2.5)), unary(x(), number("scale", 0.5), number("bias", 3))...),

		"where": {
			{In: []Operand{x(33).of(0, 1, -2), x(33), x(33)}},
			{In: []Operand{x(3, 1).of(0, 1), x(1, 33), x()}},
			{In: []Operand{x(2, 1, 4, 1).of(1, 0, 0.5), x(3, 1, 5), x(5)}},
			{In: []Operand{x(257).of(0, 0.25), x(257), x(1).of(math.Inf(-1))}},
		},
		"expand": {
			{In: []Operand{x(1)}, Attrs: a(ints("shape", 33))},
			{In: []Operand{x()}, Attrs: a(ints("shape", 2, 3))},
			{In: []Operand{x(3, 1)}, Attrs: a(ints("shape", 3, 257))},
			{In: []Operand{x(31)}, Attrs: a(ints("shape", 2, 4, 31))},
			{In: []Operand{x(2, 1, 3, 1)}, Attrs: a(ints("shape", 2, 5, 3, 7))},
		},
		"linear":      linear(),
		"matmul":      matmul(),
		"rms_norm":    rowNorm(1),
		"layer_norm":  rowNorm(2),
		"group_norm":  groupNorm(),
		"softmax":     append(alongAxis(), Case{In: []Operand{x(64, 33).uniform(999.99, 1000.01)}}),
		"log_softmax": append(alongAxis(), Case{In: []Operand{x(64, 33).uniform(999.99, 1000.01)}}),
		"cumsum": append(alongAxis(),
			Case{In: []Operand{x(3).of(1, 2, math.Inf(1))}},
			Case{In: []Operand{x(120000).of(1)}},
			Case{In: []Operand{x(40000, 3).of(1, -1, 0.5)}, Attrs: a(integer("axis", 0))},
			Case{In: []Operand{x(4096).of(1e4, 1, -1e4, 1)}, CPU: true}),
		"rope":      rope(),
		"attention": attention(),
		"swiglu": {
			{In: []Operand{x(33), x(33)}}, {In: []Operand{x(1, 257), x(1, 257)}}, {In: []Operand{x(2, 3, 4, 5), x(2, 3, 4, 5)}},
		},
		"glu": {
			{In: []Operand{x(2)}},
			{In: []Operand{x(3, 66)}},
			{In: []Operand{x(2, 4, 33)}, Attrs: a(integer("axis", 1))},
			{In: []Operand{x(2, 6, 3, 5)}, Attrs: a(integer("axis", -3))},
		},
		"embedding": embedding(),
		"argmax": {
			{In: []Operand{x(1)}},
			{In: []Operand{x(257)}},
			{In: []Operand{x(3, 33)}},
			{In: []Operand{x(2, 3, 4, 31)}},
			{In: []Operand{x(5, 33)}, Attrs: a(integer("axis", 0))},
			{In: []Operand{x(2, 5, 3)}, Attrs: a(integer("axis", -2))},
			{In: []Operand{x(3, 32).of(1, 7, 7, -1)}}, // the first of equals
		},
		"top_k": {
			{In: []Operand{x(1)}, Attrs: a(integer("k", 1))},
			{In: []Operand{x(257)}, Attrs: a(integer("k", 5))},
			{In: []Operand{x(3, 33)}, Attrs: a(integer("k", 33))},
			{In: []Operand{x(2, 3, 31)}, Attrs: a(integer("k", 2))},
			{In: []Operand{x(5).of(1, math.NaN(), 7, 4, 1)}, Attrs: a(integer("k", 2))},
			{In: []Operand{x(2, 33).of(math.Inf(1), math.NaN(), 7, 7, math.NaN(), math.Inf(-1))}, Attrs: a(integer("k", 33))},
		},
		"arange": {
			{Attrs: a(integer("count", 1))},
			{Attrs: a(integer("count", 257))},
			{Attrs: a(integer("count", 33), number("start", 5), number("step", -1))},
			{Attrs: a(integer("count", 32), number("start", -2.5), number("step", 0.25))},
		},
		"reshape":          reshape(),
		"transpose":        transpose(),
		"slice":            sliced(),
		"concat":           concat(),
		"pad":              pad(),
		"cast":             casts(),
		"conv1d":           conv1d(),
		"conv2d":           conv2d(),
		"conv_transpose1d": convTranspose1d(),
		"depth_to_space": {
			{In: []Operand{x(1, 4, 1, 1)}, Attrs: a(integer("block", 2))},
			{In: []Operand{x(2, 18, 3, 5)}, Attrs: a(integer("block", 3))},
			{In: []Operand{x(2, 12, 5, 33)}, Attrs: a(integer("block", 2), text("mode", "DCR"))},
			{In: []Operand{x(1, 3, 4, 5)}, Attrs: a(integer("block", 1))},
		},
		"upsample":    upsample(),
		"lstm_cell":   lstmCell(),
		"snake":       snake(),
		"state_write": stateWrite(),
	}
	for _, op := range []string{"relu", "sigmoid", "tanh", "silu", "exp", "abs", "neg", "square", "sin", "cos", "step"} {
		cases[op] = unary(x())
	}
	cases["softplus"] = append(unary(x()), Case{In: []Operand{x(33).uniform(-100, 100)}})
	for _, op := range []string{"log", "sqrt"} {
		cases[op] = unary(x().uniform(0.1, 9))
	}
	for _, op := range []string{"add", "sub", "mul", "maximum", "minimum"} {
		cases[op] = binary(x())
	}
	cases["div"] = binary(x().uniform(0.5, 4))
	for _, op := range []string{"reduce_sum", "reduce_mean", "reduce_max"} {
		cases[op] = append(reduced(), Case{In: []Operand{x(3, 4096).of(1e4, 1, -1e4, 1)}, CPU: true})
	}
	return cases
}

// a makes a case's attributes.
func a(attrs ...ops.AttrArg) []ops.AttrArg { return attrs }

// shaped gives an operand another shape.
func (o Operand) shaped(shape ...int64) Operand {
	o.Type.Shape = shape
	return o
}

func unary(o Operand, attrs ...ops.AttrArg) []Case {
	var cases []Case
	for _, s := range shapes {
		cases = append(cases, Case{In: []Operand{o.shaped(s...)}, Attrs: attrs})
	}
	return cases
}

// binary tries two operands of one shape, and every way in which shapes stretch.
func binary(second Operand) []Case {
	var cases []Case
	for _, s := range shapes {
		cases = append(cases, Case{In: []Operand{x(s...), second.shaped(s...)}})
	}
	for _, s := range [][2]tensor.Shape{
		{{33}, {1}},
		{{1}, {33}},
		{{3, 33}, {33}},
		{{33}, {3, 33}},
		{{3, 33}, {3, 1}},
		{{3, 1}, {1, 33}},
		{{2, 3, 4, 5}, {}},
		{{}, {2, 3, 4, 5}},
		{{2, 3, 4, 5}, {3, 1, 1}},
		{{3, 1, 1}, {2, 3, 4, 5}},
		{{2, 1, 4, 1}, {3, 1, 257}},
	} {
		cases = append(cases, Case{In: []Operand{x(s[0]...), second.shaped(s[1]...)}})
	}
	return cases
}

func alongAxis() []Case {
	cases := unary(x())[1:] // a scalar has no axis
	for _, axis := range []int64{0, 1, -2, -3} {
		cases = append(cases, Case{In: []Operand{x(3, 33, 5)}, Attrs: a(integer("axis", axis))})
	}
	return append(cases,
		Case{In: []Operand{x(2, 3, 4, 31)}, Attrs: a(integer("axis", 1))},
		Case{In: []Operand{x(2, 3, 4, 31)}, Attrs: a(integer("axis", 0))})
}

func reduced() []Case {
	var cases []Case
	for _, c := range alongAxis() {
		cases = append(cases, c, Case{In: c.In, Attrs: append(a(integer("keepdims", 0)), c.Attrs...)})
	}
	return cases
}
