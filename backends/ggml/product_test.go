package ggml

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// manyRows are so many that our own kernel takes weights of each dtype, where any.
const manyRows = 128

// TestProductsOfEveryProcessor holds the kernel's variants for lesser processors to sums
// in float64, with quantised weights as ggml stores and expands them; package kernels does
// so at every size.
func TestProductsOfEveryProcessor(t *testing.T) {
	// [rows, n_out, n_in]
	blocks := [][3]int64{
		{manyRows, 1, 256}, {129, 31, 256}, {130, 33, 512}, {133, 49, 768}, {135, 97, 256}, {521, 17, 256}, {130, 7, 5376},
	}
	alone, together := plainBackend(t, 1), plainBackend(t, 2)
	for _, d := range []tensor.DType{
		tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
		tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.IQ4NL, tensor.MXFP4,
	} {
		for i, s := range blocks {
			p, b := newTestProduct(t, d, s[0], s[1], s[2], int64(i%3)), alone
			if i == 3 {
				b = together
			}
			for with := range kerneltest.EveryProcessor(t) {
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

func (p *testProduct) check(t *testing.T, with kernels.Processor, b *Backend) {
	t.Helper()
	y, o := make([]float32, p.rows*p.nOut), options()
	o.Threads = b.info.Threads
	require.NoError(t, build(t, b, newStream(t, b), productOf(t, p.weights, p.rows, p.nIn, p.wider)).Run(buffers(p.x), buffers(y), o))

	// Each of the summed products is off by at most so much of itself, in whatever
	// direction.
	each := 1e-6
	if with == kernels.WithAVX512BF16 && p.dtype != tensor.F32 && p.dtype != tensor.F16 {
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
