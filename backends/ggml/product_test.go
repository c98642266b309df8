package ggml

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// manyRows are so many that our own kernel takes weights of each dtype, where any.
const manyRows = 128

// TestProductsOfEveryProcessor holds the kernel's variants for lesser processors, and
// the sizes around the borders of their tiles, to sums in float64.
func TestProductsOfEveryProcessor(t *testing.T) {
	// [rows, n_out, n_in]; rows of 6 and 8, columns of 16 and 48, and pieces of 1280 (or
	// 2560) of n_in are computed at once, and 512 rows with a panel.
	plain := [][3]int64{
		{manyRows, 1, 1},
		{manyRows + 1, 31, 2},
		{129, 32, 33},
		{130, 33, 31},
		{131, 47, 257},
		{132, 48, 255},
		{133, 49, 256},
		{134, 97, 16},
		{135, 15, 17},
		{521, 17, 40},
		{1025, 3, 7},
		{130, 7, 5377},
	}
	blocks := [][3]int64{
		{manyRows, 1, 256}, {129, 31, 256}, {130, 33, 512}, {133, 49, 768}, {135, 97, 256}, {521, 17, 256}, {130, 7, 5376},
	}
	alone, together := plainBackend(t, 1), plainBackend(t, 2)
	for _, d := range []tensor.DType{
		tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
		tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.IQ4NL, tensor.MXFP4,
	} {
		sizes := plain
		if d.Quantised() {
			sizes = blocks
		}
		for i, s := range sizes {
			p, b := newTestProduct(t, d, s[0], s[1], s[2], int64(i%3)), alone
			if i == 3 {
				b = together
			}
			for with := range everyProcessor(t) {
				// The others are ggml's, which the conformance suite holds to the formula.
				if productPays(uint32(dtypes[d]), s[0], false) {
					p.check(t, with, b)
				}
			}
		}
	}
}

// testProduct is y = x w^T with what it should be.
type testProduct struct {
	dtype                  tensor.DType
	rows, nOut, nIn, wider int64
	weights                *weights.Weights
	x                      []float32
	want, size             []float64 // size is the root of the sum of the squares of the products
}

// newTestProduct makes a product whose x is columns of a wider input.
func newTestProduct(t *testing.T, d tensor.DType, rows, nOut, nIn, wider int64) *testProduct {
	w, values := stored(t, d, nOut, nIn)
	p := &testProduct{
		dtype: d, rows: rows, nOut: nOut, nIn: nIn, wider: wider, weights: w, x: normal(rows * (nIn + 2*wider)),
		want: make([]float64, rows*nOut), size: make([]float64, rows*nOut),
	}
	for i := range p.want {
		xs := p.x[int64(i)/nOut*(nIn+2*wider)+wider:][:nIn]
		for k, v := range values[int64(i)%nOut*nIn:][:nIn] {
			product := float64(xs[k]) * float64(v)
			p.want[i] += product
			p.size[i] += product * product
		}
		p.size[i] = math.Sqrt(p.size[i])
	}
	return p
}

func (p *testProduct) check(t *testing.T, with processor, b *Backend) {
	t.Helper()
	y, o := make([]float32, p.rows*p.nOut), options()
	o.Threads = b.info.Threads
	require.NoError(t, build(t, b, newStream(t, b), productOf(t, p.weights, p.rows, p.nIn, p.wider)).Run(buffers(p.x), buffers(y), o))

	// Each of the summed products is off by at most so much of itself, in whatever
	// direction.
	each := 1e-6
	if with == withAVX512BF16 && p.dtype != tensor.F32 && p.dtype != tensor.F16 {
		each = math.Ldexp(1, -8) // both factors are rounded to bf16
	}
	for i, got := range y {
		if bound := 5 * each * p.size[i]; !(math.Abs(float64(got)-p.want[i]) <= bound) {
			t.Fatalf("processor %v, %v, rows %d, n_out %d, n_in %d, %d threads: y[%d] is %g, want %g within %g",
				with, p.dtype, p.rows, p.nOut, p.nIn, o.Threads, i, got, p.want[i], bound)
		}
	}
}

// stored makes weights of one tensor "w" from random numbers, and gives what it means.
func stored(t *testing.T, d tensor.DType, nOut, nIn int64) (*weights.Weights, []float32) {
	if d.Quantised() {
		return quantised(t, d, nOut, nIn)
	}
	return storedAs(t, d, normal(nOut*nIn), nOut, nIn)
}

