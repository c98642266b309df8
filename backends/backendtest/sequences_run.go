package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/guarded"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

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
	var group guarded.Group
	for i, s := range pads {
		group.Go(func() error {
			for range 50 {
				got, err := s.again()
				if err == nil {
					err = near(got[0], wants[i], ofProducts(b))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
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
	y = s.op("scale", []ops.Ref{y}, number("scale", 2))
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
		if err := near(got[0], want, ofProducts(b)); err != nil {
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
		return fmt.Errorf("a cancelled run gives %v, want CANCELLED", status.Of(err))
	}
	atomic.StoreInt32(s.options.Cancel, 0)
	got, err := s.again()
	if err != nil {
		return err
	}
	return near(got[0], want, ofProducts(b))
}
