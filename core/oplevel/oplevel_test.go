package oplevel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// fake is a backend that computes nothing, fills its outputs with its mark, and counts
// what is open.
type fake struct {
	backend.Backend
	name    string
	mark    byte
	only    string // the one operator that it supports, "": all
	slow    func(p *graph.Program) time.Duration
	fail    func() error // what a run ends with, nil: nothing
	streams atomic.Int64
	execs   atomic.Int64
	builds  atomic.Int64
	running atomic.Int64
	most    atomic.Int64 // that ran at the same time
	closed  bool
	// fallback, if not nil, takes what the fake does not support.
	fallback backend.Backend
}

// assisted is a fake with a fallback.
type assisted struct{ *fake }

func (a assisted) Supports(*ops.Call) bool   { return true }
func (a assisted) Own(c *ops.Call) bool      { return a.fake.Supports(c) }
func (a assisted) Fallback() backend.Backend { return a.fallback }

func (f *fake) Info() backend.Info {
	return backend.Info{Name: f.name, OnHost: f.name == "cpu" || f.name == "reference"}
}
func (f *fake) Supports(c *ops.Call) bool { return f.only == "" || c.Op.Name == f.only }
func (f *fake) Close() error              { f.closed = true; return nil }
func (f *fake) NewStream() (backend.Stream, error) {
	f.streams.Add(1)
	return &fakeStream{f: f}, nil
}

type fakeStream struct {
	backend.Stream
	f *fake
}

func (s *fakeStream) Build(p *graph.Program) (backend.Executable, error) {
	for _, t := range p.Tensors {
		if t.Weight != nil {
			t.Weight.Retain()
		}
	}
	s.f.execs.Add(1)
	s.f.builds.Add(1)
	return &fakeExec{s.f, p}, nil
}

func (s *fakeStream) Close() error { s.f.streams.Add(-1); return nil }

type fakeExec struct {
	f *fake
	p *graph.Program
}

func (x *fakeExec) Run(_, out []backend.Buffer, _ *backend.RunOptions) error {
	n := x.f.running.Add(1)
	defer x.f.running.Add(-1)
	for most := x.f.most.Load(); n > most && !x.f.most.CompareAndSwap(most, n); most = x.f.most.Load() {
		continue
	}
	if x.f.slow != nil {
		time.Sleep(x.f.slow(x.p))
	}
	if x.f.fail != nil {
		if err := x.f.fail(); err != nil {
			return err
		}
	}
	for _, b := range out {
		for i := range b.Bytes {
			*(*byte)(unsafe.Add(b.Data, i)) = x.f.mark
		}
	}
	return nil
}

func (x *fakeExec) Placement() backend.Placement { return backend.Placement{} }

func (x *fakeExec) Close() error {
	for _, t := range x.p.Tensors {
		if t.Weight != nil {
			t.Weight.Release()
		}
	}
	x.f.execs.Add(-1)
	return nil
}

func noEnvironment(string) string { return "" }

// open gives the calls on a fake; all must be back at the end.
func open(t testing.TB, f *fake, a Around) *Calls {
	t.Helper()
	before := mem.Live()
	if a.Getenv == nil {
		a.Getenv = noEnvironment
	}
	var impl backend.Backend = f
	if f.fallback != nil {
		impl = assisted{f}
	}
	c := New(impl, a)
	t.Cleanup(func() {
		c.Close()
		require.Zero(t, f.streams.Load())
		require.Zero(t, f.execs.Load())
		require.Equal(t, before, mem.Live())
	})
	return c
}

func square(t testing.TB, c *Calls) *Matrix {
	t.Helper()
	m, err := c.NewMatrix(tensor.Type{DType: tensor.F32, Shape: tensor.Shape{4, 4}}, make([]byte, 64))
	require.NoError(t, err)
	return m
}

// multiply gives the first byte of what a product of some rows puts out.
func multiply(c *Calls, m *Matrix, rows int64, flags Flags) (byte, error) {
	x, y := make([]float32, 4*rows), make([]float32, 4*rows)
	err := c.Matmul(at(x), rows, 4, []Product{{Weight: m, Y: at(y), NOut: 4}}, flags)
	return *(*byte)(at(y)), err
}

