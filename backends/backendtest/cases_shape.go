package backendtest

import (
	"math"

	"qtsaccel/core/tensor"
)

type dtype = tensor.DType

func embedding() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{weight(d, 1, 1), index(i32, 1, 1)}},
			Case{In: []Operand{weight(d, 31, 33), index(i32, 31)}},
			Case{In: []Operand{weight(d, 257, 32), index(i32, 257, 5)}},
			Case{In: []Operand{weight(d, 33, 64), index(i32, 33, 2, 3)}},
			Case{In: []Operand{weight(d, 7, 5), index(i64, 7, 2, 2, 3)}},
		)
	}
	for _, q := range quantised {
		cases = append(cases, Case{In: []Operand{weight(q.dtype, 31, 2*q.row), index(i32, 31, 7)}})
	}
	return append(cases, Case{In: []Operand{x(9, 33), index(i32, 9, 4)}})
}

// plain are operands of the dtypes that shape operators accept.
func plain(shape ...int64) []Operand {
	return []Operand{x(shape...), weight(f16, shape...), weight(bf16, shape...), index(i32, 1000, shape...)}
}

// ofEveryDType are plain ones, and of the other integers.
func ofEveryDType(shape ...int64) []Operand {
	return append(plain(shape...), index(i64, 1000, shape...), index(tensor.I16, 1000, shape...), index(tensor.I8, 100, shape...))
}

func reshape() []Case {
	cases := []Case{
		{In: []Operand{x()}, Attrs: a(ints("shape", 1, 1))},
		{In: []Operand{x(1, 1)}, Attrs: a(ints("shape"))},
		{In: []Operand{x(257)}, Attrs: a(ints("shape", -1, 1))},
	}
	for _, o := range plain(2, 3, 33) {
		cases = append(cases, Case{In: []Operand{o}, Attrs: a(ints("shape", 33, -1, 2, 1))})
	}
	return cases
}

func transpose() []Case {
	cases := []Case{
		{In: []Operand{x(33)}, Attrs: a(ints("axes", 0))},
		{In: []Operand{x(255, 257)}, Attrs: a(ints("axes", 1, 0))},
		{In: []Operand{x(2, 3, 33)}, Attrs: a(ints("axes", 0, -1, 1))},
		{In: []Operand{x(2, 3, 33)}, Attrs: a(ints("axes", 0, 1, 2))},
	}
	for _, axes := range [][]int64{{3, 2, 1, 0}, {0, 2, 1, 3}, {1, 2, 3, 0}, {2, 0, 3, 1}, {3, 0, 1, 2}} {
		cases = append(cases, Case{In: []Operand{x(2, 3, 4, 5)}, Attrs: a(ints("axes", axes...))})
	}
	for _, o := range ofEveryDType(3, 33) {
		cases = append(cases, Case{In: []Operand{o}, Attrs: a(ints("axes", 1, 0))})
	}
	return cases
}

func sliced() []Case {
	cut := func(o Operand, axis, start, end, step int64) Case {
		return Case{In: []Operand{o}, Attrs: a(integer("axis", axis), integer("start", start), integer("end", end), integer("step", step))}
	}
	cases := []Case{
		cut(x(1), 0, 0, 1, 1),
		cut(x(257), 0, 3, math.MaxInt64, 1),
		cut(x(257), 0, 1, 256, 3),
		cut(x(3, 33), 0, 1, 2, 1),
		cut(x(3, 33), 1, -5, -1, 1),
		cut(x(3, 33), -1, 0, 1, 1),
		cut(x(7, 33), 0, 0, 7, 2),
		cut(x(2, 3, 4, 31), 1, 1, 3, 1),
		cut(x(2, 3, 4, 31), 2, 0, 4, 2),
		cut(x(2, 3, 4, 31), -4, 1, 99, 1),
		cut(x(33), 0, -1, -34, -1),
		cut(x(5, 6), 1, 4, 0, -2),
		cut(x(2, 5, 3), 1, math.MaxInt64, -6, -1),
	}
	const whole = math.MinInt64 // an end, backwards: through to the first element
	for _, o := range plain(4, 33) {
		cases = append(cases, cut(o, 1, 1, 32, 1), cut(o, 0, 1, 3, 1))
	}
	for _, o := range ofEveryDType(4, 33) {
		cases = append(cases, cut(o, 1, 2, 30, 1), cut(o, 1, -1, whole, -1), cut(o, 0, -1, whole, -1), cut(o, 1, 30, 1, -7), cut(o, 0, 2, 0, -2))
	}
	return append(cases,
		cut(x(2, 3, 4, 5), 1, -1, whole, -1), cut(x(2, 3, 4, 5), 0, -1, whole, -1), cut(x(2, 3, 4, 5), 2, 3, whole, -3),
		cut(x(2, 3, 4, 5), 3, 2, 3, math.MaxInt64), cut(x(2, 3, 4, 5), 2, 1, whole, whole))
}

