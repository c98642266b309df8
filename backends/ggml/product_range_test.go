package ggml

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// weightDTypes are the dtypes that a product's weight may have.
var weightDTypes = []tensor.DType{
	tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
	tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.IQ4NL, tensor.MXFP4,
}

// TestProductsOfEveryMagnitude: ggml rounds the input as suits the weight, to formats
// that do not hold all of f32. The result is right all the same, relative to its largest
// element, with few rows and many, on every processor, with weights as they are stored
// and rearranged, also where rows of several magnitudes meet.
func TestProductsOfEveryMagnitude(t *testing.T) {
	const nOut, nIn = 72, 512
	op, err := ops.Lookup("linear")
	require.NoError(t, err)
	magnitudes := []float64{1e-30, 1e-6, 1e-3, 1, 2100, 7e4, 1e7, 1e30}
	streams := productStreams(t)
	for _, d := range weightDTypes {
		w, meant := stored(t, d, nOut, nIn)
		call, err := op.NewCall([]tensor.Type{f32(1, nIn), {DType: d, Shape: tensor.Shape{nOut, nIn}}}, nil)
		require.NoError(t, err)
		tolerance := call.Tolerance(24)
		for _, rows := range []int64{1, 2, 7, 8, 64} {
			normal := normal(rows * nIn)
			inputs, wants := map[float64][]float32{}, map[float64][]float64{}
			for _, m := range append(magnitudes, 0) { // 0: each row has another one
				x := make([]float32, rows*nIn)
				for i := range x {
					by := m
					if m == 0 {
						by = magnitudes[i/nIn%len(magnitudes)]
					}
					x[i] = float32(by) * normal[i]
				}
				inputs[m], wants[m] = x, productInFloat64(x, meant, nIn)
			}
			y := make([]float32, rows*nOut)
			for p := range kerneltest.EveryProcessor(t) {
				for _, s := range streams {
					plan, o := build(t, s.backend, s, productOf(t, w, rows, nIn, 0)), options()
					o.Threads = s.backend.info.Threads
					for m, x := range inputs {
						require.NoError(t, plan.Run(buffers(x), buffers(y), o))
						for r := range rows {
							requireNear(t, wants[m][r*nOut:][:nOut], y[r*nOut:][:nOut], tolerance,
								fmt.Sprintf("%v, %v, %d rows of %g, row %d, rearranged %v", p, d, rows, m, r, s.backend.info.Threads == 1))
						}
					}
				}
			}
		}
	}
}

// productStreams are of backends that rearrange weights, on one thread, and keep them as
// they are, on two.
func productStreams(t *testing.T) []*stream {
	var list []*stream
	for _, b := range []*Backend{cpuBackend(t, 1), plainBackend(t, 2)} {
		list = append(list, newStream(t, b).(*stream))
	}
	return list
}

// TestProductsOfEveryValue: infinity and NaN in a row of the input reach what IEEE says,
// and only that row's results; what is largest of all f32 and cancels does no harm.
func TestProductsOfEveryValue(t *testing.T) {
	const nOut, nIn, rows = 72, 512, 7
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	streams := productStreams(t)
	for _, d := range weightDTypes {
		if d == tensor.F32 {
			continue // multiplied as it is: TestProductsOfWhatIsNotFinite
		}
		w, meant := stored(t, d, nOut, nIn)
		x := normal(rows * nIn)
		x[0*nIn+5], x[1*nIn+511], x[2*nIn+256], x[3*nIn], x[3*nIn+1] = inf, -inf, nan, inf, -inf
		x[4*nIn+300] = 1e38
		clear(x[5*nIn:][:nIn])
		want, bias := productInFloat64(x, meant, nIn), normal(nOut)
		for i := range want {
			want[i] += float64(bias[i%nOut])
		}
		for p := range kerneltest.EveryProcessor(t) {
			for _, s := range streams {
				g := newGraph(t)
				weight, err := g.Weight(w, "w")
				require.NoError(t, err)
				in := []ops.Ref{input(t, g, "x", tensor.F32, rows, nIn), weight, input(t, g, "b", tensor.F32, nOut)}
				require.NoError(t, g.Output("y", mustOp(t, g, "linear", in)))
				y, o := make([]float32, rows*nOut), options()
				o.Threads = s.backend.info.Threads
				require.NoError(t, build(t, s.backend, s, g).Run(buffers(x, bias), buffers(y), o))
				for r := range rows {
					requireNear(t, want[r*nOut:][:nOut], y[r*nOut:][:nOut], 2e-2,
						fmt.Sprintf("%v, %v, row %d, rearranged %v", p, d, r, s.backend.info.Threads == 1))
				}
			}
		}
	}
}

