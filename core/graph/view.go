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
	dims  []int64
	types []tensor.Type
	calls []*ops.Call
}

// dimIndex says which dynamic dimension a number stands for, if any.
func dimIndex(d int64) (int, bool) {
	if d < firstDim+MaxDims {
		return int(d - firstDim), true
	}
	return 0, false
}

func (v *view) resolve(d int64) (int64, error) {
	i, dynamic := dimIndex(d)
	if !dynamic {
		return d, nil
	}
	if i >= len(v.dims) {
		return 0, status.Errorf(status.InvalidArgument, "dynamic dimension number %d is not of this graph", i)
	}
	return v.dims[i], nil
}

func (v *view) resolveAll(in []int64) ([]int64, error) {
	out := make([]int64, len(in))
	for i, d := range in {
		var err error
		if out[i], err = v.resolve(d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leaf gives the type of a tensor that no node computes.
func (v *view) leaf(def *tensorDef) (tensor.Type, error) {
	shape, err := v.resolveAll(def.declared.Shape)
	if err != nil {
		return tensor.Type{}, err
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
		if attrs[i].Int, err = v.resolve(attrs[i].Int); err != nil {
			return nil, err
		}
		if attrs[i].Ints, err = v.resolveAll(attrs[i].Ints); err != nil {
			return nil, err
		}
	}
	return n.op.NewCall(in, attrs)
}

func (v *view) append(c *ops.Call) {
	v.types = append(v.types, c.Out...)
	v.calls = append(v.calls, c)
}
