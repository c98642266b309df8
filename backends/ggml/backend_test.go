package ggml

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/ggml/library/librarytest"
	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }

func openLibrary(t testing.TB) *library.Library {
	l, err := library.Open([]string{librarytest.Dir(t)})
	require.NoError(t, err)
	return l
}

func cpuBackend(t testing.TB, threads int) *Backend {
	b, err := New(openLibrary(t), Options{Device: "cpu", Threads: threads})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// plainBackend keeps weights as they are stored.
func plainBackend(t testing.TB, threads int) *Backend {
	b, err := New(openLibrary(t), Options{Device: "cpu", Threads: threads, NoRepack: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func newStream(t testing.TB, b backend.Backend) backend.Stream {
	s, err := b.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// build binds a graph without dynamic dimensions and makes it ready.
func build(t testing.TB, b backend.Backend, s backend.Stream, g *graph.Graph) backend.Executable {
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	x, err := s.Build(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

func buffer[T any](s []T) backend.Buffer {
	return backend.Buffer{
		Data:  unsafe.Pointer(unsafe.SliceData(s)),
		Bytes: uintptr(len(s)) * unsafe.Sizeof(*new(T)),
	}
}

func buffers[T any](s ...[]T) []backend.Buffer {
	list := make([]backend.Buffer, len(s))
	for i := range s {
		list[i] = buffer(s[i])
	}
	return list
}

func options() *backend.RunOptions { return &backend.RunOptions{Cancel: new(backend.CancelFlag)} }

// newWeights makes weights of f32 tensors.
func newWeights(t testing.TB, data map[string][]float32, shapes map[string]tensor.Type) *weights.Weights {
	w := weights.New()
	for name, typ := range shapes {
		require.NoError(t, w.Declare(name, typ))
		d := data[name]
		require.NoError(t, w.Set(name, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(d))), 4*len(d))))
	}
	t.Cleanup(w.Release)
	return w
}

// mustOp adds an operator with one output.
func mustOp(t testing.TB, g *graph.Graph, name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	out, err := g.Op(name, in, attrs, 1)
	require.NoError(t, err)
	return out[0]
}

// linearGraph is y = x w^T + b with x [rows, 3] and w [2, 3].
func linearGraph(t testing.TB, rows int64) *graph.Graph {
	w := newWeights(t, map[string][]float32{"w": {1, 2, 3, 4, 5, 6}, "b": {10, 20}},
		map[string]tensor.Type{"w": f32(2, 3), "b": f32(2)})
	g := graph.New("linear")
	t.Cleanup(g.Release)
	x, err := g.Input("x", f32(rows, 3))
	require.NoError(t, err)
	wr, err := g.Weight(w, "w")
	require.NoError(t, err)
	br, err := g.Weight(w, "b")
	require.NoError(t, err)
	require.NoError(t, g.Output("y", mustOp(t, g, "linear", []ops.Ref{x, wr, br})))
	return g
}

func TestLinear(t *testing.T) {
	b := cpuBackend(t, 1)
	x := build(t, b, newStream(t, b), linearGraph(t, 2))
	y := make([]float32, 4)
	require.NoError(t, x.Run(buffers([]float32{1, 0, 0, 1, 1, 1}), buffers(y), options()))
	require.Equal(t, []float32{11, 24, 16, 35}, y)

	// An input that is not given again is as it was; an output may be left out.
	clear(y)
	require.NoError(t, x.Run([]backend.Buffer{{}}, buffers(y), options()))
	require.Equal(t, []float32{11, 24, 16, 35}, y)
	require.NoError(t, x.Run(buffers([]float32{0, 0, 0, 0, 0, 0}), []backend.Buffer{{}}, options()))
}

func bytesOf(b backend.Buffer) []byte { return unsafe.Slice((*byte)(b.Data), b.Bytes) }