// storedAs makes weights of one tensor "w" of a plain dtype, and gives what it means.
func storedAs(t *testing.T, d tensor.DType, values []float32, nOut, nIn int64) (*weights.Weights, []float32) {
	typ := tensor.Type{DType: d, Shape: tensor.Shape{nOut, nIn}}
	halves, meant := make([]uint16, len(values)), slices.Clone(values)
	data := bytesOf(buffer(halves))
	switch d {
	case tensor.F16:
		tensor.F32SliceToF16(halves, values)
		tensor.F16SliceToF32(meant, halves)
	case tensor.BF16:
		tensor.F32SliceToBF16(halves, values)
		tensor.BF16SliceToF32(meant, halves)
	default:
		data = bytesOf(buffer(meant))
	}
	w := weights.New()
	t.Cleanup(w.Release)
	require.NoError(t, w.Declare("w", typ))
	require.NoError(t, w.Set("w", data))
	return w, meant
}

// TestProductsOfWhatIsNotFinite: infinities and NaN go where IEEE says, and only there;
// 0 times infinity is NaN, but not the zeros that fill a tile up.
func TestProductsOfWhatIsNotFinite(t *testing.T) {
	const rows, nOut, nIn = 131, 51, 35
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	r := rand.New(rand.NewPCG(5, 6))
	x, w := random(r, tensor.Shape{rows, nIn}), random(r, tensor.Shape{nOut, nIn})
	x[0], x[7*nIn+34], x[130*nIn+33], x[9*nIn+2] = inf, -inf, nan, 0
	w[3*nIn+2], w[50*nIn+34], w[16*nIn] = inf, nan, 0
	for p := range everyProcessor(t) {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			ws, meant := storedAs(t, d, w, nOut, nIn)
			b := cpuBackend(t, 1)
			y := make([]float32, rows*nOut)
			require.NoError(t, build(t, b, newStream(t, b), productOf(t, ws, rows, nIn, 0)).Run(buffers(x), buffers(y), options()))
			for i, got := range y {
				want := 0.0
				for k := range nIn {
					want += float64(x[i/nOut*nIn+k]) * float64(meant[i%nOut*nIn+k])
				}
				switch {
				case math.IsNaN(want):
					require.True(t, math.IsNaN(float64(got)), "processor %v, %v, y[%d][%d] is %g, want NaN", p, d, i/nOut, i%nOut, got)
				case math.IsInf(want, 0):
					require.Equal(t, float32(want), got, "processor %v, %v, y[%d][%d]", p, d, i/nOut, i%nOut)
				default:
					require.InDelta(t, want, got, 0.1, "processor %v, %v, y[%d][%d]", p, d, i/nOut, i%nOut)
				}
			}
		}
	}
}

// TestProductsInBatches: each product of a batch has its own rows of x, and the factor
// that is repeated along the batch is found where it lies.
func TestProductsInBatches(t *testing.T) {
	op, err := ops.Lookup("matmul")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 8))
	for p := range everyProcessor(t) {
		for _, s := range [][2]tensor.Shape{
			{{5, 33, 40}, {5, 40, 31}},
			{{2, 3, 17, 65}, {2, 3, 65, 50}},
			{{2, 3, 40, 9}, {3, 9, 49}},
			{{4, 20, 33}, {33, 7}},
		} {
			for threads := 1; threads <= 2; threads++ {
				a, c := random(r, s[0]), random(r, s[1])
				g := newGraph(t)
				in := []ops.Ref{input(t, g, "a", tensor.F32, s[0]...), input(t, g, "b", tensor.F32, s[1]...)}
				require.NoError(t, g.Output("y", mustOp(t, g, "matmul", in)))
				call, err := op.NewCall([]tensor.Type{f32(s[0]...), f32(s[1]...)}, nil)
				require.NoError(t, err)
				want := ops.NewValue(call.Out[0])
				require.NoError(t, op.Eval(call, []ops.Value{value(f32(s[0]...), a), value(f32(s[1]...), c)}, []ops.Value{want}))

				b := cpuBackend(t, threads)
				y, o := make([]float32, call.Out[0].Shape.Elements()), options()
				o.Threads = threads
				require.NoError(t, build(t, b, newStream(t, b), g).Run(buffers(a, c), buffers(y), o))
				for i := range y {
					require.InDelta(t, want.F[i], y[i], 1e-4, "processor %v, %v, element %d", p, s, i)
				}
			}
		}
	}
}
