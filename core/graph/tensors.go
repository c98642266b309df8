package graph

import (
	"fmt"
	"math"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// The number that stands for a tensor outside has its index in the lower half and its
// graph's salt in the upper one, which is above 0 and comes again after 2^31 graphs.
const saltShift = 32

func saltOf(graph uint64) int64 { return int64((graph-1)%math.MaxInt32+1) << saltShift }

// Number gives the number that stands for a tensor of the graph.
func (g *Graph) Number(r ops.Ref) int64 { return g.salt | int64(r) }

// Ref gives the tensor that a number stands for. Where it stands for none, the message
// begins with the format.
func (g *Graph) Ref(n int64, format string, args ...any) (ops.Ref, error) {
	r := n &^ (-1 << saltShift)
	switch {
	case n == int64(ops.None):
		return ops.None, nil
	case n^r == g.salt && r <= math.MaxInt32:
		return ops.Ref(r), nil
	}
	what := "no tensor of this graph"
	if n >= 1<<saltShift && n^r != g.salt {
		what = "a tensor of another graph"
	}
	return ops.None, g.errorf(status.InvalidArgument, "%s is %d, %s", fmt.Sprintf(format, args...), n, what)
}

// Inputs gives the tensors that are an operator's inputs.
func (g *Graph) Inputs(op string, numbers []int64) ([]ops.Ref, error) {
	in := make([]ops.Ref, len(numbers))
	for i, n := range numbers {
		var err error
		if in[i], err = g.Ref(n, "op %q: input %d", op, i); err != nil {
			return nil, err
		}
	}
	return in, nil
}
