package backendtest

import "math"

func linear() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1), weight(d, 1, 1)}},
			Case{In: []Operand{x(32), weight(d, 5, 32)}},
			Case{In: []Operand{x(1, 33), weight(d, 31, 33)}},
			Case{In: []Operand{x(3, 256), weight(d, 65, 256), x(65)}},
			Case{In: []Operand{x(2, 3, 257), weight(d, 7, 257), weight(f32, 7)}},
			Case{In: []Operand{x(2, 1, 3, 31), weight(d, 32, 31), none}},
			Case{In: []Operand{x(65, 64), weight(d, 255, 64)}},
		)
	}
	for _, q := range quantised {
		cases = append(cases,
			Case{In: []Operand{x(q.row), weight(q.dtype, 17, q.row)}},
			Case{In: []Operand{x(1, 3*q.row), weight(q.dtype, 33, 3*q.row), x(33)}},
			Case{In: []Operand{x(2, 5, q.row), weight(q.dtype, 64, q.row)}},
			Case{In: []Operand{x(65, 2*q.row), weight(q.dtype, 31, 2*q.row)}},
		)
	}
	return append(cases, Case{In: []Operand{x(4, 33), x(6, 33)}}) // a weight that is computed
}

func matmul() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 1), weight(d, 1, 1)}},
			Case{In: []Operand{x(3, 33), weight(d, 33, 5)}},
			Case{In: []Operand{x(2, 3, 32), state16(d, 2, 32, 31)}},
		)
	}
	return append(cases,
		Case{In: []Operand{x(1, 257), x(257, 65)}},
		Case{In: []Operand{x(31, 256), x(256, 33)}},
		Case{In: []Operand{x(4, 3, 5), x(5, 7)}},
		Case{In: []Operand{x(3, 5), x(4, 5, 7)}},
		Case{In: []Operand{x(2, 3, 4, 33), x(2, 3, 33, 6)}},
		Case{In: []Operand{x(2, 1, 4, 33), x(3, 33, 6)}},
		Case{In: []Operand{x(1, 3, 4, 5), x(2, 1, 5, 1)}})
}

// state16 is a state where the dtype may be one, else a weight.
func state16(d dtype, shape ...int64) Operand {
	if d == bf16 {
		return weight(d, shape...)
	}
	return state(d, shape...)
}

func rowNorm(affine int) []Case {
	var cases []Case
	for _, s := range shapes[1:] {
		n := s.Dim(-1)
		cases = append(cases, Case{In: []Operand{x(s...)}}, Case{In: []Operand{x(s...), weight(f32, n)}, Attrs: a(number("eps", 1e-3))})
		if affine == 2 {
			cases = append(cases, Case{In: []Operand{x(s...), weight(f32, n), x(n)}}, Case{In: []Operand{x(s...), none, x(n)}})
		}
	}
	return append(append(cases, nearlyConstant()...), Case{In: []Operand{x(3, 257).uniform(99, 101)}, Attrs: a(number("eps", 1e-6))})
}

// nearlyConstant are rows whose numbers hardly differ, which a mean or a square that is
// off by its last bits shows.
func nearlyConstant() []Case {
	var cases []Case
	for _, n := range []int64{1, 2, 3, 4, 7, 16, 33, 257, 1024} {
		few, many := 128/n+1, 4096/n // many take a software device minutes
		for _, rows := range []int64{few, many} {
			cases = append(cases,
				Case{In: []Operand{x(rows, n).uniform(1.498, 1.502)}, CPU: rows == many},
				Case{In: []Operand{x(rows, n).uniform(-1000.01, -999.99)}, CPU: rows == many})
		}
	}
	return cases
}

func groupNorm() []Case {
	var cases []Case
	for _, c := range nearlyConstant() {
		cases = append(cases, Case{In: c.In, Attrs: a(integer("groups", 1))})
	}
	return append(cases, []Case{
		{In: []Operand{x(1, 1, 33)}, Attrs: a(integer("groups", 1))},
		{In: []Operand{x(2, 6, 31)}, Attrs: a(integer("groups", 3))},
		{In: []Operand{x(2, 6, 5, 7), weight(f32, 6), weight(f32, 6)}, Attrs: a(integer("groups", 2))},
		{In: []Operand{x(1, 32, 4, 9), x(32), none}, Attrs: a(integer("groups", 32), number("eps", 1e-3))},
		{In: []Operand{x(3, 8, 4), none, x(8)}, Attrs: a(integer("groups", 4))},
		{In: []Operand{x(3, 256), weight(f32, 256), weight(f32, 256)}, Attrs: a(integer("groups", 8))},
	}...)
}

