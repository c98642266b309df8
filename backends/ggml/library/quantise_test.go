package library

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// ggml's routines store what package quant reads: near the values, the better the
// more bits there are, and the same from several threads.
func TestQuantise(t *testing.T) {
	l := openLibrary(t)
	r := rand.New(rand.NewPCG(1, 2))
	src := make([]float32, 256*64)
	for i := range src {
		src[i] = float32(r.NormFloat64())
	}
	for d, bound := range map[tensor.DType]float64{
		tensor.Q2_K: 0.12, tensor.Q3_K: 0.05, tensor.Q4_K: 0.01, tensor.Q5_K: 0.003, tensor.Q6_K: 0.0009, // mean squares
		tensor.Q8_0: 0.0001, tensor.Q4_0: 0.012, tensor.Q4_1: 0.01, tensor.Q5_0: 0.003, tensor.Q5_1: 0.003, tensor.IQ4NL: 0.009, tensor.MXFP4: 0.03,
	} {
		block, bytes := d.Block()
		dst := make([]byte, int64(len(src))/block*bytes)
		require.NoError(t, l.Quantise(d, dst, src, nil), "%v", d)
		back := make([]float32, len(src))
		require.NoError(t, quant.Decode(d, back, dst))
		sum := 0.0
		for i := range src {
			off := float64(back[i] - src[i])
			sum += off * off
		}
		mean := sum / float64(len(src))
		require.Less(t, mean, bound, "%v", d)
		require.Greater(t, mean, bound/10, "%v", d)

		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				again := make([]byte, len(dst))
				if err := l.Quantise(d, again, src, nil); err != nil || string(again) != string(dst) {
					t.Errorf("%v on another thread: %v", d, err)
				}
			})
		}
		group.Wait()
	}
	require.NoError(t, l.Quantise(tensor.Q4_K, nil, nil, nil))
	for _, d := range []tensor.DType{tensor.F32, tensor.Q4_K, 99} {
		require.Equal(t, status.ShapeMismatch, status.Of(l.Quantise(d, make([]byte, 100), src[:100], nil)), "%v", d)
	}
}

// Where a few columns matter more, they come out nearer, the others less near.
func TestQuantiseByImportance(t *testing.T) {
	l := openLibrary(t)
	const rows, columns = 64, 512
	r := rand.New(rand.NewPCG(3, 4))
	src, importance := make([]float32, rows*columns), make([]float32, columns)
	for i := range src {
		src[i] = float32(r.NormFloat64())
	}
	for i := range importance {
		importance[i] = 1
		if i%8 == 0 {
			importance[i] = 1000
		}
	}
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.IQ4NL} {
		block, bytes := d.Block()
		off := func(importance []float32) (squares [2]float64) {
			dst := make([]byte, int64(len(src))/block*bytes)
			require.NoError(t, l.Quantise(d, dst, src, importance))
			back := make([]float32, len(src))
			require.NoError(t, quant.Decode(d, back, dst))
			for i := range src {
				e := float64(back[i] - src[i])
				if i%8 == 0 {
					squares[0] += e * e
				} else {
					squares[1] += e * e
				}
			}
			return squares
		}
		without, with := off(nil), off(importance)
		require.Less(t, with[0], 0.8*without[0], "%v, where it matters", d)
		require.Greater(t, with[1], without[1], "%v, where it does not", d)
	}
	for _, wrong := range [][]float32{{}, importance[:100], importance[:384]} {
		require.Equal(t, status.ShapeMismatch, status.Of(l.Quantise(tensor.Q4_K, make([]byte, 288), src[:512], wrong)), "%d columns", len(wrong))
	}
}
