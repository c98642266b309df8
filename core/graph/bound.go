package graph

import (
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// bound makes sure that the index inputs of a node stay below their limits.
// Where they come from inputs of the graph, directly or moved about by others
// such as reshape, the inputs get the limit, in below if it is not nil; where
// they are computed, the operator that does it must know a bound.
func (s *Snapshot) bound(v *view, n *nodeDef, c *ops.Call, below map[ops.Ref]int64) error {
	for i, r := range n.in {
		spec := n.op.InputSpec(i)
		if r == ops.None || spec.Below == nil {
			continue
		}
		limit := spec.Below(c)
		if !s.impose(v, r, limit, below) {
			return status.Errorf(status.InvalidArgument,
				"input %q holds indices below %d: they must come from an input or from an operator that bounds them, such as argmax",
				spec.Name, limit)
		}
	}
	return nil
}

// impose tries to bound a tensor's values.
func (s *Snapshot) impose(v *view, r ops.Ref, limit int64, below map[ops.Ref]int64) bool {
	def := &s.tensors[r]
	if def.kind == Input {
		if !v.types[r].DType.Integer() {
			return false // what a float is cut to may be anything
		}
		if old, ok := below[r]; below != nil && (!ok || limit < old) {
			below[r] = limit
		}
		return true
	}
	if def.node < 0 {
		return false
	}
	n, c := &s.nodes[def.node], v.calls[def.node]
	if n.op.OutputBelow == nil || def.output != n.op.IndexOutput {
		return false
	}
	none := make([]int64, len(n.in))
	if known := n.op.OutputBelow(c, none); known > 0 {
		return known <= limit
	}
	all := make([]int64, len(n.in))
	for i := range all {
		all[i] = limit
	}
	if known := n.op.OutputBelow(c, all); known <= 0 || known > limit {
		return false
	}
	for _, in := range n.in {
		if in != ops.None && !s.impose(v, in, limit, below) {
			return false
		}
	}
	return true
}
