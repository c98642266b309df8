package ggml

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
)

// oneNode is y = relu(x) with 64 elements on one thread.
func oneNode(t testing.TB) backend.Executable {
	b := cpuBackend(t, 1)
	g := graph.New("one node")
	t.Cleanup(g.Release)
	x, err := g.Input("x", f32(64))
	require.NoError(t, err)
	require.NoError(t, g.Output("y", mustOp(t, g, "relu", []ops.Ref{x})))
	return build(t, b, newStream(t, b), g)
}

func TestRunAllocatesNothing(t *testing.T) {
	x := oneNode(t)
	in, out, o := buffers(make([]float32, 64)), buffers(make([]float32, 64)), options()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if err := x.Run(in, out, o); err != nil {
			panic(err)
		}
	}))
}

func BenchmarkOneNode(b *testing.B) {
	x := oneNode(b)
	in, out, o := buffers(make([]float32, 64)), buffers(make([]float32, 64)), options()
	b.ReportAllocs()
	for b.Loop() {
		if err := x.Run(in, out, o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOneNodeRaw is ggml's own compute of the same graph, called from C in a
// loop: what the run above adds to it is the difference.
func BenchmarkOneNodeRaw(b *testing.B) {
	x := oneNode(b).(*executable)
	in := buffers(make([]float32, 64))
	require.NoError(b, x.Run(in, in, options()))
	b.ResetTimer()
	b.ReportMetric(x.measure(b.N), "ns/op")
}
