package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// attention is a call of it; mask and positions may be left out.
type attention struct {
	q, k, v         ops.Value
	mask, positions *ops.Value
	causal          bool
	window          int64
}

// run computes it on so many threads.
func (a attention) run(t testing.TB, threads int) ops.Value {
	t.Helper()
	qs, ks, dv := a.q.Type.Shape, a.k.Type.Shape, a.v.Type.Shape[2]
	scale := 1 / math.Sqrt(float64(qs[2]))
	window := halves(a.window)
	numbers := []int32{floatBits(scale), 0, window[0], window[1], 0, 0}
	if a.causal {
		numbers[1] = 1
	}
	list := operands(t, a.q, a.k, a.v)
	in := []kerneltest.Operand{list[0], list[1], scratch(kernels.AttentionScratch(qs[2], dv, threads)), list[2]}
	if a.mask != nil {
		numbers[4] = 1
		in = append(in, kerneltest.OfValue(t, *a.mask))
	}
	if a.positions != nil {
		numbers[5] = 1
		in = append(in, kerneltest.OfValue(t, *a.positions))
	}
	out := f32(qs[0], qs[1], dv)
	chunk := kernels.AttentionChunk(qs[0], qs[1], ks[1], ks[0])
	if chunk >= ks[0] {
		return result(t, "attention", threads, numbers, out, in...)
	}
	chunks := (ks[0] + chunk - 1) / chunk
	parts := result(t, "attention", threads, numbers, f32(chunks, qs[0]*qs[1], dv+2), in...)
	return result(t, "combine", threads, nil, out, kerneltest.OfValue(t, parts))
}

// want is its result by the formula.
func (a attention) want(t testing.TB) ops.Value {
	t.Helper()
	in := []ops.Value{a.q, a.k, a.v, {}, {}}
	if a.mask != nil {
		in[3] = *a.mask
	}
	if a.positions != nil {
		in[4] = *a.positions
	}
	attrs := []ops.AttrArg{ops.IntAttr("window", a.window)}
	if a.causal {
		attrs = append(attrs, ops.IntAttr("causal", 1))
	}
	return evaluate(t, "attention", attrs, in...)[0]
}

// TestAttention holds every variant to the formula: few rows and many, keys in one piece
// and in chunks, heads of every length, grouped or not.
func TestAttention(t *testing.T) {
	r := newRand()
	for _, c := range []struct{ t, heads, n, kvHeads, d, dv, window int64 }{
		{1, 4, 9, 2, 64, 64, 0},
		{3, 2, 97, 2, 24, 17, 0},
		{50, 4, 200, 1, 33, 40, 0},
		{8, 8, 1100, 8, 64, 64, 100},
		{1, 4, 3000, 2, 16, 16, 0},
		{40, 1, 40, 1, 5, 3, 7},
	} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			a := attention{
				q: normal(t, r, tensor.F32, c.t, c.heads, c.d), k: normal(t, r, d, c.n, c.kvHeads, c.d), v: normal(t, r, d, c.n, c.kvHeads, c.dv),
				causal: c.window > 0, window: c.window,
			}
			mask, positions := normal(t, r, tensor.F32, c.t, c.n), integers()
			positions.Type.Shape[0] = c.t
			for i := range c.t {
				mask.F[i*c.n+(i*7)%c.n] = math.Inf(-1)
				positions.I = append(positions.I, (c.n-c.t+i)/2)
			}
			masked, placed := a, a
			masked.mask, placed.positions, placed.causal = &mask, &positions, false
			for kind, a := range map[string]attention{"plain": a, "masked": masked, "placed": placed} {
				want := a.want(t)
				for p := range kerneltest.EveryProcessor(t) {
					requireNear(t, want.F, a.run(t, 2).F, 2e-5, "%v, %v, %s, %+v", p, d, kind, c)
				}
			}
		}
	}
}

func equal(d tensor.DType, v float64, shape ...int64) ops.Value {
	x := ops.NewValue(tensor.Type{DType: d, Shape: shape})
	for i := range x.F {
		x.F[i] = v
	}
	return x
}

// The mean of equal values is that value: f16 sums lose 3 among 20,000, and end beyond
// 65,504.
func TestAttentionOverManyF16Values(t *testing.T) {
	for range kerneltest.EveryProcessor(t) {
		for _, c := range []struct {
			n int64
			v float64
		}{{2, 40000}, {66, 1000}, {1500, 44}, {8192, 9}, {20000, 3}} {
			for _, rows := range []int64{1, 8, 64} {
				a := attention{q: equal(tensor.F32, 1, rows, 1, 64), k: equal(tensor.F16, 0, c.n, 1, 64), v: equal(tensor.F16, c.v, c.n, 1, 64)}
				for _, got := range a.run(t, 1).F {
					require.InEpsilon(t, c.v, got, 1e-5, "%d queries of %d keys", rows, c.n)
				}
			}
		}
	}
}

func TestAttentionIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	r := newRand()
	for _, d := range []tensor.DType{tensor.F16, tensor.F32} {
		for _, rows := range []int64{1, 8, 64} {
			a := attention{q: normal(t, r, tensor.F32, rows, 4, 64), k: normal(t, r, d, 3000, 2, 64), v: normal(t, r, d, 3000, 2, 64)}
			want := a.run(t, 1)
			for _, threads := range []int{2, 3, 5} {
				require.Equal(t, want.F, a.run(t, threads).F, "%v, %d queries, %d threads", d, rows, threads)
			}
		}
	}
}

// What lies in a cache behind the last position may be anything.
func TestAttentionLeavesOutWhatIsHidden(t *testing.T) {
	const n, seen, size = 1200, 700, 24
	r := newRand()
	for range kerneltest.EveryProcessor(t) {
		for _, d := range []tensor.DType{tensor.F16, tensor.F32} {
			for _, rows := range []int64{1, 5, 40} {
				for _, garbage := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					positions := integers()
					positions.Type.Shape[0] = rows
					for i := range rows {
						positions.I = append(positions.I, seen-rows+i)
					}
					a := attention{q: normal(t, r, tensor.F32, rows, 4, size), k: normal(t, r, d, n, 2, size), v: normal(t, r, d, n, 2, size), positions: &positions}
					want := a.run(t, 1)
					for i := seen * 2 * size; i < len(a.k.F); i++ {
						a.k.F[i], a.v.F[i] = garbage, garbage
					}
					require.Equal(t, want.F, a.run(t, 1).F, "%v, %d queries, %v", d, rows, garbage)
					// The last one's own key is hidden from the others.
					last := (seen - 1) * 2 * size
					for i := last; i < last+2*size; i++ {
						a.k.F[i], a.v.F[i] = garbage, garbage
					}
					others := (rows - 1) * 4 * size
					requireNear(t, want.F[:others], a.run(t, 1).F[:others], 1e-5, "%v, %d queries, %v", d, rows, garbage)
				}
			}
		}
	}
}
