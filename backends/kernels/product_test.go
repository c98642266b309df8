package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/gguf"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// productNumbers are those of "product" and, at the end, of "convolution".
func productNumbers() []int32 {
	n := make([]int32, kernels.Numbers)
	n[kernels.Numbers-1] = int32(kernels.InUse())
	return n
}

// productScratch is what products of a weight take on so many threads.
func productScratch(d tensor.DType, m, k int64, threads int) kerneltest.Operand {
	return scratch(kernels.ProductScratch(int32(gguf.Number(d)), m, k, threads))
}

// TestProducts holds every variant, at the sizes around the borders of its tiles, to sums
// in float64.
func TestProducts(t *testing.T) {
	// [rows, n_out, n_in]; rows of 6 and 8, columns of 16 and 48, and pieces of 1280 (or
	// 2560) of n_in are computed at once, and 512 rows with a panel.
	plain := [][3]int64{
		{1, 1, 1},
		{1, 31, 2},
		{5, 32, 33},
		{6, 33, 31},
		{7, 47, 257},
		{8, 48, 255},
		{9, 49, 256},
		{13, 97, 16},
		{17, 15, 17},
		{521, 17, 40},
		{1025, 3, 7},
		{12, 7, 5377},
	}
	blocks := [][3]int64{{1, 1, 256}, {5, 31, 256}, {6, 33, 512}, {9, 49, 768}, {13, 97, 256}, {521, 17, 256}, {12, 7, 5376}}
	r := newRand()
	for _, d := range []tensor.DType{
		tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1, tensor.IQ4NL, tensor.MXFP4,
	} {
		sizes := plain
		if d.Quantised() {
			sizes = blocks
		}
		for i, s := range sizes {
			m, n, k, wider := s[0], s[1], s[2], int64(i%3)
			threads := 1 + i%4
			x, w, bias := normal(t, r, tensor.F32, m, k+2*wider), normal(t, r, d, n, k), normal(t, r, tensor.F32, n)
			want, size := make([]float64, m*n), make([]float64, m*n)
			for j := range want {
				row, column := int64(j)/n, int64(j)%n
				if i%2 == 0 {
					want[j] = bias.F[column]
				}
				for e := range k {
					product := x.F[row*(k+2*wider)+wider+e] * w.F[column*k+e]
					want[j] += product
					size[j] += product * product
				}
			}
			in := operands(t, x, w)
			in[0].Type.Shape, in[0].Strides, in[0].Offset = tensor.Shape{m, k}, []int64{4 * (k + 2*wider), 4}, 4*wider
			for p := range kerneltest.EveryProcessor(t) {
				list := append(in[:2:2], productScratch(d, m, k, threads))
				if i%2 == 0 {
					list = append(list, kerneltest.OfValue(t, bias))
				}
				y := result(t, "product", threads, productNumbers(), f32(m, n), list...)
				// Each of the summed products is off by at most so much of itself, in whatever
				// direction.
				each := 1e-6
				if p == kernels.WithAVX512BF16 && d != tensor.F32 && d != tensor.F16 {
					each = math.Ldexp(1, -8) // both factors are rounded to bf16
				}
				for j, got := range y.F {
					if bound := 5*each*math.Sqrt(size[j]) + 1e-6; !(math.Abs(got-want[j]) <= bound) {
						t.Fatalf("%v, %v, [%d, %d, %d], %d threads: y[%d] is %g, want %g within %g", p, d, m, n, k, threads, j, got, want[j], bound)
					}
				}
			}
		}
	}
}

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }

// TestProductsOfWhatIsNotFinite: infinities and NaN go where IEEE says, and only there;
// 0 times infinity is NaN, but not the zeros that fill a tile up.
func TestProductsOfWhatIsNotFinite(t *testing.T) {
	const rows, nOut, nIn = 131, 51, 35
	inf, nan := math.Inf(1), math.NaN()
	r := newRand()
	x := normal(t, r, tensor.F32, rows, nIn)
	x.F[0], x.F[7*nIn+34], x.F[130*nIn+33], x.F[9*nIn+2] = inf, -inf, nan, 0
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		w := normal(t, r, d, nOut, nIn)
		w.F[3*nIn+2], w.F[50*nIn+34], w.F[16*nIn] = inf, nan, 0
		want := evaluate(t, "linear", nil, x, w)[0]
		for p := range kerneltest.EveryProcessor(t) {
			in := append(operands(t, x, w), productScratch(d, rows, nIn, 2))
			y := result(t, "product", 2, productNumbers(), f32(rows, nOut), in...)
			requireNear(t, want.F, y.F, 0.1, "%v, %v", p, d)
		}
	}
}