// Both factors may be results, and the f16 one may be repeated along the batch.
func TestProductsOfEveryMagnitudeInBatches(t *testing.T) {
	b := cpuBackend(t, 2)
	r := rand.New(rand.NewPCG(11, 12))
	x, w := random(r, tensor.Shape{2, 3, 5, 40}), random(r, tensor.Shape{3, 9, 40})
	for i := range x {
		x[i] *= float32(math.Pow(10, float64(i/40%5*4)-6)) // 1e-6 to 1e10, row by row
	}
	g := newGraph(t)
	half := mustOp(t, g, "cast", []ops.Ref{input(t, g, "w", tensor.F32, 3, 9, 40)}, ops.TextAttr("dtype", "f16"))
	turned := mustOp(t, g, "transpose", []ops.Ref{half}, ops.IntsAttr("axes", 0, 2, 1))
	require.NoError(t, g.Output("y", mustOp(t, g, "matmul", []ops.Ref{input(t, g, "x", tensor.F32, 2, 3, 5, 40), turned})))
	y, o := make([]float32, 2*3*5*9), options()
	o.Threads = 2
	require.NoError(t, build(t, b, newStream(t, b), g).Run(buffers(w, x), buffers(y), o))
	_, meant := storedAs(t, tensor.F16, w, 27, 40)
	for batch := range 6 {
		want := productInFloat64(x[batch*5*40:][:5*40], meant[batch%3*9*40:][:9*40], 40)
		for row := range 5 {
			requireNear(t, want[row*9:][:9], y[(batch*5+row)*9:][:9], 2e-3, fmt.Sprintf("matrix %d, row %d", batch, row))
		}
	}
}

// productInFloat64 is x w^T.
func productInFloat64(x, w []float32, nIn int) []float64 {
	rows, nOut := len(x)/nIn, len(w)/nIn
	y := make([]float64, rows*nOut)
	for i := range y {
		a, b := x[i/nOut*nIn:][:nIn], w[i%nOut*nIn:][:nIn]
		for k, v := range a {
			y[i] += float64(v) * float64(b[k])
		}
	}
	return y
}

// requireNear compares a row with what it should be: where that is NaN or, in f32,
// infinite, it is, and elsewhere off by no more than so much of the largest element.
func requireNear(t *testing.T, want []float64, got []float32, tolerance float64, about string) {
	t.Helper()
	largest := 0.0
	for _, v := range want {
		if f := float64(float32(v)); !math.IsInf(f, 0) && !math.IsNaN(f) {
			largest = max(largest, math.Abs(v))
		}
	}
	for i, v := range want {
		switch f := float64(float32(v)); {
		case math.IsNaN(f) != math.IsNaN(float64(got[i])), math.IsInf(f, 0) && float64(got[i]) != f,
			!math.IsNaN(f) && !math.IsInf(f, 0) && !(math.Abs(float64(got[i])-v) <= tolerance*largest):
			t.Fatalf("%s: element %d is %g, want %g within %g", about, i, got[i], v, tolerance*largest)
		}
	}
}

// TestProductsOfWhatBF16CannotHold: rounded to bf16 the largest numbers of f32 are
// infinite, and processors that multiply bf16 take denormal ones for zero. The result is
// that of the numbers as they are.
func TestProductsOfWhatBF16CannotHold(t *testing.T) {
	const nIn, rows, nOut, whereAllAreZero, whereOneIsInfinite = 64, 40, 33, 40, 50
	values, x := make([]float32, nOut*nIn), make([]float32, rows*nIn)
	for i := range values {
		values[i] = float32(i%5 - 2)
	}
	for n := range nOut {
		values[n*nIn+n], values[n*nIn+whereAllAreZero] = 0, 0
	}
	values[3*nIn+whereOneIsInfinite] = float32(math.Inf(1))
	for m := range rows {
		x[m*nIn+m%nOut] = math.MaxFloat32
		x[m*nIn+whereAllAreZero] = -math.MaxFloat32
		x[m*nIn+whereOneIsInfinite] = 1e-40
	}
	w, meant := storedAs(t, tensor.BF16, values, nOut, nIn)
	want := productInFloat64(x, meant, nIn)
	for p := range kerneltest.EveryProcessor(t) {
		for _, s := range productStreams(t) {
			y, o := make([]float32, rows*nOut), options()
			o.Threads = s.backend.info.Threads
			require.NoError(t, build(t, s.backend, s, productOf(t, w, rows, nIn, 0)).Run(buffers(x), buffers(y), o))
			for i, v := range want {
				require.Equal(t, float32(v), y[i], "%v, result %d, rearranged %v", p, i, s.backend.info.Threads == 1)
			}
		}
	}
}
