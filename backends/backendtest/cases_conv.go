package backendtest

func conv1d() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 1, 1), weight(d, 1, 1, 1)}},
			Case{In: []Operand{x(1, 3, 33), weight(d, 5, 3, 3)}},
			Case{In: []Operand{x(2, 4, 257), weight(d, 6, 4, 7), weight(f32, 6)}, Attrs: a(integer("stride", 2), ints("padding", 3))},
			Case{In: []Operand{x(1, 6, 31), weight(d, 4, 3, 3), x(4)}, Attrs: a(integer("groups", 2), integer("dilation", 3))},
			Case{In: []Operand{x(1, 32, 40), weight(d, 32, 1, 3), weight(f32, 32)}, Attrs: a(integer("groups", 32), ints("padding", 18, 0), integer("dilation", 9))},
		)
	}
	return append(cases,
		Case{In: []Operand{x(1, 1, 576), weight(f32, 258, 1, 256)}, Attrs: a(integer("stride", 128), ints("padding", 0, 64))},
		Case{In: []Operand{x(1, 2, 5), weight(f32, 3, 2, 3)}, Attrs: a(ints("padding", 0, 2))},
		Case{In: []Operand{x(2, 3, 9), weight(f32, 6, 1, 3)}, Attrs: a(integer("groups", 3), integer("stride", 3))},
		Case{In: []Operand{x(2, 4, 2), weight(f32, 8, 1, 1)}, Attrs: a(integer("groups", 4))},
		Case{In: []Operand{x(1, 2, 2), weight(f32, 2, 2, 5)}, Attrs: a(ints("padding", 4, 4), integer("stride", 4))})
}

func conv2d() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 1, 1, 1), weight(d, 1, 1, 1, 1)}},
			Case{In: []Operand{x(1, 3, 9, 33), weight(d, 5, 3, 3, 3), weight(f32, 5)}, Attrs: a(ints("padding", 1))},
			Case{In: []Operand{x(2, 4, 16, 15), weight(d, 6, 4, 3, 5)}, Attrs: a(ints("stride", 2), ints("padding", 1, 2))},
			Case{In: []Operand{x(1, 4, 9, 11), weight(d, 6, 2, 3, 3), x(6)}, Attrs: a(integer("groups", 2), ints("dilation", 2, 1))},
			Case{In: []Operand{x(1, 32, 7, 9), weight(d, 32, 1, 3, 3), weight(f32, 32)}, Attrs: a(integer("groups", 32), ints("padding", 1))},
		)
	}
	return append(cases,
		Case{In: []Operand{x(1, 32, 17, 31), weight(f32, 33, 32, 1, 1), weight(f32, 33)}},
		Case{In: []Operand{x(1, 2, 5, 6), weight(f32, 3, 2, 3, 2)}, Attrs: a(ints("padding", 0, 1, 2, 3))},
		Case{In: []Operand{x(1, 2, 8, 8), weight(f32, 3, 2, 2, 3)}, Attrs: a(ints("stride", 3, 2), ints("dilation", 1, 2))},
		Case{In: []Operand{x(2, 3, 4, 4), weight(f32, 6, 1, 2, 2)}, Attrs: a(integer("groups", 3))},
		Case{In: []Operand{x(2, 6, 5, 5), weight(f32, 12, 1, 2, 1)}, Attrs: a(integer("groups", 6), ints("padding", 1))},
		Case{In: []Operand{x(1, 1, 2, 2), weight(f32, 1, 1, 4, 4)}, Attrs: a(ints("padding", 3))})
}

