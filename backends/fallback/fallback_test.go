package fallback

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// lacking is a backend that lacks some operators.
type lacking struct {
	backend.Backend
	name  string
	lacks func(*ops.Call) bool
}

func (l lacking) Supports(c *ops.Call) bool { return !l.lacks(c) && l.Backend.Supports(c) }

func (l lacking) Info() backend.Info {
	i := l.Backend.Info()
	i.Name = l.name
	return i
}

func (l lacking) NewStream() (backend.Stream, error) {
	s, err := l.Backend.NewStream()
	return namedStream{s, l}, err
}

// namedStream refuses what its backend lacks, so that nothing slips by, and names
// it in placements.
type namedStream struct {
	backend.Stream
	of lacking
}

func (s namedStream) Build(p *graph.Program) (backend.Executable, error) {
	for i := range p.Nodes {
		if s.of.lacks(p.Nodes[i].Call) {
			panic("a node came to a backend that lacks it: " + p.Nodes[i].Call.Op.Name)
		}
	}
	x, err := s.Stream.Build(p)
	return namedExecutable{x, s.of.name}, err
}

type namedExecutable struct {
	backend.Executable
	name string
}

func (x namedExecutable) Placement() backend.Placement {
	p := x.Executable.Placement()
	for i := range p.Nodes {
		p.Nodes[i].Device = x.name
	}
	return p
}

func without(names ...string) func(*ops.Call) bool {
	return func(c *ops.Call) bool { return slices.Contains(names, c.Op.Name) }
}

func pair(lacks func(*ops.Call) bool) *Backend {
	return New(lacking{reference.New(), "gpu", lacks}, reference.New())
}

// The conformance suite passes whatever the primary lacks, be it every operator
// that writes no state.
func TestConformance(t *testing.T) {
	for name, lacks := range map[string]func(*ops.Call) bool{
		"nothing":    without(),
		"a few":      without("argmax", "relu", "add", "slice", "rope"),
		"almost all": func(c *ops.Call) bool { return !c.Op.Writes },
	} {
		t.Run(name, func(t *testing.T) {
			b := pair(lacks)
			backendtest.Run(t, b)
			require.NoError(t, b.Close())
		})
	}
}

// A number of no dimension comes from one segment of the primary to a later one.
func TestScalarBetweenSegments(t *testing.T) {
	s := newSketch(t)
	x := s.input("x", f32())
	first := s.op("neg", x)
	s.output("y", s.op("add", s.op("exp", first), first))
	e := s.build(pair(without("exp")), nil)
	y := make([]float32, 1)
	run(t, e, []backend.Buffer{buffer([]float32{-1})}, []backend.Buffer{buffer(y)})
	require.InDelta(t, 1+math.E, y[0], 1e-6)
}

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }

// sketch is a graph in the making, bound for a pair and run once.
type sketch struct {
	t *testing.T
	*graph.Graph
}

func newSketch(t *testing.T) *sketch {
	g := graph.New(t.Name())
	t.Cleanup(g.Release)
	return &sketch{t, g}
}

func (s *sketch) input(name string, t tensor.Type) ops.Ref {
	r, err := s.Input(name, t)
	require.NoError(s.t, err)
	return r
}

func (s *sketch) op(name string, in ...ops.Ref) ops.Ref {
	r, err := s.Op(name, in, nil, 1)
	require.NoError(s.t, err)
	return r[0]
}

func (s *sketch) output(name string, r ops.Ref) { require.NoError(s.t, s.Output(name, r)) }

func buffer[T any](v []T) backend.Buffer {
	var one T
	return backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(v)), Bytes: uintptr(len(v)) * unsafe.Sizeof(one)}
}

// build builds the graph on a stream that ends with the test.
func (s *sketch) build(b *Backend, states map[string]tensor.Type) backend.Executable {
	live := mem.Live()
	stream, err := b.NewStream()
	require.NoError(s.t, err)
	for name, t := range states {
		require.NoError(s.t, stream.AddState(name, t))
	}
	p, err := s.Bind(nil, b.Supports)
	require.NoError(s.t, err)
	x, err := stream.Build(p)
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		require.NoError(s.t, x.Close())
		require.NoError(s.t, stream.Close())
		require.NoError(s.t, b.Close())
		require.Equal(s.t, live, mem.Live())
	})
	return x
}

func run(t *testing.T, x backend.Executable, in, out []backend.Buffer) {
	t.Helper()
	var cancel backend.CancelFlag
	var timing backend.Timing
	require.NoError(t, x.Run(in, out, &backend.RunOptions{Cancel: &cancel, Timing: &timing}))
	require.Positive(t, timing.Compute)
}

