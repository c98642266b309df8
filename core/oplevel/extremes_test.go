package oplevel

import (
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/report"
	"qtsaccel/core/status"
)

// allocated is how many bytes of Go's heap f asks for.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Infinity in a long attention asks for a mask: the backend's business, not Go's heap's.
func TestAttentionWithInfinityOverManyKeys(t *testing.T) {
	c := open(t, &fake{name: "cpu"}, Around{})
	const n = 1 << 20
	rows := make([]float32, n)
	rows[7] = float32(math.Inf(1))
	p, out := unsafe.Pointer(&rows[0]), make([]float32, n)
	var err error
	require.Less(t, allocated(func() {
		err = c.Attention(p, p, p, Heads{TQ: n, TK: n, Heads: 1, KVHeads: 1, Dim: 1}, unsafe.Pointer(&out[0]), 0)
	}), uint64(1<<20))
	require.NoError(t, err)
}

// Scores that no number of bytes could hold, and a scale that f32 cannot.
func TestAttentionBeyondAnySize(t *testing.T) {
	c := open(t, &fake{name: "cpu"}, Around{})
	var x, y float32
	h := Heads{TQ: 1 << 40, TK: 1 << 40, Heads: 1, KVHeads: 1, Dim: 1}
	r := c.begin("attention", 0)
	defer c.end(r)
	err := c.compute(r, func(b *builder) { b.zeros(h.TQ, h.TK) })
	require.Equal(t, status.InvalidArgument, status.Of(err), "%v", err)
	for _, scale := range []float64{1e300, math.Inf(1), math.NaN()} {
		h := Heads{TQ: 1, TK: 1, Heads: 1, KVHeads: 1, Dim: 1, Scale: scale}
		err := c.Attention(unsafe.Pointer(&x), unsafe.Pointer(&x), unsafe.Pointer(&x), h, unsafe.Pointer(&y), 0)
		require.Equal(t, status.InvalidArgument, status.Of(err), "%v", err)
		require.ErrorContains(t, err, "scale is")
	}
}

// A convolution of more tiles than operators are kept for is refused before any is made.
func TestConv2DOfTooManyTiles(t *testing.T) {
	c := open(t, &fake{name: "device"}, Around{})
	for _, k := range []int64{3, 999} {
		m := kernel(t, c, k)
		g := Geometry{H: 1 << 20, W: 1 << 20, CIn: 1, K: k, Stride: 1, OH: 1 << 20, OW: 1 << 20}
		var x, y float32 // never looked at
		var err error
		require.Less(t, allocated(func() {
			err = c.conv2d(c.begin("conv2d", 0), unsafe.Pointer(&x), &g, nil, &Product{Weight: m, Y: unsafe.Pointer(&y), NOut: 1})
		}), uint64(1<<20))
		require.Equal(t, status.Unsupported, status.Of(err), "%v", err)
		require.ErrorContains(t, err, "tiles")
		m.Release()
	}
}

// kernel is one of k by k over one channel.
func kernel(t *testing.T, c *Calls, k int64) *Matrix {
	t.Helper()
	typ := f32(1, k, k, 1)
	m, err := c.NewMatrix(typ, make([]byte, typ.Bytes()))
	require.NoError(t, err)
	return m
}

// Tiles with one key have the same numbers.
func TestTilesThatShareNumbers(t *testing.T) {
	shared := 0
	for _, g := range []Geometry{
		{H: 9, W: 7, CIn: 1, K: 3, Stride: 1},
		{H: 9, W: 7, CIn: 1, K: 3, Stride: 2},
		{H: 30, W: 2, CIn: 1, K: 5, Stride: 1},
		{H: 4, W: 4, CIn: 1, K: 1, Stride: 3},
		{H: 3, W: 5, CIn: 1, K: 7, Stride: 1},
		{H: 2, W: 2, CIn: 1, K: 2, Stride: 1},
	} {
		g.OH, g.OW = (g.H+2*g.padding()-g.K)/g.Stride+1, (g.W+2*g.padding()-g.K)/g.Stride+1
		for _, tile := range []int64{1, 2, 3, g.OW, 2 * g.OW, g.OH * g.OW} {
			seen := map[tileKey][]byte{}
			for first := int64(0); first < g.OH*g.OW; first += tile {
				end := min(first+tile, g.OH*g.OW)
				top := max(0, first/g.OW*g.Stride-g.padding())
				bottom := min(g.H, (end-1)/g.OW*g.Stride-g.padding()+g.K)
				if bottom <= top {
					top, bottom = 0, 1
				}
				ids := make([]byte, 4*(end-first)*g.K*g.K)
				g.pixelNumbers(ids, first, end, top, bottom)
				key := g.tileKey(first, end, top, bottom)
				if other, ok := seen[key]; ok {
					shared++
					require.Equal(t, other, ids, "%+v, tiles of %d: %+v", g, tile, key)
				}
				seen[key] = ids
			}
		}
	}
	require.Greater(t, shared, 50)
}

// What a program's constants lie in goes back once they are uploaded.
func TestConstantsAreGivenBack(t *testing.T) {
	c := open(t, &fake{name: "device"}, Around{})
	g := Geometry{H: 64, W: 64, CIn: 1, K: 3, Stride: 1, OH: 64, OW: 64}
	m := kernel(t, c, 3)
	defer m.Release()
	x, y := make([]float32, 64*64), make([]float32, 64*64)
	kept := int64(-1)
	for range 3 {
		require.NoError(t, c.Conv2D(unsafe.Pointer(&x[0]), g, nil, Product{Weight: m, Y: unsafe.Pointer(&y[0]), NOut: 1}, 0))
		if kept < 0 {
			kept = mem.Live()
		}
		require.Equal(t, kept, mem.Live())
	}
	for _, w := range c.free {
		for p := range w.programs.All() {
			for _, f := range p.feeds {
				require.Empty(t, f.constant)
			}
		}
	}
}

// A stream that a failed assertion has spoilt is replaced: calls go on.
func TestSpoiltWorkersAreReplaced(t *testing.T) {
	f := &fake{name: "cpu"}
	c := open(t, f, Around{})
	m := square(t, c)
	defer m.Release()
	fails := maxWorkers + 3
	f.fail = func() error {
		if fails--; fails >= 0 {
			return status.Errorf(status.Internal, "ggml: GGML_ASSERT(x) failed")
		}
		return nil
	}
	x, y := make([]float32, 64), make([]float32, 64)
	call := func() error {
		n := m.nIn()
		return c.Matmul(unsafe.Pointer(&x[0]), 1, n, []Product{{Weight: m, Y: unsafe.Pointer(&y[0]), NOut: m.nOut()}}, 0)
	}
	for range maxWorkers + 3 {
		require.Equal(t, status.Internal, status.Of(call()))
		require.Zero(t, f.streams.Load())
	}
	require.NoError(t, call())
	require.EqualValues(t, 1, f.streams.Load())
}

// Thresholds are numbers that a report can tell.
func TestThresholdsAreFinite(t *testing.T) {
	c := open(t, &fake{name: "cpu"}, Around{})
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), -1} {
		for _, threshold := range []Threshold{{MinFlops: v}, {FlopsPerByte: v}} {
			err := c.SetThreshold("matmul", threshold)
			require.Equal(t, status.InvalidArgument, status.Of(err), "%v", err)
		}
	}
	require.NoError(t, c.SetThreshold("matmul", Threshold{never, never}))
	stats := c.Stats()
	text, err := report.JSON.Write(&stats)
	require.NoError(t, err)
	require.Contains(t, text, `"min_flops": 1.797`)
}
