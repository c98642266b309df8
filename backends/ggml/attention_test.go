package ggml

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// attend runs attention on the CPU with q [t, heads, d] and k, v [n, kvHeads, d] of a
// dtype; positions may be nil.
func attend(t *testing.T, threads int, d tensor.DType, q, k, v []float32, shape [5]int64, positions []int32) []float32 {
	t.Helper()
	rows, heads, n, kvHeads, size := shape[0], shape[1], shape[2], shape[3], shape[4]
	b := cpuBackend(t, threads)
	g := graph.New("attention")
	defer g.Release()
	input := func(name string, d tensor.DType, s ...int64) ops.Ref {
		r, err := g.Input(name, tensor.Type{DType: d, Shape: s})
		require.NoError(t, err)
		return r
	}
	in := []ops.Ref{input("q", tensor.F32, rows, heads, size), input("k", d, n, kvHeads, size), input("v", d, n, kvHeads, size)}
	data := buffers(asBytes(tensor.F32, q), asBytes(d, k), asBytes(d, v))
	if positions != nil {
		in = append(in, ops.None, input("positions", tensor.I32, rows))
		data = append(data, buffers(positions)...)
	}
	require.NoError(t, g.Output("y", mustOp(t, g, "attention", in)))
	x := build(t, b, newStream(t, b), g)
	y := make([]float32, rows*heads*size)
	o := options()
	o.Threads = threads
	require.NoError(t, x.Run(data, buffers(y), o))
	return y
}

// asBytes gives numbers as they lie in memory in a dtype.
func asBytes(d tensor.DType, x []float32) []byte {
	v := ops.NewValue(tensor.Type{DType: d, Shape: tensor.Shape{int64(len(x))}})
	for i, f := range x {
		v.F[i] = float64(f)
	}
	_, size := d.Block()
	data := make([]byte, int64(len(x))*size)
	if err := v.Encode(data); err != nil {
		panic(err)
	}
	return data
}

func equalNumbers(n int64, v float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = v
	}
	return x
}

func normalNumbers(seed uint64, n int64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// eachProcessor runs f with the kernels for each kind of processor that this one is.
func eachProcessor(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for p := range everyProcessor(t) {
		t.Run(p.String(), f)
	}
}

// The mean of equal values is that value: f16 sums lose 3 among 20,000, and end beyond
// 65,504.
func TestAttentionOverManyF16Values(t *testing.T) {
	eachProcessor(t, func(t *testing.T) {
		for _, c := range []struct {
			n int64
			v float32
		}{{2, 40000}, {66, 1000}, {1500, 44}, {8192, 9}, {20000, 3}} {
			for _, rows := range []int64{1, 8, 64} {
				y := attend(t, 1, tensor.F16, equalNumbers(rows*64, 1), equalNumbers(c.n*64, 0), equalNumbers(c.n*64, c.v), [5]int64{rows, 1, c.n, 1, 64}, nil)
				for _, got := range y {
					require.InEpsilon(t, c.v, got, 1e-5, "%d queries of %d keys", rows, c.n)
				}
			}
		}
	})
}

func TestAttentionIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.F32} {
		for _, rows := range []int64{1, 8, 64} {
			q, k, v := normalNumbers(1, rows*4*64), normalNumbers(2, 3000*2*64), normalNumbers(3, 3000*2*64)
			shape := [5]int64{rows, 4, 3000, 2, 64}
			want := attend(t, 1, d, q, k, v, shape, nil)
			for _, threads := range []int{2, 3, 5} {
				require.Equal(t, want, attend(t, threads, d, q, k, v, shape, nil), "%v, %d queries, %d threads", d, rows, threads)
			}
		}
	}
}

// What lies in a cache behind the last position may be anything.
func TestAttentionLeavesOutWhatIsHidden(t *testing.T) {
	eachProcessor(t, func(t *testing.T) {
		for _, d := range []tensor.DType{tensor.F16, tensor.F32} {
			for _, rows := range []int64{1, 5, 40} {
				for _, garbage := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					const n, seen = 1200, 700
					k, v := normalNumbers(2, n*2*24), normalNumbers(3, n*2*24)
					positions := make([]int32, rows)
					for i := range positions {
						positions[i] = int32(seen - int(rows) + i)
					}
					q := normalNumbers(1, rows*4*24)
					want := attend(t, 1, d, q, k, v, [5]int64{rows, 4, n, 2, 24}, positions)
					for i := seen * 2 * 24; i < len(k); i++ {
						k[i], v[i] = float32(garbage), float32(garbage)
					}
					require.Equal(t, want, attend(t, 1, d, q, k, v, [5]int64{rows, 4, n, 2, 24}, positions),
						"%v, %d queries, %v", d, rows, garbage)
					// The last one's own key is hidden from the others.
					last := int64(seen-1) * 2 * 24
					for i := last; i < last+48; i++ {
						k[i], v[i] = float32(garbage), float32(garbage)
					}
					got := attend(t, 1, d, q, k, v, [5]int64{rows, 4, n, 2, 24}, positions)
					for i := range got[:(rows-1)*4*24] {
						require.InDelta(t, want[i], got[i], 1e-5, "%v, %d queries, %v, element %d", d, rows, garbage, i)
					}
				}
			}
		}
	})
}

// The kernels of our own that are compiled for each processor.
func TestOwnKernelsOnEachProcessor(t *testing.T) {
	eachProcessor(t, func(t *testing.T) {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%d threads", threads), func(t *testing.T) {
				backendtest.RunOperators(t, cpuBackend(t, threads), "attention", "rope", "rms_norm", "layer_norm", "group_norm")
			})
		}
	})
}
