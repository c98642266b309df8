package ops

import "qtsaccel/core/tensor"

// Cost is a class of operators whose rate on a device is much the same: what their time
// follows from.
type Cost uint8

// The classes. Their names are those of the operators that stand for them.
const (
	OtherCost Cost = iota // moving elements and a few operations on each
	MatmulCost
	ConvCost
	AttentionCost
	Costs // how many there are
)

func (c Cost) String() string { return [...]string{"other", "matmul", "conv2d", "attention"}[c] }

// FLOPs is the number of floating-point operations that a call on these shapes takes, a
// multiplication and an addition counted as two. A shape is nil where an optional input
// is absent. Shapes that the operator does not take have no work: a call may be counted
// before it is checked.
func (op *Op) FLOPs(in, out []tensor.Shape) float64 {
	if !op.takes(in, out) {
		return 0
	}
	if op.flops != nil {
		return op.flops(in, out)
	}
	most := elements(out[0])
	for _, s := range in {
		if s != nil {
			most = max(most, elements(s))
		}
	}
	return most
}

// takes says whether there are as many shapes, and of as many dimensions, as the
// operator's inputs and outputs have.
func (op *Op) takes(in, out []tensor.Shape) bool {
	if len(out) != len(op.Outputs) {
		return false
	}
	for i, shape := range in {
		if i >= len(op.Inputs) && (len(op.Inputs) == 0 || !op.Inputs[len(op.Inputs)-1].Variadic) {
			return false
		}
		spec := &op.Inputs[min(i, len(op.Inputs)-1)]
		most := spec.MaxRank
		if most == 0 {
			most = tensor.MaxRank
		}
		if absent := shape == nil; absent && !spec.Optional || !absent && (len(shape) < spec.MinRank || len(shape) > most) {
			return false
		}
	}
	for i := len(in); i < len(op.Inputs); i++ {
		if !op.Inputs[i].Optional {
			return false
		}
	}
	return true
}

// FLOPs is that of the call's shapes; 0 where a backend has nothing to compute.
func (c *Call) FLOPs() float64 {
	if c.Op.View {
		return 0
	}
	in, out := make([]tensor.Shape, len(c.In)), make([]tensor.Shape, len(c.Out))
	for i, t := range c.In {
		if c.Has(i) {
			in[i] = append(tensor.Shape{}, t.Shape...)
		}
	}
	for i, t := range c.Out {
		out[i] = t.Shape
	}
	return c.Op.FLOPs(in, out)
}

// Bytes is how much memory the call reads and writes, each tensor once; 0 where a
// backend has nothing to move.
func (c *Call) Bytes() int64 {
	if c.Op.View {
		return 0
	}
	if c.Op.bytes != nil {
		return c.Op.bytes(c)
	}
	var sum int64
	for i, t := range c.In {
		if c.Has(i) {
			sum += t.Bytes()
		}
	}
	for _, t := range c.Out {
		sum += t.Bytes()
	}
	return sum
}

// elements counts them without a limit.
func elements(s tensor.Shape) float64 {
	n := 1.0
	for _, d := range s {
		n *= float64(d)
	}
	return n
}
