package ggml

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/ops"
	"qtsaccel/core/weights"
)

// modelGraph builds graphs of real models; the C examples build the same.
type modelGraph struct {
	t testing.TB
	*graph.Graph
	w *weights.Weights
}

func newModelGraph(t testing.TB, file string) *modelGraph {
	data := os.Getenv("QTSACCEL_SHARED_DATA")
	if data == "" {
		t.Skip("QTSACCEL_SHARED_DATA does not name a folder of models")
	}
	w, err := modelfile.Open(filepath.Join(data, file), modelfile.Options{})
	require.NoError(t, err)
	t.Cleanup(w.Release)
	g := graph.New(file)
	t.Cleanup(g.Release)
	return &modelGraph{t, g, w}
}

func (m *modelGraph) weight(name string) ops.Ref {
	r, err := m.Weight(m.w, name)
	require.NoError(m.t, err)
	return r
}

func (m *modelGraph) state(name string, shape ...int64) ops.Ref {
	r, err := m.State(name, f32(shape...))
	require.NoError(m.t, err)
	return r
}

func (m *modelGraph) op(name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	return mustOp(m.t, m.Graph, name, in, attrs...)
}

func (m *modelGraph) unary(name string, x ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	return m.op(name, []ops.Ref{x}, attrs...)
}

// prepare makes the graph ready with its states on a new stream.
func (m *modelGraph) prepare(b *Backend) backend.Executable {
	s := newStream(m.t, b)
	snapshot, err := m.Snapshot()
	require.NoError(m.t, err)
	defer snapshot.Release()
	names, types := snapshot.States()
	for i := range names {
		require.NoError(m.t, s.AddState(names[i], types[i]))
	}
	return build(m.t, b, s, m.Graph)
}

// vadGraph is Silero VAD: 576 samples to the probability of speech.
func vadGraph(t testing.TB) *modelGraph {
	const bins, hidden = 129, 128
	m := newModelGraph(t, "silero-vad/silero_vad_v6.2_16k_from_onnx.safetensors")
	samples, err := m.Input("samples", f32(1, 1, 576))
	require.NoError(t, err)
	x := m.unary("pad", samples, ops.IntsAttr("pads", 0, 0, 0, 0, 0, 64), ops.TextAttr("mode", "reflect"))
	x = m.op("conv1d", []ops.Ref{x, m.weight("stft_conv.weight")}, ops.IntAttr("stride", 128))
	square := func(start, end int64) ops.Ref {
		return m.unary("square", m.unary("slice", x, ops.IntAttr("axis", 1), ops.IntAttr("start", start), ops.IntAttr("end", end)))
	}
	x = m.unary("sqrt", m.op("add", []ops.Ref{square(0, bins), square(bins, 2*bins)}))
	for _, layer := range []struct {
		name   string
		stride int64
	}{{"conv1", 1}, {"conv2", 2}, {"conv3", 2}, {"conv4", 1}} {
		in := []ops.Ref{x, m.weight(layer.name + ".weight"), m.weight(layer.name + ".bias")}
		x = m.unary("relu", m.op("conv1d", in, ops.IntAttr("stride", layer.stride), ops.IntsAttr("padding", 1)))
	}
	x = m.unary("reshape", x, ops.IntsAttr("shape", 1, hidden))
	h, c := m.state("h", 1, hidden), m.state("c", 1, hidden)
	next, err := m.Op("lstm_cell", []ops.Ref{
		x, h, c, m.weight("lstm_cell.weight_ih"), m.weight("lstm_cell.weight_hh"),
		m.weight("lstm_cell.bias_ih"), m.weight("lstm_cell.bias_hh"),
	}, nil, 2)
	require.NoError(t, err)
	m.op("state_write", []ops.Ref{h, next[0]})
	m.op("state_write", []ops.Ref{c, next[1]})
	x = m.unary("reshape", m.unary("relu", next[0]), ops.IntsAttr("shape", 1, hidden, 1))
	x = m.op("conv1d", []ops.Ref{x, m.weight("final_conv.weight"), m.weight("final_conv.bias")})
	require.NoError(t, m.Output("probability", m.unary("sigmoid", x)))
	return m
}

func BenchmarkVAD(b *testing.B) {
	x := vadGraph(b).prepare(cpuBackend(b, 1))
	samples, probability := make([]float32, 576), make([]float32, 1)
	for i := range samples {
		samples[i] = float32(i%37)/37 - 0.5
	}
	in, out, o := buffers(samples), buffers(probability), options()
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, x.Run(in, out, o))
	}
}
