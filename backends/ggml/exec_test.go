package ggml

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/status/statustest"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

func newGraph(t testing.TB) *graph.Graph {
	g := graph.New("test")
	t.Cleanup(g.Release)
	return g
}

func input(t testing.TB, g *graph.Graph, name string, d tensor.DType, shape ...int64) ops.Ref {
	r, err := g.Input(name, tensor.Type{DType: d, Shape: shape})
	require.NoError(t, err)
	return r
}

// chain is y = x + x relu'd so often that scratch memory is needed, for n elements.
func chain(t testing.TB, n int64) *graph.Graph {
	g := newGraph(t)
	x := input(t, g, "x", tensor.F32, n)
	y := x
	for range 3 {
		y = mustOp(t, g, "add", []ops.Ref{mustOp(t, g, "relu", []ops.Ref{y}), x})
	}
	require.NoError(t, g.Output("y", y))
	return g
}

func ramp(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i%97) - 48
	}
	return v
}

// chained is what chain computes.
func chained(x []float32) []float32 {
	y := append([]float32{}, x...)
	for range 3 {
		for i := range y {
			y[i] = max(y[i], 0) + x[i]
		}
	}
	return y
}

func TestScratchGrowsUnderOlderExecutables(t *testing.T) {
	b := cpuBackend(t, 1)
	s := newStream(t, b)
	var plans []backend.Executable
	sizes := []int{100, 5000, 300, 200000, 7}
	check := func(i int) {
		x, y := ramp(sizes[i]), make([]float32, sizes[i])
		require.NoError(t, plans[i].Run(buffers(x), buffers(y), options()))
		require.Equal(t, chained(x), y, "size %d", sizes[i])
	}
	for i, n := range sizes {
		plans = append(plans, build(t, b, s, chain(t, int64(n))))
		for j := range i + 1 {
			check(j)
		}
	}
	require.Positive(t, plans[0].Placement().ScratchBytes)
	require.GreaterOrEqual(t, plans[3].Placement().IOBytes, int64(4*200000))
}

func TestThreadsGiveTheSame(t *testing.T) {
	b := cpuBackend(t, 2)
	s := newStream(t, b)
	plan := build(t, b, s, chain(t, 100000))
	x := ramp(100000)
	for _, threads := range []int{0, 1, 2, 3, 1, 0} {
		y := make([]float32, len(x))
		o := options()
		o.Threads = threads
		require.NoError(t, plan.Run(buffers(x), buffers(y), o))
		require.Equal(t, chained(x), y, "%d threads", threads)
	}
}

func TestShortGraphsHaveOneThread(t *testing.T) {
	b := cpuBackend(t, 2)
	s := newStream(t, b)
	threads := func(g *graph.Graph) int { return build(t, b, s, g).(*executable).threads }
	product := func(rows, k, n int64) *graph.Graph {
		g := newGraph(t)
		in := []ops.Ref{input(t, g, "a", tensor.F32, rows, k), input(t, g, "b", tensor.F32, k, n)}
		require.NoError(t, g.Output("ab", mustOp(t, g, "matmul", in)))
		return g
	}
	require.Equal(t, 1, threads(chain(t, 1000)))
	require.Equal(t, 1, threads(product(1, 64, 64)))
	require.Equal(t, 2, threads(chain(t, 1000000)))
	require.Equal(t, 2, threads(product(64, 512, 512)))
	require.Equal(t, 2, threads(product(1, 2048, 2048)))
}

// TestIdleThreadsSleep: after a run on several threads the process is idle again
// within the time that workers poll for the next run.
func TestIdleThreadsSleep(t *testing.T) {
	b := cpuBackend(t, 2)
	plan := build(t, b, newStream(t, b), chain(t, 1000000))
	x := ramp(1000000)
	require.Equal(t, 2, plan.(*executable).threads)
	require.NoError(t, plan.Run(buffers(x), buffers(make([]float32, len(x))), options()))
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	const watch = 100 * time.Millisecond
	for begun := time.Now(); ; {
		before := used()
		time.Sleep(watch)
		if used()-before < watch/10 {
			return
		}
		require.Less(t, time.Since(begun), 10*time.Second, "the workers never sleep")
	}
}

