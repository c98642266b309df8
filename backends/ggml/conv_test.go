package ggml

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// BenchmarkConv2d is a layer of ESRGAN-slim on one thread: 64 channels to 64, 3x3,
// on 128x128.
func BenchmarkConv2d(b *testing.B) {
	const channels, size = 64, 128
	w := newWeights(b, map[string][]float32{"w": make([]float32, channels*channels*9), "b": make([]float32, channels)},
		map[string]tensor.Type{"w": f32(channels, channels, 3, 3), "b": f32(channels)})
	g := graph.New("conv2d")
	b.Cleanup(g.Release)
	x, err := g.Input("x", f32(1, channels, size, size))
	require.NoError(b, err)
	wr, err := g.Weight(w, "w")
	require.NoError(b, err)
	br, err := g.Weight(w, "b")
	require.NoError(b, err)
	require.NoError(b, g.Output("y", mustOp(b, g, "conv2d", []ops.Ref{x, wr, br}, ops.IntsAttr("padding", 1))))
	backend := cpuBackend(b, 1)
	plan := build(b, backend, newStream(b, backend), g)
	image := make([]float32, channels*size*size)
	in, out, o := buffers(image), buffers(make([]float32, len(image))), options()
	for b.Loop() {
		require.NoError(b, plan.Run(in, out, o))
	}
	b.ReportMetric(2*9*channels*channels*size*size*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}
