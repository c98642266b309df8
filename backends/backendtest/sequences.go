package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// runSequences holds a backend to what is said of its interface beyond single
// operators.
func runSequences(t *testing.T, b backend.Backend) {
	t.Helper()
	for _, s := range []struct {
		name string
		try  func(t *testing.T, b backend.Backend) error
	}{
		{"state across runs f32", func(t *testing.T, b backend.Backend) error { return stateAcrossRuns(t, b, f32) }},
		{"state across runs f16", func(t *testing.T, b backend.Backend) error { return stateAcrossRuns(t, b, f16) }},
		{"state read and written after it is written", readAfterWrite},
		{"executables share states and scratch", executablesShare},
		{"streams in parallel", streamsInParallel},
		{"inputs as they were, outputs not wanted", leftOut},
		{"outputs that nothing computes, and views", passedThrough},
		{"nothing of the host's is kept or written", hostMemory},
		{"threads", threads},
		{"cancel", cancel},
	} {
		t.Run("sequence/"+s.name, func(t *testing.T) {
			if err := s.try(t, b); errors.Is(err, errUnsupported) {
				t.Skip(err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// sketchpad builds a graph by hand; the first error stays.
type sketchpad struct {
	*maker
	r   *rand.Rand
	err error
}

func newSketchpad(t *testing.T, b backend.Backend, label string) *sketchpad {
	t.Helper()
	return &sketchpad{maker: newMaker(t, b, label), r: rand.New(rand.NewPCG(1, 2))}
}

// add adds a leaf and gives its values too.
func (s *sketchpad) add(name string, o Operand) (ops.Ref, ops.Value) {
	if s.err != nil {
		return ops.None, ops.Value{}
	}
	v, data, err := o.value(s.r)
	if err != nil {
		s.err = err
		return ops.None, v
	}
	ref, err := s.leaf(o, name, data)
	s.err = err
	return ref, v
}

func (s *sketchpad) op(name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	if s.err != nil {
		return ops.None
	}
	out, err := s.graph.Op(name, in, attrs, 1)
	if s.err = err; err != nil {
		return ops.None
	}
	return out[0]
}

// result makes a tensor an output.
func (s *sketchpad) result(name string, r ops.Ref) {
	if s.err != nil {
		return
	}
	t, _, err := s.graph.Info(r)
	if s.err = err; err == nil {
		s.err = s.output(name, r, t)
	}
}

func (s *sketchpad) ready() error {
	if s.err != nil {
		return s.err
	}
	return unsupported(s.build())
}

// set gives input i new content.
func (s *sketchpad) set(i int, v ops.Value) error { return v.Encode(s.inputs[i]) }

func floatsOf(d tensor.DType, shape tensor.Shape, f func(i int) float64) ops.Value {
	v := ops.NewValue(tensor.Type{DType: d, Shape: shape})
	for i := range v.F {
		v.F[i] = f(i)
	}
	return v
}

// stateAcrossRuns writes a row at a run and looks at the whole state each time,
// as an output and from outside.
func stateAcrossRuns(t *testing.T, b backend.Backend, d tensor.DType) error {
	s := newSketchpad(t, b, "cache")
	cache, _ := s.add("cache", state(d, 5, 2, 3).of(0))
	row, _ := s.add("row", x(1, 2, 3))
	at, _ := s.add("at", index(i32, 5, 1))
	written := s.op("state_write", []ops.Ref{cache, row, at})
	s.result("cache", written)
	if err := s.ready(); err != nil {
		return err
	}
	want := ops.NewValue(tensor.Type{DType: d, Shape: tensor.Shape{5, 2, 3}})
	outside := s.memory.bytes(t, want.Type.Bytes())
	for run, position := range []int64{3, 0, 3, 4} {
		values := floatsOf(f32, tensor.Shape{1, 2, 3}, func(i int) float64 { return float64(run) + 0.1*float64(i) })
		if err := s.set(0, values); err != nil {
			return err
		}
		if err := s.set(1, ops.Value{Type: tensor.Type{DType: i32, Shape: tensor.Shape{1}}, I: []int64{position}}); err != nil {
			return err
		}
		copy(want.F[position*6:], values.F)
		got, err := s.again()
		if err != nil {
			return err
		}
		exact := rounded(want)
		if err := near(got[0], exact, 0); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if err := s.stream.ReadState("cache", 0, pointing(outside).Data, int64(len(outside))); err != nil {
			return err
		}
		read := ops.NewValue(want.Type)
		if err := read.Decode(outside); err != nil {
			return err
		}
		if err := near(read, exact, 0); err != nil {
			return fmt.Errorf("ReadState after run %d: %w", run, err)
		}
	}

	// A part is read and written, at a byte inside an element.
	part := s.memory.bytes(t, 7)
	if err := s.stream.ReadState("cache", 3, pointing(part).Data, 7); err != nil {
		return err
	}
	if !bytes.Equal(part, outside[3:10]) {
		return fmt.Errorf("ReadState of bytes 3 to 10 gives %x, want %x", part, outside[3:10])
	}
	if err := s.stream.WriteState("cache", 3, pointing(part).Data, 7); err != nil {
		return err
	}
	again := s.memory.bytes(t, want.Type.Bytes())
	if err := s.stream.ReadState("cache", 0, pointing(again).Data, int64(len(again))); err != nil {
		return err
	}
	if !bytes.Equal(again, outside) {
		return errors.New("writing back what was read changed the state")
	}
	if err := s.stream.ResetState(); err != nil {
		return err
	}
	if err := s.stream.ReadState("cache", 0, pointing(again).Data, int64(len(again))); err != nil {
		return err
	}
	if !bytes.Equal(again, make([]byte, len(again))) {
		return errors.New("the state is not zero after ResetState")
	}
	return nil
}

// rounded gives values as their dtype holds them.
func rounded(v ops.Value) ops.Value {
	data := make([]byte, v.Type.Bytes())
	out := ops.NewValue(v.Type)
	if v.Encode(data) != nil || out.Decode(data) != nil {
		panic("a dtype that values can be in cannot be stored")
	}
	return out
}

// readAfterWrite computes with a state before and after it is written, twice in
// one run.
func readAfterWrite(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "sum")
	sum, _ := s.add("sum", state(f32, 33).of(0))
	v, _ := s.add("v", x(33).of(1, 2, 3))
	before := s.op("scale", []ops.Ref{sum}, real("scale", 10))
	once := s.op("state_write", []ops.Ref{sum, s.op("add", []ops.Ref{sum, v})})
	between := s.op("scale", []ops.Ref{once}, real("scale", 1))
	twice := s.op("state_write", []ops.Ref{once, s.op("add", []ops.Ref{once, v})})
	s.result("before", before)
	s.result("between", between)
	s.result("after", twice)
	if err := s.ready(); err != nil {
		return err
	}
	for run := range 3 {
		got, err := s.again()
		if err != nil {
			return err
		}
		for i, factor := range []float64{20 * float64(run), 2*float64(run) + 1, 2*float64(run) + 2} {
			want := floatsOf(f32, tensor.Shape{33}, func(i int) float64 { return factor * float64(1+i%3) })
			if err := near(got[i], want, 1e-6); err != nil {
				return fmt.Errorf("run %d, output %d: %w", run, i, err)
			}
		}
	}
	return nil
}

// mlp is a small graph with weights whose result is known.
func mlp(s *sketchpad, n int64) (want ops.Value) {
	x, xs := s.add("x", x(3, n))
	w, ws := s.add("w", weight(f32, n, n))
	y := s.op("relu", []ops.Ref{s.op("linear", []ops.Ref{x, w})})
	y = s.op("add", []ops.Ref{s.op("linear", []ops.Ref{y, w}), x})
	s.result("y", y)
	if s.err != nil {
		return
	}
	linear := func(in ops.Value) ops.Value {
		_, out, err := exactly("linear", Case{}, []ops.Value{in, ws})
		s.err = errors.Join(s.err, err)
		return out[0]
	}
	hidden := linear(xs)
	for i := range hidden.F {
		hidden.F[i] = max(hidden.F[i], 0)
	}
	want = linear(hidden)
	for i := range want.F {
		want.F[i] += xs.F[i]
	}
	return want
}

// executablesShare runs two programs on one stream in turn: scratch memory may be
// shared, inputs, outputs and results may not, and a state is the same for both.
func executablesShare(t *testing.T, b backend.Backend) (err error) {
	first, second := newSketchpad(t, b, "first"), newSketchpad(t, b, "second")
	want1, want2 := mlp(first, 33), mlp(second, 64)
	counter, _ := first.add("counter", state(f32, 1).of(0))
	first.result("count", first.op("state_write", []ops.Ref{counter, first.op("scale", []ops.Ref{counter}, real("bias", 1))}))
	if err := first.ready(); err != nil {
		return err
	}

	// The second program's stream is the first's, and so is its state.
	shared, err := second.graph.State("counter", tensor.Type{DType: f32, Shape: tensor.Shape{1}})
	if err != nil {
		return err
	}
	second.result("count", second.op("scale", []ops.Ref{shared}))
	second.stream = first.stream
	err = second.ready()
	second.stream = nil // the first one closes it; t closes second before
	if err != nil {
		return err
	}
	for run := range 3 {
		for _, s := range []struct {
			pad   *sketchpad
			want  ops.Value
			count float64
		}{{first, want1, float64(run + 1)}, {second, want2, float64(run + 1)}} {
			got, err := s.pad.again()
			if err != nil {
				return err
			}
			if err := near(got[0], s.want, 1e-5); err != nil {
				return fmt.Errorf("run %d: %w", run, err)
			}
			if got[1].F[0] != s.count {
				return fmt.Errorf("run %d: the counter is %v, want %v", run, got[1].F[0], s.count)
			}
			for i := range s.pad.in {
				s.pad.in[i].Data = nil // from now on as it was
			}
		}
	}
	return err
}

// streamsInParallel runs streams of one backend at once.
func streamsInParallel(t *testing.T, b backend.Backend) error {
	const streams = 2
	pads, wants := make([]*sketchpad, streams), make([]ops.Value, streams)
	for i := range pads {
		pads[i] = newSketchpad(t, b, fmt.Sprintf("stream %d", i))
		wants[i] = mlp(pads[i], int64(64+i))
		if err := pads[i].ready(); err != nil {
			return err
		}
	}
	errs := make([]error, streams)
	var group sync.WaitGroup
	for i, s := range pads {
		group.Go(func() {
			for range 50 {
				got, err := s.again()
				if err == nil {
					err = near(got[0], wants[i], 1e-5)
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// leftOut runs with an input left as it was and with an output not wanted.
func leftOut(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "left out")
	one, _ := s.add("one", x(33).of(1))
	two, _ := s.add("two", x(33).of(2))
	s.result("sum", s.op("add", []ops.Ref{one, two}))
	s.result("product", s.op("mul", []ops.Ref{one, two}))
	if err := s.ready(); err != nil {
		return err
	}
	if _, err := s.again(); err != nil {
		return err
	}
	constant := func(v float64) ops.Value {
		return floatsOf(f32, tensor.Shape{33}, func(int) float64 { return v })
	}
	s.in[1].Data = nil // 2, as it was
	sum, product := s.out[0], s.out[1]
	for run := range 4 {
		if err := s.set(0, constant(float64(run))); err != nil {
			return err
		}
		s.out[0], s.out[1] = sum, product
		s.out[run%2].Data = nil
		clear(bytesAt(sum))
		clear(bytesAt(product))
		if _, err := s.again(); err != nil {
			return err
		}
		for i, want := range []float64{float64(run) + 2, float64(run) * 2} {
			if i == run%2 {
				want = 0 // not written
			}
			got := ops.NewValue(s.types[i])
			if err := got.Decode(bytesAt([]backend.Buffer{sum, product}[i])); err != nil {
				return err
			}
			if err := near(got, constant(want), 1e-6); err != nil {
				return fmt.Errorf("run %d, output %d: %w", run, i, err)
			}
		}
	}
	return nil
}

// passedThrough has outputs that are an input, a weight, a state, the same tensor
// twice, and views of another output.
func passedThrough(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "passed through")
	in, v := s.add("in", x(4, 33))
	ids, n := s.add("ids", index(i32, 99, 5))
	w, wv := s.add("w", weight(f16, 3, 5))
	st, sv := s.add("st", state(f16, 2, 3))
	y := s.op("neg", []ops.Ref{in})
	flat := s.op("reshape", []ops.Ref{y}, ints("shape", 132))
	row := s.op("slice", []ops.Ref{y}, integer("axis", 0), integer("start", 2), integer("end", 3))
	input := s.op("reshape", []ops.Ref{in}, ints("shape", 33, 4))
	var want []ops.Value
	output := func(name string, r ops.Ref, v ops.Value) {
		s.result(name, r)
		want = append(want, v)
	}
	minus := func(shape tensor.Shape, from int) ops.Value {
		return floatsOf(f32, shape, func(i int) float64 { return -v.F[from+i] })
	}
	output("in", in, v)
	output("ids", ids, n)
	output("w", w, wv)
	output("st", st, sv)
	output("y", y, minus(tensor.Shape{4, 33}, 0))
	output("y again", y, minus(tensor.Shape{4, 33}, 0))
	output("flat", flat, minus(tensor.Shape{132}, 0))
	output("row", row, minus(tensor.Shape{1, 33}, 66))
	output("view of an input", input, ops.Value{Type: tensor.Type{DType: f32, Shape: tensor.Shape{33, 4}}, F: v.F})
	if err := s.ready(); err != nil {
		return err
	}
	for range 2 {
		got, err := s.run()
		if err != nil {
			return err
		}
		for i := range want {
			if err := near(got[i], want[i], 0); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// hostMemory makes sure that inputs are not written to, and that what they held
// at a run does not change when the host uses the memory for something else.
func hostMemory(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "host memory")
	in, v := s.add("in", x(33))
	y := s.op("relu", []ops.Ref{in}) // what backends like to do in place
	y = s.op("scale", []ops.Ref{y}, real("scale", 2))
	s.result("y", y)
	if err := s.ready(); err != nil {
		return err
	}
	want := floatsOf(f32, v.Type.Shape, func(i int) float64 { return 2 * max(v.F[i], 0) })
	before := bytes.Clone(s.inputs[0])
	for run := range 2 {
		got, err := s.again()
		if err != nil {
			return err
		}
		if err := near(got[0], want, 1e-6); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if run == 0 && !bytes.Equal(before, s.inputs[0]) {
			return errors.New("a run wrote to its input's memory")
		}
		s.in[0].Data = nil
		for i := range s.inputs[0] {
			s.inputs[0][i] = 0xff // NaN
		}
	}
	return nil
}

// threads gives the same with any number of threads, and says how long it took.
func threads(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "threads")
	want := mlp(s, 256)
	if err := s.ready(); err != nil {
		return err
	}
	for _, n := range []int{1, 2, 3, 0} {
		var timing backend.Timing
		s.options.Threads, s.options.Timing = n, &timing
		got, err := s.again()
		if err != nil {
			return err
		}
		if err := near(got[0], want, 1e-5); err != nil {
			return fmt.Errorf("%d threads: %w", n, err)
		}
		if timing.Compute <= 0 || timing.Upload < 0 || timing.Download < 0 {
			return fmt.Errorf("%d threads: the timing is %+v", n, timing)
		}
	}
	return nil
}

// cancel stops a run before it starts, and runs again.
func cancel(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "cancel")
	want := mlp(s, 65)
	if err := s.ready(); err != nil {
		return err
	}
	atomic.StoreInt32(s.options.Cancel, 1)
	if _, err := s.again(); status.Of(err) != status.Cancelled {
		return fmt.Errorf("a cancelled run gives %v, want CANCELLED", err)
	}
	atomic.StoreInt32(s.options.Cancel, 0)
	got, err := s.again()
	if err != nil {
		return err
	}
	return near(got[0], want, 1e-5)
}
