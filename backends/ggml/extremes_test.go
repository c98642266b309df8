package ggml

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/status/statustest"
	"qtsaccel/core/tensor"
)

func callOf(t testing.TB, name string, in []tensor.Type, attrs ...ops.AttrArg) *ops.Call {
	op, err := ops.Lookup(name)
	require.NoError(t, err)
	values, err := op.Bind(attrs)
	require.NoError(t, err)
	c, err := op.NewCall(in, values)
	require.NoError(t, err)
	return c
}

// TestAskingCostsNothing: whether a backend takes a call is found by arithmetic, however
// large the tensors would be.
func TestAskingCostsNothing(t *testing.T) {
	b := cpuBackend(t, 1)
	const n = 1 << 40
	back := []ops.AttrArg{ops.IntAttr("axis", 0), ops.IntAttr("start", -1), ops.IntAttr("end", math.MinInt64), ops.IntAttr("step", -1)}
	list := func(in ...tensor.Type) []tensor.Type { return in }
	for _, c := range []*ops.Call{
		callOf(t, "arange", nil, ops.IntAttr("count", n)),
		callOf(t, "arange", nil, ops.IntAttr("count", 1<<59)),
		callOf(t, "slice", list(f32(n)), back...),
		callOf(t, "slice", list(f32(1<<30, 1<<10)), back...),
		callOf(t, "pad", list(f32(n)), ops.IntsAttr("pads", n-1, n-1), ops.TextAttr("mode", "reflect")),
		callOf(t, "pad", list(f32(1)), ops.IntsAttr("pads", n, n)),
		callOf(t, "cumsum", list(f32(n))),
		callOf(t, "reduce_max", list(f32(n))),
		callOf(t, "add", list(f32(n), f32(1))),
		callOf(t, "conv1d", list(f32(1, 1, n), f32(1, 1, 1<<31-1))),
		callOf(t, "conv1d", list(f32(1, 1, n), f32(1, 1, 1<<31-1)), ops.IntsAttr("padding", 1<<31-1), ops.IntAttr("stride", 1<<20)),
		callOf(t, "conv1d", list(f32(1, 1, 1), f32(1, 1, 1<<31-1)), ops.IntsAttr("padding", 1<<31-1)),
		callOf(t, "conv_transpose1d", list(f32(1, 1, 1<<30), f32(1, 1, 1<<30)), ops.IntAttr("stride", 1<<20)),
		callOf(t, "attention", list(f32(1<<29, 1, 8), f32(1<<29, 1, 8), f32(1<<29, 1, 8)), ops.IntAttr("causal", 1)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.Supports(c)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%s %v", c.Op.Name, c.In)
	}
}

// buildFails builds a graph that is too much and gives the reason.
func buildFails(t *testing.T, b *Backend, write func(g *graph.Graph) ops.Ref) error {
	g := newGraph(t)
	require.NoError(t, g.Output("y", write(g)))
	p, err := g.Bind(nil, b.Supports)
	if err != nil {
		return err
	}
	x, err := newStream(t, b).Build(p)
	require.Error(t, err)
	require.True(t, x == nil, "what failed is nil, not an interface around nil")
	return err
}

// TestHugeConstants: what a plan would compute once is found to be too much before it is
// made.
func TestHugeConstants(t *testing.T) {
	b := cpuBackend(t, 1)
	arange := func(g *graph.Graph, n int64) ops.Ref { return mustOp(t, g, "arange", nil, ops.IntAttr("count", n)) }
	statustest.Require(t, status.OutOfMemory, buildFails(t, b, func(g *graph.Graph) ops.Ref { return arange(g, 1<<40) }), "4398046511104 bytes", "free")
	statustest.Require(t, status.OutOfMemory, buildFails(t, b, func(g *graph.Graph) ops.Ref {
		x := mustOp(t, g, "reshape", []ops.Ref{arange(g, 1<<40)}, ops.IntsAttr("shape", 1<<20, -1))
		return mustOp(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 1), ops.IntAttr("start", -1), ops.IntAttr("end", math.MinInt64), ops.IntAttr("step", -1))
	}), "bytes", "free")
	// Sums of sizes that do not fit in 64 bits.
	statustest.Require(t, status.OutOfMemory, buildFails(t, b, func(g *graph.Graph) ops.Ref {
		wide := func(start float64) ops.Ref {
			one := mustOp(t, g, "arange", nil, ops.IntAttr("count", 1<<48), ops.RealAttr("start", start))
			return mustOp(t, g, "upsample", []ops.Ref{mustOp(t, g, "reshape", []ops.Ref{one}, ops.IntsAttr("shape", 1, 1, 1<<24, -1))}, ops.IntsAttr("scale", 1<<5, 1<<6))
		}
		sum := wide(0)
		for range 9 {
			sum = mustOp(t, g, "add", []ops.Ref{sum, wide(1)})
		}
		return sum
	}), "bytes", "free")
	statustest.Require(t, status.OutOfMemory, buildFails(t, b, func(g *graph.Graph) ops.Ref {
		x := input(t, g, "x", tensor.F32, 1)
		sum := x
		for range 9 {
			sum = mustOp(t, g, "add", []ops.Ref{mustOp(t, g, "expand", []ops.Ref{x}, ops.IntsAttr("shape", 1<<30, 1<<29)), sum})
		}
		return sum
	}), "scratch memory of", "bytes", "free")
}

