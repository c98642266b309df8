package ops

import (
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// ErrNoDecomposition is what Decompose gives for a call that has none although
// others of the operator have one: with a bias there is one, without there is
// nothing left to take apart.
var ErrNoDecomposition = status.Errorf(status.Unsupported, "the call has no decomposition")

// chain writes a decomposition. After a first error it does nothing more, so
// that the error needs a look only at the end.
type chain struct {
	b   Builder
	err error
}

// op adds an operator with one output.
func (s *chain) op(name string, in []Ref, attrs ...AttrArg) Ref {
	if out := s.ops(name, in, attrs...); out != nil {
		return out[0]
	}
	return None
}

// ops adds an operator with any number of outputs.
func (s *chain) ops(name string, in []Ref, attrs ...AttrArg) []Ref {
	if s.err != nil {
		return nil
	}
	var out []Ref
	out, s.err = s.b.Add(name, in, attrs...)
	return out
}

// un and bin add operators of one and two inputs.
func (s *chain) un(name string, x Ref, attrs ...AttrArg) Ref {
	return s.op(name, []Ref{x}, attrs...)
}

func (s *chain) bin(name string, a, b Ref, attrs ...AttrArg) Ref {
	return s.op(name, []Ref{a, b}, attrs...)
}

// scale is x*a + b.
func (s *chain) scale(x Ref, a, b float64) Ref {
	return s.un("scale", x, RealAttr("scale", a), RealAttr("bias", b))
}

func (s *chain) reshape(x Ref, shape ...int64) Ref {
	return s.un("reshape", x, IntsAttr("shape", shape...))
}

func (s *chain) transpose(x Ref, axes ...int64) Ref {
	return s.un("transpose", x, IntsAttr("axes", axes...))
}

// slice is the range [start, end) of an axis with a step.
func (s *chain) slice(x Ref, axis int, start, end, step int64) Ref {
	return s.un("slice", x, IntAttr("axis", int64(axis)), IntAttr("start", start), IntAttr("end", end), IntAttr("step", step))
}

func (s *chain) concat(axis int, x ...Ref) Ref {
	if len(x) == 1 {
		return x[0]
	}
	return s.op("concat", x, IntAttr("axis", int64(axis)))
}

// fill is a tensor of one value.
func (s *chain) fill(shape tensor.Shape, value float64) Ref {
	a := s.op("arange", nil, IntAttr("count", shape.Elements()), RealAttr("start", value), RealAttr("step", 0))
	return s.reshape(a, shape...)
}

// repeated is x so many times along an axis where it has one element: what is there is
// doubled, so that few operators do it however often that is.
func (s *chain) repeated(x Ref, axis int, n int64) Ref {
	if n == 1 {
		return x
	}
	half := s.repeated(x, axis, n/2)
	if n%2 == 0 {
		return s.concat(axis, half, half)
	}
	return s.concat(axis, half, half, x)
}

// maxParts bounds the operators that a decomposition repeats for each group or each
// element of a kernel.
const maxParts = 1 << 14

// f32 is a float tensor as f32, itself where it is one already.
func (s *chain) f32(x Ref, t tensor.Type) Ref {
	if t.DType == tensor.F32 {
		return x
	}
	return s.un("cast", x, TextAttr("dtype", "f32"))
}

// result ends a decomposition.
func (s *chain) result(out ...Ref) ([]Ref, error) {
	if s.err != nil {
		return nil, s.err
	}
	return out, nil
}

// alongLast decomposes an operator along an axis that is not the last into the
// same along the last, between two transpositions; keeps says whether the result
// still has the axis.
func alongLast(b Builder, c *Call, x Ref, keeps bool, attrs ...AttrArg) ([]Ref, error) {
	s := &chain{b: b}
	axis, last := c.Axis(), len(c.In[0].Shape)-1
	if axis == last {
		return nil, ErrNoDecomposition
	}
	y := s.un(c.Op.Name, s.transpose(x, swapped(last+1, axis, last)...), append(attrs, IntAttr("axis", -1))...)
	if keeps {
		return s.result(s.transpose(y, swapped(last+1, axis, last)...))
	}
	// What was last now stands in the axis' place; it goes back behind the others.
	var axes []int64
	for i := range last {
		if i != axis {
			axes = append(axes, int64(i))
		}
	}
	return s.result(s.transpose(y, append(axes, int64(axis))...))
}

// swapped is the identity permutation with two axes exchanged.
func swapped(rank, a, b int) []int64 {
	axes := make([]int64, rank)
	for i := range axes {
		axes[i] = int64(i)
	}
	axes[a], axes[b] = axes[b], axes[a]
	return axes
}
