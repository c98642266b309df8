package session

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/engine"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/report"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// fake is a backend whose programs copy their first input to their first output,
// and that counts what is open.
type fake struct {
	backend.Backend
	streams, execs, closed atomic.Int64
	only                   string // the one operator that it lowers, "" for all
	running                atomic.Int64
	onBuild                func()
	onRun                  func(*backend.RunOptions) error
}

func (f *fake) Info() backend.Info {
	info := backend.Info{Name: "fake", Description: "copies", Library: "none", Threads: 1}
	if n := f.streams.Load(); n > 0 {
		info.Notes = []string{fmt.Sprintf("streams were made: %d", n)}
	}
	return info
}
func (f *fake) Supports(c *ops.Call) bool { return f.only == "" || c.Op.Name == f.only }
func (f *fake) Close() error              { f.closed.Add(1); return nil }
func (f *fake) NewStream() (backend.Stream, error) {
	f.streams.Add(1)
	return &fakeStream{fake: f, states: map[string][]byte{}}, nil
}

type fakeStream struct {
	fake   *fake
	states map[string][]byte
}

func (s *fakeStream) AddState(name string, t tensor.Type) error {
	s.states[name] = make([]byte, t.Bytes())
	return nil
}

func (s *fakeStream) ResetState() error {
	for _, b := range s.states {
		clear(b)
	}
	return nil
}

func (s *fakeStream) ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error {
	copy(unsafe.Slice((*byte)(dst), n), s.states[name][offset:])
	return nil
}

func (s *fakeStream) WriteState(name string, offset int64, src unsafe.Pointer, n int64) error {
	copy(s.states[name][offset:], unsafe.Slice((*byte)(src), n))
	return nil
}
func (s *fakeStream) Close() error { s.fake.streams.Add(-1); return nil }
func (s *fakeStream) Build(p *graph.Program) (backend.Executable, error) {
	for _, t := range p.Tensors {
		if t.Weight != nil {
			if _, err := t.Weight.Freeze(); err != nil {
				return nil, err
			}
		}
	}
	s.fake.execs.Add(1)
	if s.fake.onBuild != nil {
		s.fake.onBuild()
	}
	return &fakeExec{fake: s.fake}, nil
}

type fakeExec struct{ fake *fake }

func (e *fakeExec) Run(in, out []backend.Buffer, o *backend.RunOptions) error {
	if e.fake.running.Add(1) != 1 {
		panic("two runs of one session overlap")
	}
	defer e.fake.running.Add(-1)
	if e.fake.onRun != nil {
		if err := e.fake.onRun(o); err != nil {
			return err
		}
	}
	if in[0].Data != nil && out[0].Data != nil {
		copy(unsafe.Slice((*byte)(out[0].Data), out[0].Bytes), unsafe.Slice((*byte)(in[0].Data), in[0].Bytes))
	}
	return nil
}

func (e *fakeExec) Placement() backend.Placement {
	return backend.Placement{Nodes: []backend.NodePlacement{{Op: "relu", Device: "fake", Count: 1}}, IOBytes: 24}
}
func (e *fakeExec) Close() error { e.fake.execs.Add(-1); return nil }

func open(t testing.TB, f *fake) *engine.Backend {
	t.Helper()
	live := mem.Live()
	b, err := engine.Open(choice.Request{Backend: "cpu"}, func(string) string { return "" },
		map[string]choice.Provider{"cpu": {Open: func(choice.Request, choice.Device) (backend.Backend, error) { return f, nil }}})
	require.NoError(t, err)
	t.Cleanup(func() {
		b.Release()
		require.EqualValues(t, 1, f.closed.Load(), "the backend is closed with its last user")
		require.Zero(t, f.streams.Load())
		require.Zero(t, f.execs.Load())
		require.Equal(t, live, mem.Live())
	})
	return b
}

// relu is a graph of one node over x, f32[2, n] with n dynamic from 1 to 9.
func relu(t testing.TB) *graph.Graph {
	t.Helper()
	g := graph.New("relu")
	n, err := g.Dim("n", 1, 9)
	require.NoError(t, err)
	x, err := g.Input("x", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, n}})
	require.NoError(t, err)
	y, err := g.Op("relu", []ops.Ref{x}, nil, 1)
	require.NoError(t, err)
	require.NoError(t, g.Output("y", y[0]))
	return g
}

