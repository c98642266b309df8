package ggml

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// quantised makes weights of one tensor "w" from random numbers, and gives what the
// tensor then means.
func quantised(t *testing.T, d tensor.DType, nOut, nIn int64) (*weights.Weights, []float32) {
	r := rand.New(rand.NewPCG(uint64(nOut), uint64(nIn)))
	values := make([]float32, nOut*nIn)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	typ := tensor.Type{DType: d, Shape: tensor.Shape{nOut, nIn}}
	data := make([]byte, typ.Bytes())
	require.NoError(t, openLibrary(t).Quantise(d, data, values, nil))
	require.NoError(t, quant.Decode(d, values, data))
	w := weights.New()
	t.Cleanup(w.Release)
	require.NoError(t, w.Declare("w", typ))
	require.NoError(t, w.Set("w", data))
	return w, values
}

// productOf is y = x w^T, x being columns [1, nIn] of an input that is 1 or 0 columns
// wider on each side.
func productOf(t *testing.T, w *weights.Weights, rows, nIn, wider int64) *graph.Graph {
	g := newGraph(t)
	x := input(t, g, "x", tensor.F32, rows, nIn+2*wider)
	if wider > 0 {
		x = mustOp(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 1), ops.IntAttr("start", wider), ops.IntAttr("end", wider+nIn))
	}
	weight, err := g.Weight(w, "w")
	require.NoError(t, err)
	require.NoError(t, g.Output("y", mustOp(t, g, "linear", []ops.Ref{x, weight})))
	return g
}

func normal(n int64) []float32 {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// requireProduct compares y with the sums in float64. ggml takes x in blocks of 8-bit
// levels: each element is off by half a level, of which the largest of its block has
// 127, and by the scale's rounding to f16, 2^-11 of itself, at most.
func requireProduct(t *testing.T, d tensor.DType, w, x, y []float32, nIn, wider int64, about string) {
	block, _ := d.Block()
	nOut := int64(len(w)) / nIn
	rows := int64(len(y)) / nOut
	off, most := 0.0, 0.0 // sums of squares of the errors and of what they may be
	for row := range rows {
		if rows > 64 && row%13 > 0 {
			continue
		}
		xs := x[row*(nIn+2*wider)+wider:][:nIn]
		bound := make([]float64, nIn)
		for i := range bound {
			level := 0.0
			for _, v := range xs[int64(i)/block*block:][:block] {
				level = max(level, math.Abs(float64(v))/127)
			}
			bound[i] = level/2 + math.Abs(float64(xs[i]))/2048
		}
		for o := range nOut {
			sum, may := 0.0, 1e-3
			for i, v := range w[o*nIn:][:nIn] {
				sum += float64(v) * float64(xs[i])
				may += math.Abs(float64(v)) * bound[i]
			}
			e := math.Abs(float64(y[row*nOut+o]) - sum)
			require.LessOrEqual(t, e, may, "%s: row %d, column %d", about, row, o)
			off += e * e
			most += may * may
		}
	}
	require.Less(t, math.Sqrt(off/most), 0.1, "%s: errors have both signs", about)
}

// repackedOf are the names of a plan's rearranged weights.
func repackedOf(x backend.Executable) (names []string) {
	for _, w := range x.Placement().Repacked {
		names = append(names, w.Weight)
	}
	return names
}

// repacks says whether the processor at hand has a layout for a type.
func repacks(t *testing.T, b *Backend, d tensor.DType) bool {
	w, _ := quantised(t, d, 64, 256)
	at, err := w.At(0)
	require.NoError(t, err)
	_, ok := b.productLayout(at, 1)
	return ok
}

func TestRepackedProducts(t *testing.T) {
	const nIn = 512
	some := false
	b := cpuBackend(t, 3)
	s := newStream(t, b)
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q4_K, tensor.IQ4NL, tensor.MXFP4, tensor.Q8_0, tensor.Q2_K, tensor.Q6_K} {
		// Rearranged in two parts of 64 rows and one of 8, in one, and not at all.
		for _, nOut := range []int64{136, 8, 75} {
			w, values := quantised(t, d, nOut, nIn)
			for _, rows := range []int64{1, 3, 31, 32, 33, 512} {
				wider := rows % 2
				plan := build(t, b, s, productOf(t, w, rows, nIn, wider))
				x, y := normal(rows*(nIn+2*wider)), make([]float32, rows*nOut)
				for _, threads := range []int{1, 3} {
					about := fmt.Sprintf("%v [%d, %d], %d rows, %d threads", d, nOut, nIn, rows, threads)
					o := options()
					o.Threads = threads
					clear(y)
					require.NoError(t, plan.Run(buffers(x), buffers(y), o))
					requireProduct(t, d, values, x, y, nIn, wider, about)
				}
				if nOut%2 == 1 {
					require.Empty(t, repackedOf(plan))
				}
				some = some || len(repackedOf(plan)) > 0
			}
		}
	}
	if !some {
		t.Log("this processor has no layout for any of the types")
	}
}