func TestCancelledRun(t *testing.T) {
	b := cpuBackend(t, 1)
	plan := build(t, b, newStream(t, b), chain(t, 100))
	x, y, o := ramp(100), make([]float32, 100), options()
	*o.Cancel = 1
	statustest.Require(t, status.Cancelled, plan.Run(buffers(x), buffers(y), o))
	*o.Cancel = 0
	require.NoError(t, plan.Run(buffers(x), buffers(y), o))
	require.Equal(t, chained(x), y)
}

func TestTiming(t *testing.T) {
	b := cpuBackend(t, 1)
	plan := build(t, b, newStream(t, b), chain(t, 100000))
	x, o := ramp(100000), options()
	o.Timing = &backend.Timing{}
	begun := time.Now()
	require.NoError(t, plan.Run(buffers(x), buffers(make([]float32, len(x))), o))
	all := time.Since(begun)
	require.Positive(t, o.Timing.Upload)
	require.Positive(t, o.Timing.Compute)
	require.Positive(t, o.Timing.Download)
	require.LessOrEqual(t, o.Timing.Upload+o.Timing.Compute+o.Timing.Download, all)
}

// TestFailedAssertion lets ggml meet an index that core would have refused: its
// assertion becomes a status, and the stream gives it from then on; the backend's other
// streams, old and new, go on.
func TestFailedAssertion(t *testing.T) {
	b, err := New(openLibrary(t), Options{Device: "cpu", Threads: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	s := newStream(t, b)
	g := newGraph(t)
	w := newWeights(t, map[string][]float32{"w": {1, 2, 3, 4}}, map[string]tensor.Type{"w": f32(2, 2)})
	table, err := g.Weight(w, "w")
	require.NoError(t, err)
	ids := input(t, g, "ids", tensor.I32, 1)
	require.NoError(t, g.Output("rows", mustOp(t, g, "embedding", []ops.Ref{table, ids})))
	plan := build(t, b, s, g)
	beside := build(t, b, newStream(t, b), g)

	rows := make([]float32, 2)
	require.NoError(t, plan.Run(buffers([]int32{1}), buffers(rows), options()))
	require.Equal(t, []float32{3, 4}, rows)
	statustest.Require(t, status.Internal, plan.Run(buffers([]int32{1000}), buffers(rows), options()), "GGML_ASSERT", "cpu: ")
	statustest.Require(t, status.Internal, plan.Run(buffers([]int32{1}), buffers(rows), options()), "the session has failed before", "GGML_ASSERT")
	statustest.Require(t, status.Internal, s.AddState("late", f32(2)), "the session has failed before", "GGML_ASSERT")

	// Nothing else is touched by it.
	for i, other := range []backend.Executable{beside, build(t, b, newStream(t, b), g)} {
		require.NoError(t, other.Run(buffers([]int32{int32(i)}), buffers(rows), options()))
		require.Equal(t, [][]float32{{1, 2}, {3, 4}}[i], rows)
	}
}

func TestStateIsReadAsItWasWhenItWasLookedAt(t *testing.T) {
	b := cpuBackend(t, 1)
	s := newStream(t, b)
	require.NoError(t, s.AddState("s", f32(3, 2)))
	g := newGraph(t)
	st, err := g.State("s", f32(3, 2))
	require.NoError(t, err)
	row := input(t, g, "row", tensor.F32, 1, 2)
	at := input(t, g, "at", tensor.I64, 1)
	before := mustOp(t, g, "slice", []ops.Ref{st}, ops.IntAttr("axis", 0), ops.IntAttr("start", 1), ops.IntAttr("end", 2))
	after := mustOp(t, g, "state_write", []ops.Ref{st, row, at})
	require.NoError(t, g.Output("before", before))
	require.NoError(t, g.Output("after", after))
	require.NoError(t, g.Output("sum", mustOp(t, g, "add", []ops.Ref{before, row})))
	plan := build(t, b, s, g)

	old, all, sum := make([]float32, 2), make([]float32, 6), make([]float32, 2)
	run := func(at int64, row ...float32) {
		in := []backend.Buffer{buffer(row), buffer([]int64{at})}
		require.NoError(t, plan.Run(in, buffers(old, all, sum), options()))
	}
	run(1, 5, 6)
	require.Equal(t, []float32{0, 0}, old)
	require.Equal(t, []float32{0, 0, 5, 6, 0, 0}, all)
	require.Equal(t, []float32{5, 6}, sum)
	run(1, 7, 8)
	require.Equal(t, []float32{5, 6}, old)
	require.Equal(t, []float32{0, 0, 7, 8, 0, 0}, all)
	require.Equal(t, []float32{12, 14}, sum)

	got := make([]float32, 2)
	require.NoError(t, s.ReadState("s", 8, buffer(got).Data, 8))
	require.Equal(t, []float32{7, 8}, got)
	require.NoError(t, s.WriteState("s", 16, buffer([]float32{1, 2}).Data, 8))
	require.NoError(t, s.ReadState("s", 16, buffer(got).Data, 8))
	require.Equal(t, []float32{1, 2}, got)
	require.NoError(t, s.ResetState())
	require.NoError(t, s.ReadState("s", 8, buffer(got).Data, 8))
	require.Equal(t, []float32{0, 0}, got)
	statustest.Require(t, status.NotFound, s.ReadState("t", 0, buffer(got).Data, 8), `"t"`)
}

func TestOutputsOfAnyKind(t *testing.T) {
	b := cpuBackend(t, 1)
	g := newGraph(t)
	w := newWeights(t, map[string][]float32{"w": {9, 8}}, map[string]tensor.Type{"w": f32(2)})
	wr, err := g.Weight(w, "w")
	require.NoError(t, err)
	x := input(t, g, "x", tensor.F32, 2, 3)
	xT := mustOp(t, g, "transpose", []ops.Ref{x}, ops.IntsAttr("axes", 1, 0))
	require.NoError(t, g.Output("input", x))
	require.NoError(t, g.Output("transposed", xT))
	require.NoError(t, g.Output("weight", wr))
	require.NoError(t, g.Output("again", xT))
	plan := build(t, b, newStream(t, b), g)
	same, transposed, weight, again := make([]float32, 6), make([]float32, 6), make([]float32, 2), make([]float32, 6)
	require.NoError(t, plan.Run(buffers([]float32{1, 2, 3, 4, 5, 6}), buffers(same, transposed, weight, again), options()))
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, same)
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, transposed)
	require.Equal(t, []float32{9, 8}, weight)
	require.Equal(t, transposed, again)
}