func buffer[T any](v []T) []backend.Buffer {
	var one T
	return []backend.Buffer{{Data: unsafe.Pointer(unsafe.SliceData(v)), Bytes: uintptr(len(v)) * unsafe.Sizeof(one)}}
}

// newPlan makes a session and a plan that go with the test, and gives the graph back.
func newPlan(t testing.TB, f *fake, g *graph.Graph, o Options) (*Session, *Plan) {
	t.Helper()
	b := open(t, f)
	s, err := New(b)
	require.NoError(t, err)
	t.Cleanup(s.Release)
	p, err := NewPlan(s, g, o)
	require.NoError(t, err)
	t.Cleanup(p.Release)
	g.Release()
	return s, p
}

func TestRunChecksBuffers(t *testing.T) {
	_, p := newPlan(t, &fake{}, relu(t), Options{})
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	two := RunOptions{Dims: []int64{2}}
	fails := func(code status.Code, words string, in, out []backend.Buffer, o RunOptions) {
		t.Helper()
		err := p.Run(in, out, o)
		require.Equal(t, code, status.Of(err), "%v", err)
		require.ErrorContains(t, err, words)
	}
	fails(status.InvalidState, `input "x" is not given`, []backend.Buffer{{}}, buffer(y), two)
	fails(status.ShapeMismatch, `input "x": 12 bytes are given, it has 16`, buffer(x[:3]), buffer(y), two)
	fails(status.ShapeMismatch, `output "y": 12 bytes are given, it has 16`, buffer(x), buffer(y[:3]), two)
	fails(status.InvalidArgument, "0 inputs are given, the graph has 1", nil, buffer(y), two)
	fails(status.InvalidArgument, "0 outputs are given, the graph has 1", buffer(x), nil, two)
	fails(status.InvalidArgument, "1 dynamic dimensions", buffer(x), buffer(y), RunOptions{})
	fails(status.InvalidArgument, `"n" is 10`, buffer(x), buffer(y), RunOptions{Dims: []int64{10}})
	fails(status.InvalidArgument, "threads is -1", buffer(x), buffer(y), RunOptions{Dims: []int64{2}, Threads: -1})

	require.NoError(t, p.Run(buffer(x), buffer(y), two))
	require.Equal(t, x, y)
	require.NoError(t, p.Run([]backend.Buffer{{}}, []backend.Buffer{{}}, two), "as it was; not wanted")
	fails(status.InvalidState, `input "x" is not given, and no run has succeeded that gave it with n=3`, []backend.Buffer{{}}, []backend.Buffer{{}}, RunOptions{Dims: []int64{3}})

	i, err := p.InputIndex("x")
	require.NoError(t, err)
	require.Zero(t, i)
	_, err = p.OutputIndex("z")
	require.ErrorContains(t, err, `no output "z"; it has ["y"]`)
	require.Equal(t, status.NotFound, status.Of(err))
}

func TestInstancesAreKeptAndBounded(t *testing.T) {
	f := &fake{}
	_, p := newPlan(t, f, relu(t), Options{MaxInstances: 2})
	for _, n := range []int64{1, 2, 1, 3, 1, 2} { // 3 drops 2, and 2 then drops 3
		require.NoError(t, p.Prepare([]int64{n}))
	}
	require.Equal(t, CacheStats{Hits: 2, Builds: 4, Evictions: 2}, p.stats)
	require.EqualValues(t, 2, f.execs.Load())

	text := p.Placement().Text()
	require.Contains(t, text, "2 hits, 4 builds, 2 evictions")
	require.Contains(t, text, "n=2  1 nodes")
	require.Contains(t, text, "1 × relu on fake")
	machine, err := report.JSON.Write(p.Placement())
	require.NoError(t, err)
	var back struct {
		Cache     CacheStats
		Instances []struct{ Dims map[string]int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(machine), &back))
	require.Equal(t, p.stats, back.Cache)
	require.Equal(t, map[string]int64{"n": 2}, back.Instances[0].Dims)

	_, err = NewPlan(p.session, relu(t), Options{MaxInstances: -1})
	require.Equal(t, status.InvalidArgument, status.Of(err))
}

