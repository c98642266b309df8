package graph

import (
	"fmt"

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
		if problem := s.impose(v, r, limit, below); problem != "" {
			return status.Errorf(status.InvalidArgument, "input %q holds indices below %d: %s", spec.Name, limit, problem)
		}
	}
	return nil
}

// mustCome ends what says that values have no bound.
const mustCome = "they must come from an integer input or from an operator that bounds them, such as argmax"

// impose tries to bound a tensor's values, and says what is in the way.
func (s *Snapshot) impose(v *view, r ops.Ref, limit int64, below map[ops.Ref]int64) string {
	def := &s.tensors[r]
	if def.kind == Input {
		if !v.types[r].DType.Integer() {
			// What a float is cut to may be anything.
			return fmt.Sprintf("input %q of the graph is %v, and they must come from an integer one", def.name, v.types[r].DType)
		}
		if old, ok := below[r]; below != nil && (!ok || limit < old) {
			below[r] = limit
		}
		return ""
	}
	if def.node < 0 {
		return fmt.Sprintf("what %v %q holds has no bound; %s", def.kind, def.name, mustCome)
	}
	n, c := &s.nodes[def.node], v.calls[def.node]
	if n.op.OutputBelow == nil || def.output != n.op.IndexOutput {
		return fmt.Sprintf("what op %d %q gives has no bound; %s", def.node, n.op.Name, mustCome)
	}
	none := make([]int64, len(n.in))
	if known := n.op.OutputBelow(c, none); known > limit {
		return fmt.Sprintf("op %d %q gives values up to %d", def.node, n.op.Name, known-1)
	} else if known > 0 {
		return ""
	}
	all := make([]int64, len(n.in))
	for i := range all {
		all[i] = limit
	}
	if known := n.op.OutputBelow(c, all); known <= 0 || known > limit {
		return fmt.Sprintf("what op %d %q gives with these inputs and attributes has no bound; %s", def.node, n.op.Name, mustCome)
	}
	for _, in := range n.in {
		if in == ops.None {
			continue
		}
		if problem := s.impose(v, in, limit, below); problem != "" {
			return problem
		}
	}
	return ""
}
