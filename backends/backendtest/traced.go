package backendtest

import (
	"fmt"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
)

// traced builds a graph by hand and computes it beside, operator by operator, in double
// precision: what a composition should give needs no formula of its own.
type traced struct {
	*sketchpad
	values map[ops.Ref]ops.Value
	want   []ops.Value // of the outputs
}

func newTraced(t *testing.T, b backend.Backend, label string) *traced {
	t.Helper()
	return &traced{sketchpad: newSketchpad(t, b, label), values: map[ops.Ref]ops.Value{}}
}

func (s *traced) add(name string, o Operand) ops.Ref {
	ref, v := s.sketchpad.add(name, o)
	s.values[ref] = v
	return ref
}

func (s *traced) op(name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	ref := s.sketchpad.op(name, in, attrs...)
	if s.err != nil {
		return ops.None
	}
	values := make([]ops.Value, len(in))
	for i, r := range in {
		values[i] = s.values[r]
	}
	_, out, err := exactly(name, Case{Attrs: attrs}, values)
	if s.err = err; err == nil {
		s.values[ref] = out[0]
	}
	return ref
}

func (s *traced) un(name string, x ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	return s.op(name, []ops.Ref{x}, attrs...)
}

// part is the range [start, end) of an axis.
func (s *traced) part(x ops.Ref, axis, start, end int64) ops.Ref {
	return s.un("slice", x, integer("axis", axis), integer("start", start), integer("end", end))
}

func (s *traced) result(name string, r ops.Ref) {
	s.sketchpad.result(name, r)
	s.want = append(s.want, s.values[r])
}

// on puts the graph on the stream of another pad, which closes it.
func (s *traced) on(other *traced) error {
	s.stream = other.stream
	err := s.ready()
	if other != s {
		s.stream = nil
	}
	return err
}

// check runs with the inputs as they are.
func (s *traced) check(tolerance float64) error {
	got, err := s.again()
	if err != nil {
		return err
	}
	for i := range s.want {
		if err := near(got[i], s.want[i], tolerance); err != nil {
			return fmt.Errorf("graph %q, output %d: %w", s.program.Label, i, err)
		}
	}
	return nil
}
