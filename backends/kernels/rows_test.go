package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// scales are by how much a row's numbers differ from others.
var scales = []float64{1, 1e-30, 1e18, 1e-3, 3e4}

// TestNorms holds every variant to the formula, also where a row's numbers hardly differ
// from their mean, and where f32 cannot hold their squares.
func TestNorms(t *testing.T) {
	r := newRand()
	for _, n := range []int64{1, 3, 16, 31, 100, 2049, 5000} {
		x := normal(t, r, tensor.F32, int64(len(scales)), n)
		for i := range x.F {
			x.F[i] *= scales[int64(i)/n]
			if int64(i)/n == 4 {
				x.F[i] = 1e4 + x.F[i]/1e6
			}
		}
		x = rounded(t, x)
		weight, bias := normal(t, r, tensor.F32, n), normal(t, r, tensor.F32, n)
		length, one := halves(n), halves(1)
		for _, c := range []struct {
			name  string
			flags int32
			in    []ops.Value
		}{
			{"rms_norm", 0, []ops.Value{x}},
			{"rms_norm", 2, []ops.Value{x, weight}},
			{"layer_norm", 1, []ops.Value{x}},
			{"layer_norm", 1 | 2 | 4, []ops.Value{x, weight, bias}},
		} {
			want := evaluate(t, c.name, nil, c.in...)[0]
			numbers := []int32{floatBits(1e-5), c.flags, length[0], length[1], one[0], one[1], one[0], one[1]}
			for p := range kerneltest.EveryProcessor(t) {
				for _, threads := range []int{1, 2, 7} {
					y := result(t, "norm", threads, numbers, x.Type, operands(t, c.in...)...)
					requireNear(t, want.F, y.F, 5e-5, "%v, %s %d of %d", p, c.name, c.flags, n)
				}
			}
		}
	}
}

func TestGroupNorm(t *testing.T) {
	const n, channels, groups, rest = 2, 6, 3, 35
	r := newRand()
	x, weight, bias := normal(t, r, tensor.F32, n, channels, rest), normal(t, r, tensor.F32, channels), normal(t, r, tensor.F32, channels)
	want := evaluate(t, "group_norm", []ops.AttrArg{ops.IntAttr("groups", groups)}, x, weight, bias)[0]
	numbers := []int32{floatBits(1e-5), 1 | 2 | 4, channels / groups * rest, 0, rest, 0, groups, 0}
	for p := range kerneltest.EveryProcessor(t) {
		requireNear(t, want.F, result(t, "norm", 2, numbers, x.Type, operands(t, x, weight, bias)...).F, 1e-5, "%v", p)
	}
}

// TestSnake: the angle is that of the product as it is, however large.
func TestSnake(t *testing.T) {
	r := newRand()
	for _, n := range []int64{1, 15, 64, 100} {
		x, alpha, beta := normal(t, r, tensor.F32, 2, 3, n), normal(t, r, tensor.F32, 3), equal(tensor.F32, 2, 3)
		for i := range x.F {
			x.F[i] *= scales[i%len(scales)]
		}
		x = rounded(t, x)
		want := evaluate(t, "snake", nil, x, alpha, beta)[0]
		for p := range kerneltest.EveryProcessor(t) {
			got := result(t, "snake", 3, nil, x.Type, operands(t, x, alpha, beta)...)
			for i, w := range want.F {
				require.InDelta(t, w, got.F[i], 1e-5+math.Abs(w)*1e-6, "%v, x %g, alpha %g", p, x.F[i], alpha.F[int64(i)/n%3])
			}
		}
	}
}