// TestProductsInBatches: each product of a batch has its own rows of x, and the factor
// that is repeated along the batch is found where it lies.
func TestProductsInBatches(t *testing.T) {
	r := newRand()
	for _, s := range [][2]tensor.Shape{
		{{5, 33, 40}, {5, 31, 40}},
		{{2, 3, 17, 65}, {2, 3, 50, 65}},
		{{2, 3, 40, 9}, {3, 49, 9}},
		{{2, 4, 20, 33}, {2, 2, 7, 33}},
		{{4, 20, 33}, {7, 33}},
	} {
		x, w := normal(t, r, tensor.F32, s[0]...), normal(t, r, tensor.F32, s[1]...)
		m, k, n := s[0].Dim(-2), s[0].Dim(-1), s[1].Dim(-2)
		out := append(append(tensor.Shape{}, s[0][:len(s[0])-1]...), n)
		// The matrices of w by their place in the batch: those of an axis serve so many each.
		want := make([]float64, out.Elements())
		matrices := func(s tensor.Shape) [2]int64 {
			full := append(tensor.Shape{1, 1, 1, 1}[:4-len(s)], s...)
			return [2]int64{full[0], full[1]}
		}
		xs, ws := matrices(s[0]), matrices(s[1])
		for i := range want {
			column, row, at := int64(i)%n, int64(i)/n%m, int64(i)/n/m
			outer, inner := at/xs[1], at%xs[1]
			matrix := outer/(xs[0]/ws[0])*ws[1] + inner/(xs[1]/ws[1])
			for e := range k {
				want[i] += x.F[(at*m+row)*k+e] * w.F[(matrix*n+column)*k+e]
			}
		}
		for p := range kerneltest.EveryProcessor(t) {
			for threads := 1; threads <= 3; threads++ {
				in := append(operands(t, x, w), productScratch(tensor.F32, m, k, threads))
				y := result(t, "product", threads, productNumbers(), tensor.Type{DType: tensor.F32, Shape: out}, in...)
				requireNear(t, want, y.F, 1e-4, "%v, %v", p, s)
			}
		}
	}
}

// TestCheck: of a product whose x a library rounds to f16, what that spoils is computed
// anew, and the rest only gets its bias.
func TestCheck(t *testing.T) {
	const m, n, k = 37, 19, 96
	largest := float64(65504)
	r := newRand()
	for _, d := range []tensor.DType{tensor.F16, tensor.Q8_0} {
		x, w, bias := normal(t, r, tensor.F32, m, k), normal(t, r, d, n, k), normal(t, r, tensor.F32, n)
		for row, by := range map[int]float64{1: 1e6, 2: 1e-9, 9: 1e30, 36: 1e-20, 20: 0} {
			for e := range k {
				x.F[row*k+e] *= by
			}
		}
		x = rounded(t, x)
		want := evaluate(t, "linear", nil, x, w, bias)[0]
		// What such a library gives: infinity and zeros.
		spoilt := ops.Value{Type: tensor.Type{DType: tensor.F16, Shape: x.Type.Shape}, F: append([]float64{}, x.F...)}
		for i, v := range spoilt.F {
			if math.Abs(v) > largest {
				spoilt.F[i] = math.Copysign(math.Inf(1), v)
			}
		}
		given := evaluate(t, "linear", nil, ops.Value{Type: x.Type, F: roundedF16(spoilt.F)}, w)[0]
		for p := range kerneltest.EveryProcessor(t) {
			for _, threads := range []int{1, 3, 20} {
				y := kerneltest.OfValue(t, given)
				in := append([]kerneltest.Operand{y}, operands(t, x, w, bias)...)
				kerneltest.Run(t, "check", threads, []int32{floatBits(math.Ldexp(1, -14)), floatBits(largest)}, y, in...)
				got := ops.NewValue(y.Type)
				require.NoError(t, got.Decode(y.Data))
				for row := range m {
					size := 1.0
					for _, v := range want.F[row*n:][:n] {
						size = max(size, math.Abs(v))
					}
					requireNear(t, want.F[row*n:][:n], got.F[row*n:][:n], 2e-3*size, "%v, %v, row %d, %d threads", p, d, row, threads)
				}
			}
		}
	}
}

func roundedF16(list []float64) []float64 {
	y := make([]float64, len(list))
	for i, v := range list {
		y[i] = float64(tensor.F16ToF32(tensor.F32ToF16(float32(v))))
	}
	return y
}