// What reads rows reads them as they are stored, also beside a product.
func TestRowsAndProductsOfOneWeight(t *testing.T) {
	b := cpuBackend(t, 2)
	const nOut, nIn = 64, 512
	w, values := quantised(t, tensor.Q4_0, nOut, nIn)
	g := productOf(t, w, 2, nIn, 0)
	ids := input(t, g, "ids", tensor.I32, 3)
	weight, err := g.Weight(w, "w")
	require.NoError(t, err)
	require.NoError(t, g.Output("rows", mustOp(t, g, "embedding", []ops.Ref{weight, ids})))
	plan := build(t, b, newStream(t, b), g)
	x, y, got := normal(2*nIn), make([]float32, 2*nOut), make([]float32, 3*nIn)
	require.NoError(t, plan.Run(append(buffers(x), buffers([]int32{63, 0, 17})...), buffers(y, got), options()))
	requireProduct(t, tensor.Q4_0, values, x, y, nIn, 0, "beside rows")
	for i, row := range []int{63, 0, 17} {
		require.Equal(t, values[row*nIn:][:nIn], got[i*nIn:][:nIn])
	}
	if repacks(t, b, tensor.Q4_0) {
		require.Equal(t, []string{"w"}, repackedOf(plan))
	}
}

// Data that the host wants used where it lies is; so is all where the backend is told.
func TestWhatIsNeverRepacked(t *testing.T) {
	const nOut, nIn = 64, 256
	w, values := quantised(t, tensor.Q4_0, nOut, nIn)
	path := filepath.Join(t.TempDir(), "w.gguf")
	require.NoError(t, modelfile.Save(w, path, nil, nil))
	open := func(p weights.Placement) *weights.Weights {
		opened, err := modelfile.Open(path, modelfile.Options{Placement: p})
		require.NoError(t, err)
		t.Cleanup(opened.Release)
		return opened
	}
	at, err := w.At(0)
	require.NoError(t, err)
	data, err := at.Freeze()
	require.NoError(t, err)
	lent := weights.New()
	t.Cleanup(lent.Release)
	require.NoError(t, lent.Declare("w", at.Type))
	require.NoError(t, lent.SetArray("w", weights.Array{Type: at.Type, Data: data, Release: func() {}}))

	usual, plain := cpuBackend(t, 1), plainBackend(t, 1)
	for _, c := range []struct {
		name     string
		backend  *Backend
		weights  *weights.Weights
		repacked bool
	}{
		{"from memory", usual, w, true},
		{"copied", usual, open(weights.Copied), true},
		{"auto", usual, open(weights.Auto), true},
		{"mapped", usual, open(weights.Mapped), false},
		{"lent", usual, lent, false},
		{"told not to", plain, w, false},
	} {
		plan := build(t, c.backend, newStream(t, c.backend), productOf(t, c.weights, 5, nIn, 0))
		x, y := normal(5*nIn), make([]float32, 5*nOut)
		require.NoError(t, plan.Run(buffers(x), buffers(y), options()))
		requireProduct(t, tensor.Q4_0, values, x, y, nIn, 0, c.name)
		require.Equal(t, c.repacked && repacks(t, c.backend, tensor.Q4_0), len(repackedOf(plan)) > 0, c.name)
	}
	require.Same(t, unsafe.SliceData(data), unsafe.SliceData(dataOf(t, lent)))
}

func dataOf(t *testing.T, w *weights.Weights) []byte {
	at, err := w.At(0)
	require.NoError(t, err)
	data, err := at.Freeze()
	require.NoError(t, err)
	return data
}

// TestProductsOverOneBlock: what lay in the memory of a product does not matter, here
// what it was the time before.
func TestProductsOverOneBlock(t *testing.T) {
	const nOut, rows = 64, 96
	for _, d := range weightDTypes {
		if !d.Quantised() {
			continue
		}
		block, _ := d.Block()
		w, meant := stored(t, d, nOut, block)
		x := normal(rows * block)
		want := productInFloat64(x, meant, int(block))
		b := cpuBackend(t, 1)
		s := newStream(t, b)
		plan, y := build(t, b, s, productOf(t, w, rows, block, 0)), make([]float32, rows*nOut)
		for run := range 3 {
			require.NoError(t, plan.Run(buffers(x), buffers(y), options()))
			requireNear(t, want, y, 2e-2, fmt.Sprintf("%v, run %d", d, run))
		}
	}
}