func at(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func TestTheSecondCallOfAShapeBuildsNothing(t *testing.T) {
	f := &fake{name: "vulkan:0", mark: 1}
	c := open(t, f, Around{})
	m := square(t, c)
	for range 3 {
		for rows := int64(1); rows <= 5; rows++ {
			mark, err := multiply(c, m, rows, 0)
			require.NoError(t, err)
			require.EqualValues(t, 1, mark)
		}
	}
	require.EqualValues(t, 5, f.builds.Load())
	require.EqualValues(t, 5, c.Stats().Builds)
	m.Release()
	require.Zero(t, f.execs.Load(), "what was built with a matrix goes with it")
}

func TestProgramsKeptAreBounded(t *testing.T) {
	f := &fake{name: "cpu"}
	c := open(t, f, Around{})
	m := square(t, c)
	defer m.Release()
	for rows := int64(1); rows <= maxPrograms+10; rows++ {
		_, err := multiply(c, m, rows, 0)
		require.NoError(t, err)
	}
	require.EqualValues(t, maxPrograms, f.execs.Load())
	require.EqualValues(t, 10, c.Stats().Evictions)
	// The first ten went; the last is there.
	_, err := multiply(c, m, maxPrograms+10, 0)
	require.NoError(t, err)
	require.EqualValues(t, maxPrograms+10, f.builds.Load())
	_, err = multiply(c, m, 1, 0)
	require.NoError(t, err)
	require.EqualValues(t, maxPrograms+11, f.builds.Load())
}

func TestCallsWaitWhenAllWorkersAreOut(t *testing.T) {
	f := &fake{name: "cpu", slow: func(*graph.Program) time.Duration { return 2 * time.Millisecond }}
	c := open(t, f, Around{})
	m := square(t, c)
	defer m.Release()
	var group sync.WaitGroup
	errs := make([]error, 4*maxWorkers)
	for i := range errs {
		group.Go(func() {
			for range 5 {
				if _, err := multiply(c, m, 3, 0); err != nil {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.LessOrEqual(t, f.streams.Load(), int64(maxWorkers))
	require.LessOrEqual(t, f.most.Load(), int64(maxWorkers))
	require.Greater(t, f.most.Load(), int64(1), "calls run side by side")
}

func TestDeclining(t *testing.T) {
	cpu := &fake{name: "cpu", mark: 2}
	c := open(t, &fake{name: "vulkan:0", mark: 1, only: "linear", fallback: cpu}, Around{})
	m := square(t, c)
	require.NoError(t, c.Calibrate(CalibrateOff))
	require.NoError(t, c.SetThreshold("matmul", Threshold{MinFlops: 320})) // ten rows

	mark, err := multiply(c, m, 9, OnlyIfWorthwhile)
	require.Same(t, ErrDeclined, err)
	require.Zero(t, mark, "nothing is touched")
	mark, err = multiply(c, m, 9, OnlyIfWorthwhile|OnCPUIfDeclined)
	require.NoError(t, err)
	require.EqualValues(t, 2, mark)
	mark, err = multiply(c, m, 9, 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, mark, "without the flag it runs where it can")
	mark, err = multiply(c, m, 10, OnlyIfWorthwhile|OnCPUIfDeclined)
	require.NoError(t, err)
	require.EqualValues(t, 1, mark)

	// Attention is beyond the device.
	x, y := make([]float32, 16), make([]float32, 16)
	h := Heads{TQ: 2, TK: 2, Heads: 2, KVHeads: 2, Dim: 4}
	err = c.Attention(at(x), at(x), at(x), h, at(y), 0)
	require.Equal(t, status.Unsupported, status.Of(err))
	require.Zero(t, y[0])
	require.NoError(t, c.Attention(at(x), at(x), at(x), h, at(y), OnCPUIfDeclined))
	require.EqualValues(t, 2, *(*byte)(at(y)))

	report := c.Stats()
	require.Len(t, report.Operators, 2)
	require.Equal(t, "attention", report.Operators[0].Op)
	require.EqualValues(t, 0, report.Operators[0].Calls)
	require.EqualValues(t, 2, report.Operators[0].Declined)
	require.EqualValues(t, 2, report.Operators[1].Calls)
	require.EqualValues(t, 2, report.Operators[1].Declined)
	require.EqualValues(t, 4*4*(9+10), report.Operators[1].BytesUp)
	require.Equal(t, "cpu", report.Fallback.Backend)
	require.EqualValues(t, 1, report.Fallback.Operators[0].Calls)
	require.EqualValues(t, 1, report.Fallback.Operators[1].Calls)
	require.Contains(t, report.Text(), "declined, and computed by the fallback: calls on cpu")
	c.ResetStats()
	require.Nil(t, c.Stats().Fallback)

	m.Release()
	require.EqualValues(t, 1, cpu.execs.Load(), "on the fallback, too, what was built with it goes")
}

func TestOnlyTheDeviceItselfCounts(t *testing.T) {
	c := open(t, &fake{name: "vulkan:0", only: "linear", fallback: &fake{name: "cpu"}}, Around{})
	x, y := make([]float32, 4), make([]float32, 4)
	err := c.Attention(at(x), at(x), at(x), Heads{TQ: 1, TK: 1, Heads: 1, KVHeads: 1, Dim: 4}, at(y), 0)
	require.Equal(t, status.Unsupported, status.Of(err))
}

func TestWantsIsAlwaysYesOnACPU(t *testing.T) {
	for _, name := range []string{"cpu", "reference"} {
		c := open(t, &fake{name: name}, Around{})
		require.NoError(t, c.SetThreshold("matmul", Threshold{MinFlops: never}))
		wants, err := c.Wants("matmul", []int64{1, 1, 1})
		require.NoError(t, err)
		require.True(t, wants)
	}
}

// A device whose calls cost 2 ms, next to a CPU that computes slowly.
// In time that stands still but for the sleeping of the fakes.
func TestCalibrationFindsWhereTheDeviceWins(t *testing.T) {
	synctest.Test(t, calibrationFindsWhereTheDeviceWins)
}

func calibrationFindsWhereTheDeviceWins(t *testing.T) {
	cache := t.TempDir()
	environment := map[string]string{"XDG_CACHE_HOME": cache}
	getenv := func(name string) string { return environment[name] }
	cpuRuns := atomic.Int64{}
	device := func() *fake {
		cpu := &fake{name: "cpu", slow: func(p *graph.Program) time.Duration {
			cpuRuns.Add(1)
			most := int64(0)
			for _, n := range p.Tensors {
				most = max(most, n.Type.Shape.Elements())
			}
			return time.Duration(most) * 20 * time.Nanosecond
		}}
		return &fake{name: "vulkan:0", fallback: cpu, slow: func(*graph.Program) time.Duration { return 2 * time.Millisecond }}
	}
	c := open(t, device(), Around{Getenv: getenv})
	start := time.Now()
	small, err := c.Wants("matmul", []int64{1, 4, 4})
	require.NoError(t, err)
	require.False(t, small)
	require.Less(t, time.Since(start), time.Second)
	large, err := c.Wants("matmul", []int64{4096, 4096, 4096})
	require.NoError(t, err)
	require.True(t, large)
	require.Equal(t, "measured", c.Stats().ThresholdsSource)
	require.Empty(t, c.Stats().Operators, "what is measured does not count")
	first, err := c.Threshold("linear")
	require.NoError(t, err)
	require.Positive(t, first.MinFlops)

	// Another process remembers it, unless the file is broken or it is told not to.
	runs := cpuRuns.Load()
	again := open(t, device(), Around{Getenv: getenv})
	second, err := again.Threshold("linear")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, "remembered", again.Stats().ThresholdsSource)
	require.Equal(t, runs, cpuRuns.Load())

	require.NoError(t, again.Calibrate(CalibrateForce))
	require.Equal(t, "measured", again.Stats().ThresholdsSource)
	require.Greater(t, cpuRuns.Load(), runs)

	files, err := filepath.Glob(filepath.Join(cache, "qtsaccel", "calibration", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o600))
	broken := open(t, device(), Around{Getenv: getenv})
	require.Equal(t, "measured", broken.thresholds().source)

	environment["QTSACCEL_CALIBRATE"] = "Off"
	off := open(t, device(), Around{Getenv: getenv})
	require.Equal(t, "built in", off.thresholds().source)
}

// However long a device takes for a call, it takes no more than one beyond the budget.
func TestCalibrationEnds(t *testing.T) {
	for _, each := range []time.Duration{time.Microsecond, time.Millisecond, 20 * time.Millisecond, 90 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(*graph.Program) time.Duration { return each }
			c := open(t, &fake{name: "vulkan:0", slow: slow, fallback: &fake{name: "cpu", slow: slow}}, Around{
				Getenv: func(string) string { return t.TempDir() },
			})
			start := time.Now()
			require.NoError(t, c.Calibrate(CalibrateForce))
			require.Less(t, time.Since(start), time.Second)
		})
	}
}

// A device that compiles its kernels for two seconds: the first answer does not wait for
// that, and later ones have what was measured meanwhile.
func TestTheFirstAnswerDoesNotWaitForASlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Bool
		cpu := &fake{name: "cpu", slow: func(*graph.Program) time.Duration { return 10 * time.Millisecond }}
		c := open(t, &fake{name: "vulkan:0", fallback: cpu, slow: func(*graph.Program) time.Duration {
			if !started.Swap(true) {
				return 2 * time.Second
			}
			return time.Millisecond
		}}, Around{
			Getenv: func(name string) string {
				if name == "QTSACCEL_CALIBRATE" {
					return "auto"
				}
				return t.TempDir()
			},
		})
		start := time.Now()
		first, err := c.Threshold("matmul")
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Second)
		require.Equal(t, builtIn.of[ops.MatmulCost], first)

		start = time.Now()
		_, err = c.Threshold("matmul")
		require.NoError(t, err)
		require.Zero(t, time.Since(start), "only the first waits")

		// What a host sets is added to what was measured.
		require.NoError(t, c.SetThreshold("conv2d", Threshold{MinFlops: 7}))
		measured, err := c.Threshold("matmul")
		require.NoError(t, err)
		require.NotEqual(t, first, measured)
		set, err := c.Threshold("conv2d")
		require.NoError(t, err)
		require.Equal(t, Threshold{MinFlops: 7}, set)
	})
}

