package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

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

// readAfterWrite computes with a state before and after it is written, twice in
// one run.
func readAfterWrite(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "sum")
	sum, _ := s.add("sum", state(f32, 33).of(0))
	v, _ := s.add("v", x(33).of(1, 2, 3))
	before := s.op("scale", []ops.Ref{sum}, number("scale", 10))
	once := s.op("state_write", []ops.Ref{sum, s.op("add", []ops.Ref{sum, v})})
	between := s.op("scale", []ops.Ref{once}, number("scale", 1))
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

// nothingLeft has operators whose decompositions leave nothing to do give a state's content
// as it was before it was written.
func nothingLeft(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "nothing left")
	st, v := s.add("st", state(f32, 3, 5))
	n, _ := s.add("n", x(3, 5).of(7))
	s.result("padded", s.op("pad", []ops.Ref{st}, ints("pads", 0, 0, 0, 0), number("value", -1)))
	s.result("wide", s.op("expand", []ops.Ref{st}, ints("shape", 3, 5)))
	s.result("one", s.op("concat", []ops.Ref{st}, integer("axis", 0)))
	s.result("again", s.op("reshape", []ops.Ref{st}, ints("shape", 3, 5)))
	s.result("turned", s.op("transpose", []ops.Ref{st}, ints("axes", 0, 1)))
	s.result("whole", s.op("slice", []ops.Ref{st}, integer("axis", 0)))
	s.result("cast", s.op("cast", []ops.Ref{st}, text("dtype", "f32")))
	before := len(s.out)
	s.result("written", s.op("state_write", []ops.Ref{st, n}))
	if err := s.ready(); err != nil {
		return err
	}
	got, err := s.run()
	if err != nil {
		return err
	}
	for i := range before {
		if err := near(got[i], v, 0); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// rowsMoved writes a state's own rows, and a part of them, to other places of it: what is
// written is what was there before.
func rowsMoved(t *testing.T, b backend.Backend) error {
	s := newSketchpad(t, b, "rows")
	all, v := s.add("all", state(f32, 5, 33))
	some, w := s.add("some", state(f32, 5, 33))
	places, _ := s.add("places", index(i32, 5, 5).of(1, 2, 3, 4, 0))
	few, _ := s.add("few", index(i32, 5, 3).of(2, 3, 4))
	first := s.op("slice", []ops.Ref{some}, integer("axis", 0), integer("end", 3))
	s.result("turned", s.op("state_write", []ops.Ref{all, all, places}))
	s.result("moved", s.op("state_write", []ops.Ref{some, first, few}))
	if err := s.ready(); err != nil {
		return err
	}
	got, err := s.run()
	if err != nil {
		return err
	}
	turned := floatsOf(f32, v.Type.Shape, func(i int) float64 { return v.F[(i+4*33)%(5*33)] })
	moved := floatsOf(f32, w.Type.Shape, func(i int) float64 {
		if i < 2*33 {
			return w.F[i]
		}
		return w.F[i-2*33]
	})
	return errors.Join(near(got[0], turned, 0), near(got[1], moved, 0))
}

// executablesShare runs two programs on one stream in turn: scratch memory may be
// shared, inputs, outputs and results may not, and a state is the same for both.
func executablesShare(t *testing.T, b backend.Backend) (err error) {
	first, second := newSketchpad(t, b, "first"), newSketchpad(t, b, "second")
	want1, want2 := mlp(first, 33), mlp(second, 64)
	counter, _ := first.add("counter", state(f32, 1).of(0))
	first.result("count", first.op("state_write", []ops.Ref{counter, first.op("scale", []ops.Ref{counter}, number("bias", 1))}))
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
			if err := near(got[0], s.want, ofProducts(b)); err != nil {
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
