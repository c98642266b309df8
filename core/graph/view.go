package graph

import (
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// tensorDef is a tensor of the graph, whatever its dynamic dimensions are.
type tensorDef struct {
	kind     Kind
	name     string      // of an input, a weight, a state, or the state that a node wrote
	declared tensor.Type // of a leaf; its dimensions may be dynamic
	weight   *weights.Tensor
	node     int // that computes it, -1 for a leaf
	output   int // of that node
	state    bool
}

func (t *tensorDef) isState() bool { return t.kind == State || t.state }

// nodeDef is an operator of the graph; its int attributes may be dynamic.
type nodeDef struct {
	op    *ops.Op
	in    []ops.Ref
	out   []ops.Ref
	attrs []ops.AttrValue
}

type output struct {
	name string
	ref  ops.Ref
}

// view is the graph's tensors and calls for given values of the dynamic
// dimensions.
type view struct {
	sizes *sizes
	dims  []int64
	types []tensor.Type
	calls []*ops.Call
}

// resolve gives what a number of a shape or an attribute stands for.
func (v *view) resolve(n int64) (int64, error) {
	if isPlain(n) {
		return n, nil
	}
	e, err := v.sizes.expr(n)
	if err != nil {
		return 0, err
	}
	value, err := v.sizes.value(e, v.dims)
	if err == nil && value < 0 {
		// -1 would mean another thing in many an attribute, "to the last" in a slice.
		err = status.Errorf(status.InvalidArgument, "%q is %d, it must not be negative", v.sizes.text(e), value)
	}
	return value, err
}

func (v *view) resolveAll(in []int64) ([]int64, error) {
	out := make([]int64, len(in))
	for i, n := range in {
		var err error
		if out[i], err = v.resolve(n); err != nil {
			return nil, status.Wrapf(err, "number %d", i)
		}
	}
	return out, nil
}

// leaf gives the type of a tensor that no node computes.
func (v *view) leaf(def *tensorDef) (tensor.Type, error) {
	shape := make(tensor.Shape, len(def.declared.Shape))
	for i, n := range def.declared.Shape {
		var err error
		if shape[i], err = v.resolve(n); err != nil {
			return tensor.Type{}, status.Wrapf(err, "dimension %d", i)
		}
		if shape[i] < 1 && !isPlain(n) {
			e, _ := v.sizes.expr(n)
			return tensor.Type{}, status.Errorf(status.InvalidArgument, "dimension %d: %q is %d, it must be at least 1",
				i, v.sizes.text(e), shape[i])
		}
	}
	t := tensor.Type{DType: def.declared.DType, Shape: shape}
	return t, t.Check(false)
}

// call runs an operator's shape rule.
func (v *view) call(n *nodeDef) (*ops.Call, error) {
	in := make([]tensor.Type, len(n.in))
	for i, r := range n.in {
		if r != ops.None {
			in[i] = v.types[r]
		}
	}
	attrs := append([]ops.AttrValue(nil), n.attrs...)
	for i := range attrs {
		var err error
		if attrs[i].Type == ops.Int {
			attrs[i].Int, err = v.resolve(attrs[i].Int)
		} else {
			attrs[i].Ints, err = v.resolveAll(attrs[i].Ints)
		}
		if err != nil {
			return nil, status.Wrapf(err, "attribute %q", n.op.Attrs[i].Name)
		}
	}
	return n.op.NewCall(in, attrs)
}

// try is call where a failure is none: there are no types then, nor for what comes of it.
func (v *view) try(n *nodeDef) *ops.Call {
	for _, r := range n.in {
		if r != ops.None && v.types[r].DType == 0 {
			return &ops.Call{Out: make([]tensor.Type, len(n.out))}
		}
	}
	c, err := v.call(n)
	if err != nil {
		return &ops.Call{Out: make([]tensor.Type, len(n.out))}
	}
	return c
}

func (v *view) append(c *ops.Call) {
	v.types = append(v.types, c.Out...)
	v.calls = append(v.calls, c)
}