func TestIndicesAreChecked(t *testing.T) {
	for _, d := range []tensor.DType{tensor.I32, tensor.I64} {
		t.Run(d.String(), func(t *testing.T) {
			w := weights.New()
			require.NoError(t, w.Declare("table", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{5, 2}}))
			g := graph.New("e")
			table, err := g.Weight(w, "table")
			require.NoError(t, err)
			ids, err := g.Input("ids", tensor.Type{DType: d, Shape: tensor.Shape{3}})
			require.NoError(t, err)
			y, err := g.Op("embedding", []ops.Ref{table, ids}, nil, 1)
			require.NoError(t, err)
			require.NoError(t, g.Output("y", y[0]))
			_, p := newPlan(t, &fake{}, g, Options{})

			run := func(v ...int64) error {
				if d == tensor.I64 {
					return p.Run(buffer(v), []backend.Buffer{{}}, RunOptions{})
				}
				var narrow []int32
				for _, x := range v {
					narrow = append(narrow, int32(x))
				}
				return p.Run(buffer(narrow), []backend.Buffer{{}}, RunOptions{})
			}
			err = run(0, 4, 0)
			require.Equal(t, status.InvalidState, status.Of(err), "the table has no data yet")
			require.ErrorContains(t, err, `"table"`)
			require.NoError(t, w.Set("table", make([]byte, 40)))
			w.Release()
			require.NoError(t, run(0, 4, 0))
			require.ErrorContains(t, run(0, 5, 0), `input "ids": element 1 is 5, want 0 to 4`)
			require.ErrorContains(t, run(0, 0, -1), "element 2 is -1")
		})
	}
}

func TestStatesBelongToTheSession(t *testing.T) {
	b := open(t, &fake{})
	s, err := New(b)
	require.NoError(t, err)
	defer s.Release()
	stateful := func(shape ...int64) *graph.Graph {
		g := graph.New("s")
		st, err := g.State("h", tensor.Type{DType: tensor.F32, Shape: shape})
		require.NoError(t, err)
		require.NoError(t, g.Output("h", st))
		return g
	}
	var data [3]float32
	at := unsafe.Pointer(&data[0])
	require.ErrorContains(t, s.Read("h", 0, at, 4), "states: none")

	g := stateful(3)
	p, err := NewPlan(s, g, Options{})
	require.NoError(t, err)
	defer p.Release()
	g.Release()

	data = [3]float32{1, 2, 3}
	require.NoError(t, s.Write("h", 0, at, 12))
	data = [3]float32{}
	require.NoError(t, s.Read("h", 4, at, 8))
	require.Equal(t, [3]float32{2, 3, 0}, data)
	require.Equal(t, status.ShapeMismatch, status.Of(s.Read("h", 4, at, 12)))
	require.Equal(t, status.ShapeMismatch, status.Of(s.Write("h", 13, at, 0)))
	require.Equal(t, status.ShapeMismatch, status.Of(s.Read("h", ^uint64(0), at, 2)))
	require.Equal(t, status.NotFound, status.Of(s.Read("c", 0, at, 1)))
	require.NoError(t, s.Reset())
	require.NoError(t, s.Read("h", 0, at, 12))
	require.Equal(t, [3]float32{}, data)

	same := stateful(3)
	defer same.Release()
	p2, err := NewPlan(s, same, Options{})
	require.NoError(t, err)
	p2.Release()
	other := stateful(4)
	defer other.Release()
	_, err = NewPlan(s, other, Options{})
	require.Equal(t, status.ShapeMismatch, status.Of(err))
	require.ErrorContains(t, err, `state "h" is f32[4], the session has it as f32[3]`)
}

func TestUnsupportedIsFoundWhenThePlanIsMade(t *testing.T) {
	b := open(t, &fake{only: "linear"})
	s, err := New(b)
	require.NoError(t, err)
	defer s.Release()
	g := relu(t)
	defer g.Release()
	_, err = NewPlan(s, g, Options{})
	require.Equal(t, status.Unsupported, status.Of(err))
	require.ErrorContains(t, err, "relu (1)")
}