func concat() []Case {
	join := func(axis int64, in ...Operand) Case { return Case{In: in, Attrs: a(integer("axis", axis))} }
	cases := []Case{
		join(0, x(1)),
		join(0, x(31), x(1), x(225)),
		join(1, x(3, 33), x(3, 2)),
		join(0, x(3, 33), x(1, 33), x(2, 33), x(5, 33)),
		join(-1, x(2, 3, 5), x(2, 3, 4)),
		join(1, x(2, 3, 4, 5), x(2, 1, 4, 5), x(2, 2, 4, 5)),
		join(-2, x(2, 3, 4, 5), x(2, 3, 1, 5)),
		join(0, x(1, 3, 4, 5), weight(f32, 2, 3, 4, 5)),
	}
	for i := range ofEveryDType() {
		cases = append(cases, join(0, ofEveryDType(2, 33)[i], ofEveryDType(3, 33)[i]), join(1, ofEveryDType(3, 2)[i], ofEveryDType(3, 33)[i]))
	}
	return cases
}

func pad() []Case {
	p := func(mode string, value float64, o Operand, pads ...int64) Case {
		return Case{In: []Operand{o}, Attrs: a(ints("pads", pads...), text("mode", mode), number("value", value))}
	}
	return []Case{
		p("constant", 0, x(1), 0, 0),
		p("constant", 0, x(33), 0, 3),
		p("constant", 0, x(33), 2, 0),
		p("constant", 1.5, x(3, 33), 1, 2, 3, 4),
		p("constant", math.Inf(-1), x(3, 5), 0, 1, 0, 2),
		p("constant", 0, x(2, 3, 31), 0, 0, 5, 0, 0, 0),
		p("constant", 0, x(1, 2, 5, 7), 0, 0, 1, 2, 0, 0, 3, 4),
		p("constant", -1, x(1, 2, 5, 7), 1, 1, 0, 0, 1, 0, 0, 0),
		p("reflect", 0, x(33), 2, 5),
		p("reflect", 0, x(2), 1, 1),
		p("reflect", 0, x(2, 3, 31), 0, 0, 30, 0, 0, 0),
		p("reflect", 0, x(4, 5), 3, 1, 2, 4),
		p("reflect", 0, x(1, 2, 5, 6), 0, 0, 2, 1, 0, 0, 1, 3),
	}
}

func casts() []Case {
	var cases []Case
	for _, from := range []Operand{x(3, 33), weight(f16, 3, 33), weight(bf16, 3, 33), index(i32, 2000, 3, 33)} {
		for _, to := range []string{"f32", "f16", "bf16", "i32"} {
			cases = append(cases, Case{In: []Operand{from}, Attrs: a(text("dtype", to))})
		}
	}
	for _, q := range quantised {
		for _, to := range []string{"f32", "f16", "bf16", "i32"} {
			cases = append(cases, Case{In: []Operand{weight(q.dtype, 3, 2*q.row)}, Attrs: a(text("dtype", to))})
		}
	}
	whole := x(257).uniform(-1000, 1000)
	cases = append(cases,
		Case{In: []Operand{whole}, Attrs: a(text("dtype", "i32"))},
		Case{In: []Operand{whole}, Attrs: a(text("dtype", "i64"))},
		Case{In: []Operand{whole}, Attrs: a(text("dtype", "i16"))},
		Case{In: []Operand{x(33).uniform(-100, 100)}, Attrs: a(text("dtype", "i8"))},
		Case{In: []Operand{index(i64, 1<<20, 33)}, Attrs: a(text("dtype", "f32"))})
	for _, to := range []string{"i8", "i16", "i32", "i64"} {
		beyond := x(15).of(math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 127.9, 128, -128.9, -129, 32768, -32769, 1<<31, -1<<31, 1<<63, -1<<63)
		cases = append(cases, Case{In: []Operand{beyond}, Attrs: a(text("dtype", to)), CPU: true},
			Case{In: []Operand{index(i64, 1<<40, 33)}, Attrs: a(text("dtype", to)), CPU: true})
	}
	return cases
}

func stateWrite() []Case {
	var cases []Case
	for _, d := range []dtype{f32, f16} {
		cases = append(cases,
			Case{In: []Operand{state(d, 1), x(1), index(i32, 1, 1)}},
			Case{In: []Operand{state(d, 33, 4, 8), x(1, 4, 8), index(i32, 33, 1)}},
			Case{In: []Operand{state(d, 257, 33), x(5, 33), places(i32, 257, 5)}},
			Case{In: []Operand{state(d, 9, 2, 3, 5), x(9, 2, 3, 5), places(i32, 9, 9)}},
			Case{In: []Operand{state(d, 31, 32), x(3, 32), places(i64, 31, 3)}},
			Case{In: []Operand{state(d, 1, 128), x(1, 128)}},
			Case{In: []Operand{state(d, 2, 3, 4, 5), x(2, 3, 4, 5), none}},
			Case{In: []Operand{state(d, 33), x(33)}},
			Case{In: []Operand{state(d), x()}},
		)
	}
	return cases
}