func rope() []Case {
	var cases []Case
	for _, mode := range []string{"half", "interleaved"} {
		m := text("mode", mode)
		cases = append(cases,
			Case{In: []Operand{x(1, 1, 2), index(i32, 100, 1)}, Attrs: a(m)},
			Case{In: []Operand{x(5, 3, 32), index(i32, 500, 5)}, Attrs: a(m)},
			Case{In: []Operand{x(1, 8, 128), index(i32, 1000, 1)}, Attrs: a(m, number("base", 1e6))},
			Case{In: []Operand{x(7, 2, 24), index(i32, 100, 7)}, Attrs: a(m, integer("dims", 10))},
			Case{In: []Operand{x(3, 4, 64), index(i32, 400, 3)}, Attrs: a(m, number("scale", 0.25))},
			Case{In: []Operand{x(3, 2, 5), index(i32, 100, 3)}, Attrs: a(m, integer("dims", 2))}, // heads of odd length
			Case{In: []Operand{x(2, 3, 33), index(i32, 100, 2)}, Attrs: a(m, integer("dims", 32))},
			Case{In: []Operand{x(3, 4, 64), index(i64, 400, 3)}, Attrs: a(m)},
			Case{In: []Operand{x(4, 4, 64), x(4).is(i32).of(1000, 16000, 131071, -70000)}, Attrs: a(m), CPU: true},
			Case{In: []Operand{x(2, 3, 34), x(2).is(i64).of(1<<30, 1<<31-1)}, Attrs: a(m), CPU: true},
		)
	}
	return cases
}

func attention() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 1, 8), state16(d, 1, 1, 8), state16(d, 1, 1, 8)}},
			Case{In: []Operand{x(1, 8, 8), state16(d, 33, 4, 8), state16(d, 33, 4, 8), none, places(i32, 33, 1)}},
			Case{In: []Operand{x(5, 4, 64), state16(d, 32, 2, 64), state16(d, 32, 2, 64), none, places(i32, 32, 5)}},
			Case{In: []Operand{x(7, 6, 32), state16(d, 7, 2, 32), state16(d, 7, 2, 32)}, Attrs: a(integer("causal", 1))},
		)
	}
	return append(cases,
		Case{In: []Operand{x(3, 2, 33), x(31, 2, 33), x(31, 2, 33)}, Attrs: a(number("scale", 0.5))},
		Case{In: []Operand{x(3, 2, 32), x(31, 1, 32), x(31, 1, 16)}},
		Case{In: []Operand{x(3, 4, 16), x(9, 2, 16), x(9, 2, 16)}, Attrs: a(integer("causal", 1))},
		Case{In: []Operand{x(6, 2, 16), x(9, 2, 16), x(9, 2, 16)}, Attrs: a(integer("causal", 1), integer("window", 3))},
		Case{In: []Operand{x(4, 2, 16), x(33, 2, 16), x(33, 2, 16), none, places(i32, 33, 4)}, Attrs: a(integer("window", 5))},
		Case{In: []Operand{x(3, 4, 16), x(5, 2, 16), x(5, 2, 16), x(3, 5)}},
		Case{In: []Operand{x(3, 4, 16), x(5, 2, 16), x(5, 2, 16), x(3, 5).of(0, math.Inf(-1))}},
		Case{In: []Operand{x(3, 4, 16), x(5, 2, 16), x(5, 2, 16), x(3, 5), places(i32, 5, 3)}},
		Case{In: []Operand{x(3, 4, 16), x(5, 2, 16), x(5, 2, 16), x(3, 5).of(0, 1, 0, 0, 0, math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1), 1, -math.MaxFloat32, 0, 0, 0)}},
		Case{In: []Operand{x(5, 4, 64), x(32, 2, 64), x(32, 2, 64), none, places(i64, 32, 5)}},
		Case{In: []Operand{x(1, 4, 32), x(1500, 2, 32), x(1500, 2, 32), none, x(1).is(i64).of(1300)}},
		Case{In: []Operand{x(67, 6, 40), x(211, 2, 40), x(211, 2, 24)}, Attrs: a(integer("causal", 1), integer("window", 50))},
		Case{In: []Operand{x(130, 2, 32), state16(f16, 130, 2, 32), state16(f16, 130, 2, 32)}, Attrs: a(integer("causal", 1))})
}

func lstmCell() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 33), x(1, 8), x(1, 8), weight(d, 32, 33), weight(d, 32, 8), weight(f32, 32), weight(f32, 32)}},
			Case{In: []Operand{x(1, 128), state(f32, 1, 128), state(f32, 1, 128), weight(d, 512, 128), weight(d, 512, 128)}},
		)
	}
	return append(cases,
		Case{In: []Operand{x(3, 1), x(3, 1), x(3, 1), weight(f32, 4, 1), weight(f32, 4, 1), none, x(4)}},
		Case{In: []Operand{x(5, 7), x(5, 31), x(5, 31), weight(f32, 124, 7), weight(f32, 124, 31), x(124)}})
}
