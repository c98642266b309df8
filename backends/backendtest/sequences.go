package backendtest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
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
		{"nothing left to do with a state that is written later", nothingLeft},
		{"rows of a state moved within it", rowsMoved},
		{"executables share states and scratch", executablesShare},
		{"executables in any order", plansInAnyOrder},
		{"views with axes of one element", viewsOfSingles},
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

// rounded gives values as their dtype holds them.
func rounded(v ops.Value) ops.Value {
	data := make([]byte, v.Type.Bytes())
	out := ops.NewValue(v.Type)
	if v.Encode(data) != nil || out.Decode(data) != nil {
		panic("a dtype that values can be in cannot be stored")
	}
	return out
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
