package backendtest

import (
	"fmt"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
)

// topologies are graphs of [n] tensors, some with the same number of nodes and operands
// and yet other ways through them: where a result lies must follow from who needs it.
var topologies = []struct {
	name string
	draw func(s *traced, x ops.Ref) ops.Ref
}{
	{"chain", func(s *traced, x ops.Ref) ops.Ref {
		y := s.un("sigmoid", s.un("tanh", s.un("neg", x)))
		return s.op("add", []ops.Ref{y, y})
	}},
	{"diamond", func(s *traced, x ops.Ref) ops.Ref {
		y := s.un("tanh", x)
		return s.op("add", []ops.Ref{y, s.un("exp", s.un("sigmoid", y))})
	}},
	{"early twice", func(s *traced, x ops.Ref) ops.Ref {
		y := s.un("neg", x)
		z := s.un("sin", s.un("cos", y))
		return s.op("sub", []ops.Ref{s.op("mul", []ops.Ref{z, y}), y})
	}},
	{"clamped twice", func(s *traced, x ops.Ref) ops.Ref {
		low := s.un("clamp", x, number("min", -1.7), number("max", -0.3))
		high := s.un("clamp", x, number("min", -1.1), number("max", 1.2))
		return s.op("add", []ops.Ref{s.un("abs", low), high})
	}},
	{"sums of sums", func(s *traced, x ops.Ref) ops.Ref {
		y := s.un("reshape", s.part(x, 0, 0, 1), ints("shape", 1, 1, 1))
		z := s.op("concat", []ops.Ref{x, s.un("reshape", y, ints("shape", 1))}, integer("axis", 0))
		z = s.un("cumsum", z)
		return s.part(s.un("cumsum", s.un("scale", z, number("scale", 0.01))), 0, 0, s.values[x].Type.Shape[0])
	}},
}

// plansInAnyOrder runs several programs on one stream, each beside each of the others,
// of the same and of other lengths, in turn and again: none may change what another
// gives. Built one after the other, in either order, and all before any is run.
func plansInAnyOrder(t *testing.T, b backend.Backend) error {
	lengths := []int64{700, 3, 700, 257}
	for first := range topologies {
		for second := range topologies {
			var pads []*traced
			for i, n := range lengths {
				which := topologies[[]int{first, second}[i%2]]
				s := newTraced(t, b, fmt.Sprintf("%s of %d behind %s", which.name, n, topologies[first].name))
				s.result("y", which.draw(s, s.add("x", x(n).uniform(-2, 2))))
				if s.err != nil {
					return s.err
				}
				pads = append(pads, s)
			}
			for i, s := range pads {
				if err := s.on(pads[0]); err != nil {
					return err
				}
				if i < 2 { // the others are built before they run
					if err := s.check(1e-5); err != nil {
						return err
					}
				}
			}
			for _, i := range []int{0, 1, 2, 3, 1, 0, 3, 2, 0} {
				if err := pads[i].check(1e-5); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