// TestRope: angles are exact at every position, which may be i32 or i64.
func TestRope(t *testing.T) {
	r := newRand()
	for _, c := range []struct {
		d, dims     int64
		interleaved bool
		wide        bool
	}{{64, 64, false, false}, {64, 64, true, true}, {20, 12, false, true}, {22, 6, true, false}, {2, 2, false, false}} {
		const rows, heads = 5, 3
		x, positions := normal(t, r, tensor.F32, rows, heads, c.d), integers(0, 1, 100000, 77, 1234567)
		mode, flag, width := "half", int32(0), c.dims/2
		if c.interleaved {
			mode, flag, width = "interleaved", 1, c.dims
		}
		if c.wide {
			positions.Type.DType = tensor.I64
		}
		frequencies := make([]float32, c.dims)
		for i := range c.dims / 2 {
			f := math.Pow(10000, -float64(2*i)/float64(c.dims))
			frequencies[i] = float32(f)
			frequencies[c.dims/2+i] = float32(f - float64(frequencies[i]))
		}
		want := evaluate(t, "rope", []ops.AttrArg{ops.TextAttr("mode", mode), ops.IntAttr("dims", c.dims), ops.RealAttr("base", 10000)}, x, positions)[0]
		for p := range kerneltest.EveryProcessor(t) {
			angles := result(t, "rope_angles", 2, []int32{flag}, f32(rows, 2, width),
				kerneltest.OfValue(t, positions), kerneltest.Of(tensor.F32, frequencies, 2, c.dims/2))
			y := result(t, "rope", 3, []int32{flag}, x.Type, operands(t, x, angles)...)
			requireNear(t, want.F, y.F, 2e-6*4, "%v, %+v", p, c)
		}
	}
}

// withOddities puts NaN, infinities and equal numbers among others.
func withOddities(v ops.Value) ops.Value {
	for i := range v.F {
		switch i % 23 {
		case 5:
			v.F[i] = math.Inf(1)
		case 11:
			v.F[i] = math.Inf(-1)
		case 17:
			v.F[i] = 2
		case 19:
			if i%46 == 19 {
				v.F[i] = math.NaN()
			}
		}
	}
	return v
}

func TestLargestOfRows(t *testing.T) {
	r := newRand()
	for _, n := range []int64{1, 7, 16, 33, 300} {
		x := withOddities(normal(t, r, tensor.F32, 11, n))
		for threads := 1; threads <= 3; threads++ {
			argmax := evaluate(t, "argmax", []ops.AttrArg{ops.IntAttr("axis", -1)}, x)[0]
			require.Equal(t, argmax.I, result(t, "argmax", threads, nil, argmax.Type, operands(t, x)...).I)
			largest := evaluate(t, "reduce_max", []ops.AttrArg{ops.IntAttr("axis", -1)}, x)[0]
			requireNear(t, largest.F, result(t, "row_max", threads, nil, f32(11), operands(t, x)...).F, 0, "rows of %d", n)
			k := min(n, 5)
			top := evaluate(t, "top_k", []ops.AttrArg{ops.IntAttr("k", k)}, x)
			both := result(t, "top_k", threads, nil, f32(2, 11, k), operands(t, x)...)
			requireNear(t, top[0].F, both.F[:11*k], 0, "the largest of %d", n)
			for i, at := range top[1].I {
				require.Equal(t, int32(at), int32(math.Float32bits(float32(both.F[11*int(k)+i]))), "place %d among %d", i, n)
			}
		}
	}
}

func TestCumsum(t *testing.T) {
	r := newRand()
	x := normal(t, r, tensor.F32, 2, 5, 37)
	for axis := range int64(3) {
		want := evaluate(t, "cumsum", []ops.AttrArg{ops.IntAttr("axis", axis)}, x)[0]
		for threads := 1; threads <= 4; threads++ {
			requireNear(t, want.F, result(t, "cumsum", threads, []int32{int32(2 - axis)}, x.Type, operands(t, x)...).F, 2e-6, "axis %d", axis)
		}
	}
}

func TestLSTM(t *testing.T) {
	const n, hidden = 3, 37
	r := newRand()
	x, h, c := normal(t, r, tensor.F32, n, 5), normal(t, r, tensor.F32, n, hidden), normal(t, r, tensor.F32, n, hidden)
	wx, wh := normal(t, r, tensor.F32, 4*hidden, 5), normal(t, r, tensor.F32, 4*hidden, hidden)
	bx, bh := normal(t, r, tensor.F32, 4*hidden), normal(t, r, tensor.F32, 4*hidden)
	px, ph := evaluate(t, "linear", nil, x, wx)[0], evaluate(t, "linear", nil, h, wh)[0]
	for _, biases := range [][]ops.Value{nil, {bx}, {bx, bh}} {
		want := evaluate(t, "lstm_cell", nil, append([]ops.Value{x, h, c, wx, wh}, biases...)...)
		in := operands(t, append([]ops.Value{px, ph, c}, biases...)...)
		for threads := 1; threads <= 4; threads++ {
			both := result(t, "lstm", threads, nil, f32(2, n, hidden), in...)
			requireNear(t, append(append([]float64{}, want[0].F...), want[1].F...), both.F, 2e-6, "%d biases", len(biases))
		}
	}
}