func convTranspose1d() []Case {
	var cases []Case
	for _, d := range floats {
		cases = append(cases,
			Case{In: []Operand{x(1, 1, 1), weight(d, 1, 1, 1)}},
			Case{In: []Operand{x(1, 3, 33), weight(d, 3, 5, 4), weight(f32, 5)}, Attrs: a(integer("stride", 2))},
			Case{In: []Operand{x(2, 4, 31), weight(d, 4, 3, 10)}, Attrs: a(integer("stride", 5), ints("padding", 2, 3))},
		)
	}
	return append(cases,
		Case{In: []Operand{x(1, 4, 9), weight(f32, 4, 3, 3), x(6)}, Attrs: a(integer("groups", 2), integer("stride", 3), ints("padding", 1), integer("output_padding", 2))},
		Case{In: []Operand{x(1, 2, 7), weight(f32, 2, 2, 3)}, Attrs: a(integer("dilation", 3), ints("padding", 0, 4))},
		Case{In: []Operand{x(1, 64, 3), weight(f32, 64, 1, 64)}, Attrs: a(integer("stride", 16))},
		Case{In: []Operand{x(1, 3, 5), weight(f32, 3, 2, 1)}, Attrs: a(integer("stride", 3))},
		Case{In: []Operand{x(1, 8, 5), weight(f32, 8, 1, 4)}, Attrs: a(integer("groups", 8), integer("stride", 2), ints("padding", 1))},
		// Kernels shorter than the stride, and longer by a part of it; several outputs of several groups.
		Case{In: []Operand{x(2, 6, 5), weight(f32, 6, 4, 3), x(8)}, Attrs: a(integer("groups", 2), integer("stride", 7), ints("padding", 1, 2), integer("output_padding", 6))},
		Case{In: []Operand{x(2, 6, 5), weight(f32, 6, 4, 11), x(8)}, Attrs: a(integer("groups", 2), integer("stride", 4), ints("padding", 3))},
		Case{In: []Operand{x(2, 3, 4), weight(f32, 3, 2, 9), x(6)}, Attrs: a(integer("groups", 3), integer("stride", 4))},
		// Strides and dilations with and without a common divisor.
		Case{In: []Operand{x(2, 4, 6), weight(f32, 4, 3, 7), x(3)}, Attrs: a(integer("stride", 3), integer("dilation", 2), ints("padding", 2, 1))},
		Case{In: []Operand{x(2, 4, 6), weight(f32, 4, 3, 5), x(6)}, Attrs: a(integer("groups", 2), integer("stride", 4), integer("dilation", 6), integer("output_padding", 5))},
		Case{In: []Operand{x(1, 3, 6), weight(f32, 3, 2, 4)}, Attrs: a(integer("stride", 2), integer("dilation", 4), ints("padding", 0, 3))},
		Case{In: []Operand{x(1, 4, 6), weight(f32, 4, 2, 2)}, Attrs: a(integer("groups", 4), integer("stride", 6), integer("dilation", 4))},
		// A kernel of so many parts that zeros are put between the inputs.
		Case{In: []Operand{x(1, 2, 3), weight(f32, 2, 1, 2051)}, Attrs: a(integer("stride", 2))},
		// Outputs that no element of the input reaches, and all but one cut off.
		Case{In: []Operand{x(1, 2, 1), weight(f32, 2, 1, 2)}, Attrs: a(integer("stride", 9), integer("output_padding", 8))},
		Case{In: []Operand{x(1, 2, 3), weight(f32, 2, 3, 5), x(3)}, Attrs: a(integer("stride", 2), ints("padding", 4))})
}

func upsample() []Case {
	return []Case{
		{In: []Operand{x(1, 1, 1, 1)}},
		{In: []Operand{x(2, 3, 5, 33)}},
		{In: []Operand{x(1, 2, 4, 3)}, Attrs: a(ints("scale", 3))},
		{In: []Operand{x(1, 2, 4, 3)}, Attrs: a(ints("scale", 1, 4))},
		{In: []Operand{x(2, 1, 2, 31)}, Attrs: a(ints("scale", 3, 1))},
	}
}

func snake() []Case {
	var cases []Case
	for _, s := range [][3]int64{{1, 1, 1}, {1, 3, 33}, {2, 32, 31}, {1, 8, 257}} {
		cases = append(cases, Case{In: []Operand{x(s[:]...), weight(f32, s[1]), weight(f32, s[1]).uniform(0.5, 2)}})
	}
	return cases
}
