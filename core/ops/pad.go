package ops

import (
	"slices"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "pad", Summary: "x with elements put before and behind along each axis: a value, or with mode \"reflect\" x's own, mirrored at its outermost ones",
		Source: "ONNX Pad; torch.nn.functional.pad",
		Inputs: []Input{{Name: "x", MinRank: 1}},
		Attrs: []Attr{
			needInts("pads", "how many before each axis, then how many behind each").from(0, 1<<40),
			optText("mode", "constant", "what is put there").oneOf("constant", "reflect"),
			optReal("value", 0, "the constant").ieee(),
		},
		Infer: inferPad,
		Eval: func(c *Call, in, out []Value) error {
			x, y := c.In[0].Shape, c.Out[0].Shape
			st, pads, reflect := strides(x), c.Ints("pads"), c.Text("mode") == "reflect"
			for i := range out[0].F {
				at, left := 0, i
				for axis, n := range slices.Backward(y) {
					k := padSource(left%int(n)-int(pads[axis]), int(x[axis]), reflect)
					left /= int(n)
					if k < 0 {
						at = -1
						break
					}
					at += k * st[axis]
				}
				if at < 0 {
					out[0].F[i] = c.Real("value")
				} else {
					out[0].F[i] = in[0].F[at]
				}
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			x, shape, pads := in[0], append(tensor.Shape{}, c.In[0].Shape...), c.Ints("pads")
			for axis, d := range c.In[0].Shape {
				before, after := pads[axis], pads[len(shape)+axis]
				parts := []Ref{x}
				if before > 0 {
					parts = append([]Ref{padBlock(s, c, x, shape, axis, before, before, 0)}, parts...)
				}
				if after > 0 {
					parts = append(parts, padBlock(s, c, x, shape, axis, after, d-2, d-2-after))
				}
				x = s.concat(axis, parts...)
				shape[axis] = before + d + after
			}
			return s.result(x)
		},
	})
}

// padBlock is what goes before or behind an axis: n elements of the constant, or
// x's from first down to, and without, end.
func padBlock(s *chain, c *Call, x Ref, shape tensor.Shape, axis int, n, first, end int64) Ref {
	if c.Text("mode") == "constant" {
		return s.fill(replaced(shape, axis, n), c.Real("value"))
	}
	if end < 0 {
		end -= shape[axis] // a mere -1 would be the last element
	}
	return s.slice(x, axis, first, end, -1)
}

// padSource says which of an axis' n elements element k of the padded axis is, counted
// from the first of the n; -1: none.
func padSource(k, n int, reflect bool) int {
	switch {
	case k >= 0 && k < n:
		return k
	case !reflect:
		return -1
	case k < 0:
		return -k
	}
	return 2*(n-1) - k
}

func inferPad(c *Call) ([]tensor.Type, error) {
	x, pads := c.In[0].Shape, c.Ints("pads")
	if len(pads) != 2*len(x) {
		return nil, invalid("pads has %d values, want %d: before and after each axis of %s", len(pads), 2*len(x), c.arg(0))
	}
	shape := make(tensor.Shape, len(x))
	for axis, d := range x {
		for _, p := range []int64{pads[axis], pads[len(x)+axis]} {
			if c.Text("mode") == "reflect" && p >= d {
				return nil, mismatch("%d elements cannot be mirrored out of the %d of axis %d of %s: at most %d can", p, d, axis, c.arg(0), d-1)
			}
		}
		shape[axis] = pads[axis] + d + pads[len(x)+axis]
	}
	return f32(shape), nil
}