func TestWeightsAreHeldWhileTheyAreUsed(t *testing.T) {
	b := cpuBackend(t, 1)
	g := graph.New("held")
	w := weights.New()
	require.NoError(t, w.Declare("w", f32(2, 2)))
	wr, err := g.Weight(w, "w")
	require.NoError(t, err)
	x := input(t, g, "x", tensor.F32, 1, 2)
	require.NoError(t, g.Output("y", mustOp(t, g, "linear", []ops.Ref{x, wr})))
	s := newStream(t, b)

	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	_, err = s.Build(p)
	statustest.Require(t, status.InvalidState, err, `"w"`, "no data")

	data := buffer([]float32{1, 2, 3, 4})
	require.NoError(t, w.Set("w", bytesOf(data)))
	plan := build(t, b, s, g)
	w.Release()
	g.Release()
	y := make([]float32, 2)
	require.NoError(t, plan.Run(buffers([]float32{1, 1}), buffers(y), options()))
	require.Equal(t, []float32{3, 7}, y)
}

// TestMaskIsShared: what attentions with the same positions hide is made once, from
// the positions of each run.
func TestMaskIsShared(t *testing.T) {
	const n, d = 6, 4
	b := cpuBackend(t, 1)
	s := newStream(t, b)
	attending := func(names ...string) backend.Executable {
		g := newGraph(t)
		q := input(t, g, "q", tensor.F32, 2, 1, d)
		k := input(t, g, "k", tensor.F32, n, 1, d)
		v := input(t, g, "v", tensor.F32, n, 1, 1)
		p := input(t, g, "p", tensor.I32, 2)
		for _, name := range names {
			require.NoError(t, g.Output(name, mustOp(t, g, "attention", []ops.Ref{q, k, v, ops.None, p}, ops.IntAttr("window", 2))))
		}
		return build(t, b, s, g)
	}
	plan := attending("one", "two")
	require.Equal(t, attending("one").Placement().IOBytes, plan.Placement().IOBytes)

	queries := make([]float32, 2*d)
	keys := make([]float32, n*d) // all alike: what comes out is the mean of the visible values
	values := []float32{1, -2, 3, 5, -7, 11}
	one, two := make([]float32, 2), make([]float32, 2)
	for _, at := range [][]int32{{0, 5}, {3, 1}} {
		in := []backend.Buffer{buffer(queries), buffer(keys), buffer(values), buffer(at)}
		require.NoError(t, plan.Run(in, buffers(one, two), options()))
		for j, p := range at {
			want := values[p]
			if p > 0 {
				want = (values[p] + values[p-1]) / 2
			}
			require.InDelta(t, want, one[j], 1e-6)
		}
		require.Equal(t, one, two)
	}
}