// keeper holds a backend as sessions and matrices do: who lets go last closes it.
type keeper struct {
	refs   atomic.Int64
	close  func()
	closed chan struct{}
}

func (k *keeper) Retain() { k.refs.Add(1) }
func (k *keeper) Release() {
	if k.refs.Add(-1) == 0 {
		k.close()
		close(k.closed)
	}
}

// A backend that is freed while its device is measured goes when that has ended.
func TestAMeasurementOutlivesItsBackend(t *testing.T) {
	free := make(chan struct{})
	slow := func(*graph.Program) time.Duration { <-free; return 0 }
	k := &keeper{closed: make(chan struct{})}
	c := New(assisted{&fake{name: "vulkan:0", slow: slow, fallback: &fake{name: "cpu"}}}, Around{
		Owner:  k,
		Getenv: func(name string) string { return map[string]string{"QTSACCEL_CALIBRATE": "force"}[name] },
	})
	k.close = c.Close
	k.refs.Store(1)
	first, err := c.Threshold("linear")
	require.NoError(t, err)
	require.Equal(t, builtIn.of[ops.MatmulCost], first)
	k.Release() // the application's
	close(free)
	select {
	case <-k.closed:
	case <-time.After(5 * time.Minute):
		require.Fail(t, "the backend was never closed")
	}
}