// TestMoreRowsThanGgmlCounts: what ggml's int would cut short is refused with a reason.
func TestMoreRowsThanGgmlCounts(t *testing.T) {
	const rows = 1 << 31
	if free := mem.Available(); free < 9*rows {
		t.Skipf("a tensor of 2^31 rows takes 8 GiB, %d bytes are free", free)
	}
	err := buildFails(t, cpuBackend(t, 1), func(g *graph.Graph) ops.Ref {
		x := input(t, g, "x", tensor.F32, 1)
		return mustOp(t, g, "reduce_sum", []ops.Ref{mustOp(t, g, "expand", []ops.Ref{x}, ops.IntsAttr("shape", rows, 1))}, ops.IntAttr("axis", 0))
	})
	statustest.Require(t, status.Unsupported, err, "2^31 - 1", fmt.Sprint(rows))
}

// assertionChild, when set, makes the test binary the child of the test below.
const assertionChild = "QTSACCEL_TEST_ASSERTION_CHILD"

// TestFailedAssertionOnSeveralThreads: the threads that a failed assertion leaves behind
// keep what they may still look at, and everything can be closed around them. In a child,
// since they spin there until it ends.
func TestFailedAssertionOnSeveralThreads(t *testing.T) {
	if os.Getenv(assertionChild) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailedAssertionOnSeveralThreads$", "-test.v")
		child.Env = append(os.Environ(), assertionChild+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestFailedAssertionOnSeveralThreads")
		return
	}
	b, err := New(openLibrary(t), Options{Device: "cpu", Threads: 2})
	require.NoError(t, err)
	g := newGraph(t)
	w := newWeights(t, map[string][]float32{"w": {1, 2, 3, 4}}, map[string]tensor.Type{"w": f32(2, 2)})
	table, err := g.Weight(w, "w")
	require.NoError(t, err)
	ids := input(t, g, "ids", tensor.I32, 2)
	require.NoError(t, g.Output("rows", mustOp(t, g, "embedding", []ops.Ref{table, ids})))
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	s, err := b.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.AddState("kept", f32(2)))
	x, err := s.Build(p)
	require.NoError(t, err)
	o := options()
	o.Threads = 2
	rows := make([]float32, 4)
	require.NoError(t, x.Run(buffers([]int32{1, 0}), buffers(rows), o))
	statustest.Require(t, status.Internal, x.Run(buffers([]int32{1000, 0}), buffers(rows), o), "GGML_ASSERT")
	require.NoError(t, x.Close())
	require.NoError(t, s.Close())

	again := newStream(t, b)
	y := build(t, b, again, g)
	for range 10 {
		require.NoError(t, y.Run(buffers([]int32{0, 1}), buffers(rows), o))
		require.Equal(t, []float32{1, 2, 3, 4}, rows)
	}
}
