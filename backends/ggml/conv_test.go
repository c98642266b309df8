package ggml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// BenchmarkConv2d is layers of ESRGAN-slim on 128x128, on one thread.
func BenchmarkConv2d(b *testing.B) {
	for _, layer := range []tensor.Shape{{64, 64, 3, 3}, {64, 64, 5, 5}, {32, 64, 3, 3}, {4, 64, 3, 3}, {64, 3, 3, 3}, {64, 128, 1, 1}} {
		b.Run(layer.String(), func(b *testing.B) { benchmarkConv2d(b, layer, 128) })
	}
}

func benchmarkConv2d(b *testing.B, layer tensor.Shape, size int64) {
	w := newWeights(b, map[string][]float32{"w": make([]float32, layer.Elements()), "b": make([]float32, layer[0])},
		map[string]tensor.Type{"w": f32(layer...), "b": f32(layer[0])})
	g := graph.New("conv2d")
	b.Cleanup(g.Release)
	x, err := g.Input("x", f32(1, layer[1], size, size))
	require.NoError(b, err)
	wr, err := g.Weight(w, "w")
	require.NoError(b, err)
	br, err := g.Weight(w, "b")
	require.NoError(b, err)
	require.NoError(b, g.Output("y", mustOp(b, g, "conv2d", []ops.Ref{x, wr, br}, ops.IntsAttr("padding", layer[2]/2))))
	cpu := cpuBackend(b, 1)
	plan := build(b, cpu, newStream(b, cpu), g)
	in, out := buffers(make([]float32, layer[1]*size*size)), buffers(make([]float32, layer[0]*size*size))
	o := options()
	o.Timing = new(backend.Timing)
	best := time.Hour // of many: the machine may be busy otherwise
	for b.Loop() {
		require.NoError(b, plan.Run(in, out, o))
		best = min(best, o.Timing.Compute)
	}
	b.ReportMetric(2*float64(layer.Elements()*size*size)/float64(best), "best-GFLOP/s")
}
