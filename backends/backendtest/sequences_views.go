package backendtest

import (
	"fmt"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
)

// views are ways to look at [5, 7, 4], most with an axis of one element, whose stride is
// that of what was cut away.
var views = []struct {
	name string
	draw func(s *traced, x ops.Ref) ops.Ref
}{
	{"first", func(s *traced, x ops.Ref) ops.Ref { return s.part(x, 0, 2, 3) }},
	{"middle", func(s *traced, x ops.Ref) ops.Ref { return s.part(x, 1, 3, 4) }},
	{"last", func(s *traced, x ops.Ref) ops.Ref { return s.part(x, 2, 1, 2) }},
	{"first and last", func(s *traced, x ops.Ref) ops.Ref { return s.part(s.part(x, 0, 1, 2), 2, 3, 4) }},
	{"one element", func(s *traced, x ops.Ref) ops.Ref {
		return s.part(s.part(s.part(x, 0, 1, 2), 1, 5, 6), 2, 3, 4)
	}},
	{"middle, transposed", func(s *traced, x ops.Ref) ops.Ref {
		return s.un("transpose", s.part(x, 1, 3, 4), ints("axes", 2, 0, 1))
	}},
	{"middle of the transposed", func(s *traced, x ops.Ref) ops.Ref {
		return s.part(s.un("transpose", x, ints("axes", 2, 0, 1)), 1, 4, 5)
	}},
	{"four axes", func(s *traced, x ops.Ref) ops.Ref {
		return s.part(s.un("reshape", x, ints("shape", 5, 7, 2, 2)), 2, 1, 2)
	}},
	{"every second", func(s *traced, x ops.Ref) ops.Ref {
		return s.un("slice", x, integer("axis", 1), integer("start", 6), integer("end", 7), integer("step", 2))
	}},
	{"every third of many", func(s *traced, x ops.Ref) ops.Ref {
		return s.un("slice", x, integer("axis", 1), integer("start", 1), integer("end", 7), integer("step", 3))
	}},
}

// uses are what is done with a view, or with a result that lies as the view does.
var uses = []struct {
	name string
	draw func(s *traced, x ops.Ref) ops.Ref
}{
	{"relu", func(s *traced, x ops.Ref) ops.Ref { return s.un("relu", x) }},
	{"leaky_relu", func(s *traced, x ops.Ref) ops.Ref { return s.un("leaky_relu", x, number("negative_slope", 0.1)) }},
	{"clamp", func(s *traced, x ops.Ref) ops.Ref {
		return s.un("clamp", x, number("min", -0.5), number("max", 0.5))
	}},
	{"scale", func(s *traced, x ops.Ref) ops.Ref { return s.un("scale", x, number("scale", 2), number("bias", 1)) }},
	{"exp", func(s *traced, x ops.Ref) ops.Ref { return s.un("exp", x) }},
	{"softmax", func(s *traced, x ops.Ref) ops.Ref { return s.un("softmax", x) }},
	{"gelu", func(s *traced, x ops.Ref) ops.Ref { return s.un("gelu", x) }},
	{"elu", func(s *traced, x ops.Ref) ops.Ref { return s.un("elu", x) }},
	{"swiglu", func(s *traced, x ops.Ref) ops.Ref { return s.op("swiglu", []ops.Ref{x, s.un("neg", x)}) }},
	{"maximum", func(s *traced, x ops.Ref) ops.Ref { return s.op("maximum", []ops.Ref{x, s.un("neg", x)}) }},
	{"rms_norm", func(s *traced, x ops.Ref) ops.Ref { return s.un("rms_norm", x) }},
	{"layer_norm", func(s *traced, x ops.Ref) ops.Ref { return s.un("layer_norm", x) }},
	{"reduce_sum", func(s *traced, x ops.Ref) ops.Ref { return s.un("reduce_sum", x, integer("axis", 0)) }},
	{"reduce_max", func(s *traced, x ops.Ref) ops.Ref { return s.un("reduce_max", x, integer("axis", 1)) }},
	{"concat along the first", func(s *traced, x ops.Ref) ops.Ref {
		return s.op("concat", []ops.Ref{x, x}, integer("axis", 0))
	}},
	{"concat along the second", func(s *traced, x ops.Ref) ops.Ref {
		return s.op("concat", []ops.Ref{x, x, x}, integer("axis", 1))
	}},
	{"concat along the last", func(s *traced, x ops.Ref) ops.Ref {
		return s.op("concat", []ops.Ref{x, x}, integer("axis", -1))
	}},
	{"pad", func(s *traced, x ops.Ref) ops.Ref {
		rank := len(s.values[x].Type.Shape)
		pads := make([]int64, 2*rank)
		for i := range pads {
			pads[i] = int64(i % 3)
		}
		return s.un("pad", x, ints("pads", pads...))
	}},
	{"expand", func(s *traced, x ops.Ref) ops.Ref {
		shape := append([]int64{}, s.values[x].Type.Shape...)
		for i, d := range shape {
			if d == 1 {
				shape[i] = 3
			}
		}
		return s.un("expand", x, ints("shape", shape...))
	}},
	{"add of a row", func(s *traced, x ops.Ref) ops.Ref {
		return s.op("add", []ops.Ref{x, s.part(x, 0, 0, 1)})
	}},
	{"reversed", func(s *traced, x ops.Ref) ops.Ref {
		return s.un("slice", x, integer("axis", 0), integer("start", -1), integer("end", -1000), integer("step", -1))
	}},
}

// viewsOfSingles applies everything to views with axes of one element, to results that
// lie as those do, and to results of results.
func viewsOfSingles(t *testing.T, b backend.Backend) error {
	for _, v := range views {
		s := newTraced(t, b, "views: "+v.name)
		base := s.add("x", x(5, 7, 4))
		view := v.draw(s, base)
		lies := []ops.Ref{view, s.un("neg", view), s.un("leaky_relu", s.un("tanh", view))}
		for i, x := range lies {
			for _, use := range uses {
				y := use.draw(s, x)
				s.result(fmt.Sprintf("%s %d", use.name, i), y)
				s.result(fmt.Sprintf("scale of %s %d", use.name, i), s.un("scale", y, number("scale", 3)))
				if s.err != nil {
					return fmt.Errorf("%s, %s: %w", v.name, use.name, s.err)
				}
			}
		}
		if err := s.on(s); err != nil {
			return err
		}
		for range 2 {
			if err := s.check(1e-5); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	return nil
}