func TestCompareSolvesForOperations(t *testing.T) {
	host := speed{overhead: 1e-6}
	device := speed{overhead: 11e-6, secondsPerByte: 1e-10}
	for class := range host.secondsPerFlop {
		host.secondsPerFlop[class], device.secondsPerFlop[class] = 3e-11, 1e-11
	}
	host.secondsPerFlop[ops.ConvCost], device.secondsPerFlop[ops.AttentionCost] = 1e-12, math.NaN()
	got := compare(host, device)
	// 10 us are made good by 20 ps for each operation, and so is 0.1 ns for a byte.
	require.InDelta(t, 5e5, got.of[ops.MatmulCost].MinFlops, 1)
	require.InDelta(t, 5, got.of[ops.MatmulCost].FlopsPerByte, 1e-9)
	require.Equal(t, Threshold{MinFlops: never}, got.of[ops.ConvCost])
	require.Equal(t, builtIn.of[ops.AttentionCost], got.of[ops.AttentionCost])
}

func TestMedians(t *testing.T) {
	var h histogram
	require.Zero(t, h.median())
	for _, d := range []time.Duration{3, 1000, 1001, 5000000, time.Hour} {
		h.add(d)
	}
	require.InEpsilon(t, 1001, float64(h.median()), 0.03)
	for _, d := range []time.Duration{0, 1, 15, 16, 31, 32, 33, 12345, 1 << 40, math.MaxInt64} {
		m := middle(bucket(uint64(d)))
		require.InDelta(t, float64(d), float64(m), 1+float64(d)*0.032, "%d", d)
	}
}

func TestExceeds(t *testing.T) {
	limit := math.Float32bits(65504)
	for n := 1; n < 40; n++ {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i%3-1) * 65503
		}
		require.False(t, exceeds(at(x), int64(n), limit))
		for i := range x {
			for _, v := range []float64{65504, -65504, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32} {
				old := x[i]
				x[i] = float32(v)
				require.True(t, exceeds(at(x), int64(n), limit), "%d of %d is %v", i, n, v)
				x[i] = old
			}
		}
	}
}