func TestOutOfMemory(t *testing.T) {
	b := cpuBackend(t, 1)
	s := newStream(t, b)
	statustest.Require(t, status.OutOfMemory, s.AddState("vast", f32(1<<40)), `"vast"`, "4398046511104")

	// A graph whose inputs are small and whose intermediate results are not.
	g := newGraph(t)
	x := input(t, g, "x", tensor.F32, 1)
	wide := mustOp(t, g, "expand", []ops.Ref{x}, ops.IntsAttr("shape", 1<<20, 1<<20))
	require.NoError(t, g.Output("sum", mustOp(t, g, "reduce_sum", []ops.Ref{wide})))
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	_, err = s.Build(p)
	statustest.Require(t, status.OutOfMemory, err, "cpu: scratch memory", "43980")

	g = newGraph(t)
	require.NoError(t, g.Output("x", input(t, g, "x", tensor.F32, 1<<40)))
	p, err = g.Bind(nil, b.Supports)
	require.NoError(t, err)
	_, err = s.Build(p)
	statustest.Require(t, status.OutOfMemory, err, "inputs", "4398046511104")

	// The stream goes on.
	in, out := ramp(100), make([]float32, 100)
	require.NoError(t, build(t, b, s, chain(t, 100)).Run(buffers(in), buffers(out), options()))
	require.Equal(t, chained(in), out)
}

// TestStreamsSideBySide builds and runs on several streams of one backend at once,
// with the same weights.
func TestStreamsSideBySide(t *testing.T) {
	b := cpuBackend(t, 2)
	g := linearGraph(t, 2)
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	var done sync.WaitGroup
	failures := make(chan error, 8)
	for i := range cap(failures) {
		done.Go(func() { failures <- runLinear(b, p, float32(i)) })
	}
	done.Wait()
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
}

// runLinear makes a stream and runs linearGraph's program on it, 100 times.
func runLinear(b *Backend, p *graph.Program, seed float32) (err error) {
	s, err := b.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	plan, err := s.Build(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	for i := range 100 {
		v, o := seed+float32(i), options()
		o.Threads = 1 + i%2
		y := make([]float32, 4)
		if err := plan.Run(buffers([]float32{v, 0, 0, 0, v, 0}), buffers(y), o); err != nil {
			return err
		}
		if want := []float32{v + 10, 4*v + 20, 2*v + 10, 5*v + 20}; !slices.Equal(want, y) {
			return fmt.Errorf("run %d gives %v, want %v", i, y, want)
		}
	}
	return nil
}