// helped is a backend with a fallback.
type helped struct{ *fake }

func (h helped) Supports(*ops.Call) bool   { return true }
func (h helped) Own(c *ops.Call) bool      { return h.fake.Supports(c) }
func (h helped) Fallback() backend.Backend { return &fake{} }

func TestStrictRefusesWhatTheFallbackTakes(t *testing.T) {
	f := helped{&fake{only: "linear"}}
	b, err := engine.Open(choice.Request{Backend: "cpu"}, func(string) string { return "" },
		map[string]choice.Provider{"cpu": {Open: func(choice.Request, choice.Device) (backend.Backend, error) { return f, nil }}})
	require.NoError(t, err)
	defer b.Release()
	s, err := New(b)
	require.NoError(t, err)
	defer s.Release()
	g := relu(t)
	defer g.Release()
	p, err := NewPlan(s, g, Options{})
	require.NoError(t, err)
	p.Release()
	_, err = NewPlan(s, g, Options{Strict: true})
	require.Equal(t, status.Unsupported, status.Of(err))
	require.ErrorContains(t, err, "relu (1)")
}

func TestRunsOfOneSessionTakeTurns(t *testing.T) {
	f := &fake{}
	_, p := newPlan(t, f, relu(t), Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			x, y := []float32{1, 2}, make([]float32, 2)
			for range 200 {
				if err := p.Run(buffer(x), buffer(y), RunOptions{Dims: []int64{1}}); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
}

func TestCancelReachesTheRunInProgress(t *testing.T) {
	f := &fake{}
	s, p := newPlan(t, f, relu(t), Options{})
	s.Cancel() // no run in progress: nothing is cancelled
	x, y := []float32{1, 2}, make([]float32, 2)
	require.NoError(t, p.Run(buffer(x), buffer(y), RunOptions{Dims: []int64{1}}))
	f.onRun = func(o *backend.RunOptions) error {
		s.Cancel()
		if atomic.LoadInt32(o.Cancel) == 0 {
			return nil
		}
		return status.Errorf(status.Cancelled, "cancelled")
	}
	require.Equal(t, status.Cancelled, status.Of(p.Run(buffer(x), buffer(y), RunOptions{Dims: []int64{1}})))
}

func TestCancelWhileTheRunIsPrepared(t *testing.T) {
	f := &fake{onRun: func(o *backend.RunOptions) error {
		if atomic.LoadInt32(o.Cancel) == 0 {
			return nil
		}
		return status.Errorf(status.Cancelled, "cancelled")
	}}
	s, p := newPlan(t, f, relu(t), Options{})
	f.onBuild = s.Cancel // as from another thread, while weights are uploaded
	x, y := []float32{1, 2}, make([]float32, 2)
	require.Equal(t, status.Cancelled, status.Of(p.Run(buffer(x), buffer(y), RunOptions{Dims: []int64{1}})))
	require.NoError(t, p.Run(buffer(x), buffer(y), RunOptions{Dims: []int64{1}}), "the next run is another")
}

func TestARunAllocatesNothing(t *testing.T) {
	_, p := newPlan(t, &fake{}, relu(t), Options{})
	x, y := []float32{1, 2}, make([]float32, 2)
	in, out, o := buffer(x), buffer(y), RunOptions{Dims: []int64{1}}
	require.NoError(t, p.Run(in, out, o))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := p.Run(in, out, o); err != nil {
			panic(err)
		}
	}))
}

func BenchmarkRun(b *testing.B) {
	_, p := newPlan(b, &fake{}, relu(b), Options{})
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	in, out := buffer(x[:2]), buffer(y[:2])
	one := RunOptions{Dims: []int64{1}}
	b.Run("the last values", func(b *testing.B) {
		for b.Loop() {
			if err := p.Run(in, out, one); err != nil {
				b.Fatal(err)
			}
		}
	})
	in2, out2, two := buffer(x), buffer(y), RunOptions{Dims: []int64{2}}
	b.Run("other values", func(b *testing.B) {
		for b.Loop() {
			if err := p.Run(in2, out2, two); err != nil {
				b.Fatal(err)
			}
			if err := p.Run(in, out, one); err != nil {
				b.Fatal(err)
			}
		}
	})
}