func TestInputRanges(t *testing.T) {
	for _, c := range []struct {
		dtypes []tensor.DType
		rows   [][]float32
		loses  bool
	}{
		{[]tensor.DType{tensor.F32}, [][]float32{{1e30, 0}, {1e-30, 0}}, false},
		{[]tensor.DType{tensor.BF16}, [][]float32{{1e30, 0}, {1e-30, 0}}, false},
		{[]tensor.DType{tensor.F16}, [][]float32{{1, 2}, {0, 0}, {65503, 1e-9}, {-7e-5, 1e-9}}, false},
		{[]tensor.DType{tensor.F16}, [][]float32{{1, 2}, {6e-5, -6e-5}}, true},
		{[]tensor.DType{tensor.F16}, [][]float32{{1, 2}, {1, -65504}}, true},
		{[]tensor.DType{tensor.Q8_0}, [][]float32{{2046, -1e-9}, {0, 1e-3}, {0, 0}}, false},
		{[]tensor.DType{tensor.Q8_0}, [][]float32{{2047, 0}}, true},
		{[]tensor.DType{tensor.Q4_K}, [][]float32{{1, 1}, {0, -9e-4}}, true},
		{[]tensor.DType{tensor.F32, tensor.F16}, [][]float32{{60000, 0}, {1e-4, 0}}, false},
		{[]tensor.DType{tensor.F16, tensor.F32, tensor.Q4_0}, [][]float32{{60000, 0}}, true},
		{[]tensor.DType{tensor.Q4_0, tensor.F16}, [][]float32{{1e-4, 0}}, true},
	} {
		var takes inputRange
		for _, d := range c.dtypes {
			takes = takes.and(rangeOf(d))
		}
		x := slices.Concat(c.rows...)
		require.Equal(t, c.loses, (&Calls{}).loses(takes, at(x), int64(len(c.rows)), 2), "%v, %v", c.dtypes, c.rows)
		require.False(t, (&Calls{info: backend.Info{WholeRange: true}}).loses(takes, at(x), int64(len(c.rows)), 2), "%v, %v", c.dtypes, c.rows)
	}
}

// Every pixel of the output is in one tile, and no tile's scratch is beyond its bound.
func TestTiles(t *testing.T) {
	for _, g := range []Geometry{
		{H: 7, W: 5, CIn: 3, K: 3, Stride: 1},
		{H: 512, W: 512, CIn: 128, K: 3, Stride: 1},
		{H: 2048, W: 2048, CIn: 3, K: 7, Stride: 2},
		{H: 4, W: 4096, CIn: 512, K: 3, Stride: 1},
		{H: 1, W: 1, CIn: 1, K: 8, Stride: 3},
	} {
		pad := g.K / 2
		g.OH, g.OW = (g.H+2*pad-g.K)/g.Stride+1, (g.W+2*pad-g.K)/g.Stride+1
		require.NoError(t, g.check())
		for _, normalised := range []bool{false, true} {
			tile := g.tilePixels(normalised)
			what := fmt.Sprintf("%+v", g)
			require.Positive(t, tile, what)
			require.LessOrEqual(t, tile, g.OH*g.OW, what)
			require.LessOrEqual(t, 4*tile*g.window(), int64(tileBytes), what)
			if tile > g.OW {
				require.Zero(t, tile%g.OW, "%s: tiles are whole rows", what)
			}
		}
	}
}

func TestASecondCallAllocatesNothing(t *testing.T) {
	c := open(t, &fake{name: "cpu"}, Around{})
	m := square(t, c)
	defer m.Release()
	call := repeated(c, m)
	call()
	require.Zero(t, testing.AllocsPerRun(100, call))
}

func BenchmarkMatmul(b *testing.B) {
	c := open(b, &fake{name: "cpu"}, Around{})
	m := square(b, c)
	defer m.Release()
	call := repeated(c, m)
	for b.Loop() {
		call()
	}
}

// repeated multiplies one row again and again.
func repeated(c *Calls, m *Matrix) func() {
	x, y := make([]float32, m.nIn()), make([]float32, m.nOut())
	products := []Product{{Weight: m, Y: unsafe.Pointer(&y[0]), NOut: m.nOut()}}
	return func() {
		if err := c.Matmul(unsafe.Pointer(&x[0]), 1, m.nIn(), products, 0); err != nil {
			panic(err)
		}
	}
}