// placed counts the nodes on each device.
func placed(x backend.Executable) map[string]int {
	count := map[string]int{}
	for _, n := range x.Placement().Nodes {
		count[n.Device] += n.Count
	}
	return count
}

func TestWhatThePrimaryComputesAloneIsItsOwn(t *testing.T) {
	s := newSketch(t)
	s.output("y", s.op("relu", s.input("x", f32(3))))
	_, split := s.build(pair(without("argmax")), nil).(*executable)
	require.False(t, split)
}

// Alternating nodes: each copy is counted, and a node between two of the companion
// goes there instead of costing two.
func TestCopiesAreFewAndCounted(t *testing.T) {
	s := newSketch(t)
	x := s.input("x", f32(2, 3))
	y := s.op("exp", x)    // primary
	y = s.op("relu", y)    // companion
	y = s.op("neg", y)     // primary could, but stands between
	y = s.op("relu", y)    // companion
	y = s.op("square", y)  // primary
	z := s.op("add", y, x) // primary
	s.output("z", z)
	e := s.build(pair(without("relu")), nil)
	in, out := []float32{-1, 0, 1, 2, -2, 3}, make([]float32, 6)
	run(t, e, []backend.Buffer{buffer(in)}, []backend.Buffer{buffer(out)})
	for i, v := range in {
		require.Equal(t, v, out[i], "exp is positive, its negative is cut to 0, and x is added")
	}
	require.Equal(t, map[string]int{"gpu": 3, "reference": 3}, placed(e))
	require.Equal(t, backend.Copies{Count: 2, Bytes: 48}, e.Placement().Copies)
}

// What the primary leaves to itself past a segment of the companion stays on it.
func TestValuesStayOnThePrimary(t *testing.T) {
	s := newSketch(t)
	x := s.input("x", f32(4))
	kept := s.op("square", x)
	y := s.op("relu", x) // companion
	s.output("y", s.op("add", kept, s.op("neg", y)))
	s.output("kept", kept)
	e := s.build(pair(without("relu")), nil)
	out, kept2 := make([]float32, 4), make([]float32, 4)
	for _, in := range [][]float32{{-1, 2, -3, 4}, {5, -6, 7, -8}} {
		run(t, e, []backend.Buffer{buffer(in)}, []backend.Buffer{buffer(out), buffer(kept2)})
		for i, v := range in {
			require.InDelta(t, v*v-max(v, 0), out[i], 0)
			require.InDelta(t, v*v, kept2[i], 0)
		}
	}
	require.Equal(t, 1, e.Placement().Copies.Count, "only relu's result crosses")
}

// A state is read by the companion as it was, written by the primary, and read
// again as it is then.
func TestStatesAcrossDevices(t *testing.T) {
	w := weights.New()
	defer w.Release()
	s := newSketch(t)
	st, err := s.State("h", f32(3))
	require.NoError(t, err)
	x := s.input("x", f32(3))
	before := s.op("relu", st) // companion, as it was
	now := s.op("state_write", st, s.op("add", st, x))
	after := s.op("relu", now) // companion, as it is
	s.output("before", before)
	s.output("after", after)
	s.output("state", now)
	e := s.build(pair(without("relu")), map[string]tensor.Type{"h": f32(3)})
	sum := []float32{0, 0, 0}
	before2, after2, state := make([]float32, 3), make([]float32, 3), make([]float32, 3)
	for _, in := range [][]float32{{1, -2, 3}, {-4, 5, -6}, {7, 7, 7}} {
		run(t, e, []backend.Buffer{buffer(in)}, []backend.Buffer{buffer(before2), buffer(after2), buffer(state)})
		for i := range sum {
			require.InDelta(t, max(sum[i], 0), before2[i], 0)
			sum[i] += in[i]
			require.InDelta(t, max(sum[i], 0), after2[i], 0)
			require.InDelta(t, sum[i], state[i], 0)
		}
	}
}

func TestCancelledBeforeItStarts(t *testing.T) {
	s := newSketch(t)
	s.output("y", s.op("relu", s.op("neg", s.input("x", f32(3)))))
	e := s.build(pair(without("relu")), nil)
	in, cancel := []float32{1, 2, 3}, backend.CancelFlag(1)
	err := e.Run([]backend.Buffer{buffer(in)}, []backend.Buffer{{}}, &backend.RunOptions{Cancel: &cancel})
	require.ErrorContains(t, err, "cancelled")
}

func TestInfoTellsOfTheCompanion(t *testing.T) {
	b := pair(without())
	defer func() { require.NoError(t, b.Close()) }()
	require.Equal(t, "gpu", b.Info().Name)
	require.Contains(t, b.Info().Notes[0], "fallback, for what it does not compute: reference")
}
