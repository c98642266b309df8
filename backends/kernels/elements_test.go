package kernels_test

import (
	"math"
	"testing"

	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// columns gives an operand of all but the first column of a value, where it lies.
func columns(t *testing.T, v ops.Value) (kerneltest.Operand, ops.Value) {
	s := v.Type.Shape
	last := s[len(s)-1]
	o := kerneltest.OfValue(t, v)
	shape := append(append(tensor.Shape{}, s[:len(s)-1]...), last-1)
	strides := make([]int64, len(s))
	step := int64(4)
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= s[i]
	}
	o.Type.Shape, o.Strides, o.Offset = shape, strides, 4
	part := ops.NewValue(o.Type)
	for i := range part.F {
		part.F[i] = v.F[int64(i)/(last-1)*last+int64(i)%(last-1)+1]
	}
	return o, part
}

func TestUnary(t *testing.T) {
	r := newRand()
	for _, n := range []int64{2, 17, 40, 1000} {
		o, x := columns(t, withOddities(normal(t, r, tensor.F32, 2, 3, n)))
		for threads := 1; threads <= 3; threads++ {
			want := evaluate(t, "clamp", []ops.AttrArg{ops.RealAttr("min", -0.5), ops.RealAttr("max", 1.25)}, x)[0]
			requireNear(t, want.F, result(t, "clamp", threads, []int32{floatBits(-0.5), floatBits(1.25)}, x.Type, o).F, 0, "clamp")
			want = evaluate(t, "leaky_relu", []ops.AttrArg{ops.RealAttr("negative_slope", 0.25)}, x)[0]
			requireNear(t, want.F, result(t, "leaky_relu", threads, []int32{floatBits(0.25)}, x.Type, o).F, 0, "leaky_relu")
		}
	}
}

func TestChoices(t *testing.T) {
	r := newRand()
	condition := ops.NewValue(f32(4, 1))
	condition.F[1], condition.F[2] = 1, -3
	a, b := withOddities(normal(t, r, tensor.F32, 2, 1, 1, 19)), withOddities(normal(t, r, tensor.F32, 2, 3, 4, 19))
	for threads := 1; threads <= 3; threads++ {
		for _, c := range []struct {
			name string
			in   []ops.Value
		}{{"where", []ops.Value{condition, a, b}}, {"maximum", []ops.Value{a, b}}, {"minimum", []ops.Value{b, a}}} {
			want := evaluate(t, c.name, nil, c.in...)[0]
			requireNear(t, want.F, result(t, c.name, threads, nil, want.Type, operands(t, c.in...)...).F, 0, "%s", c.name)
		}
	}
}

func TestCasts(t *testing.T) {
	x := ops.NewValue(f32(12))
	copy(x.F, []float64{0, -1.75, 1.75, 127.5, -129, 40000, -40000, 3e9, -3e9, 1e30, math.Inf(-1), math.NaN()})
	for _, d := range []tensor.DType{tensor.I8, tensor.I16, tensor.I32, tensor.I64} {
		want := evaluate(t, "cast", []ops.AttrArg{ops.TextAttr("dtype", d.String())}, x)[0]
		got := result(t, "cast", 2, nil, want.Type, operands(t, x)...)
		for i, v := range want.I {
			if got.I[i] != v {
				t.Fatalf("%g as %v is %d, want %d", x.F[i], d, got.I[i], v)
			}
		}
		back := evaluate(t, "cast", []ops.AttrArg{ops.TextAttr("dtype", "f32")}, got)[0]
		requireNear(t, rounded(t, back).F, result(t, "cast", 3, nil, f32(12), operands(t, got)...).F, 0, "%v", d)
	}
}

func TestMoves(t *testing.T) {
	r := newRand()
	a, b := normal(t, r, tensor.F32, 2, 3, 5), normal(t, r, tensor.F32, 2, 4, 5)
	for threads := 1; threads <= 3; threads++ {
		joined := evaluate(t, "concat", []ops.AttrArg{ops.IntAttr("axis", 1)}, a, b)[0]
		requireNear(t, joined.F, result(t, "concat", threads, []int32{1}, joined.Type, operands(t, a, b)...).F, 0, "concat")

		o, x := columns(t, a)
		padded := evaluate(t, "pad", []ops.AttrArg{ops.IntsAttr("pads", 1, 0, 2, 0, 3, 1)}, x)[0]
		requireNear(t, padded.F, result(t, "pad", threads, []int32{2, 0, 1}, padded.Type, o).F, 0, "pad")

		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.I8, tensor.I64} {
			v := ops.NewValue(tensor.Type{DType: d, Shape: tensor.Shape{2, 7, 3}})
			for i := range int64(42) {
				if v.F != nil {
					v.F[i] = float64(i)
				} else {
					v.I[i] = i
				}
			}
			start, end, step := int64(5), int64(math.MinInt64), int64(-2)
			want := evaluate(t, "slice", []ops.AttrArg{ops.IntAttr("axis", 1), ops.IntAttr("start", start), ops.IntAttr("end", end), ops.IntAttr("step", step)}, v)[0]
			from, by := halves(start), halves(step)
			got := result(t, "slice", threads, []int32{1, from[0], from[1], by[0], by[1]}, want.Type, operands(t, v)...)
			requireNear(t, want.F, got.F, 0, "slice of %v", d)
			for i := range want.I {
				if want.I[i] != got.I[i] {
					t.Fatalf("slice of %v: element %d is %d, want %d", d, i, got.I[i], want.I[i])
				}
			}
		}
	}
}
