package main

import (
	"fmt"
	"math"

	"qtsaccel/core/graph"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// call runs one operator of a plan as a call of its own, on values that a run of the
// plan has, and holds it to the reference kernel.
func (tr *trial) call(s *Step) error {
	b, err := tr.bind(s.Plan, s.Binding)
	if err != nil || len(b.program.Nodes) == 0 {
		return err
	}
	n := b.program.Nodes[s.Node%len(b.program.Nodes)]
	for _, t := range n.Call.In {
		if n.Call.Op.Writes || t.DType.Quantised() && n.Call.Op.Name == "reshape" {
			return nil // calls have no states, and give nothing that is quantised
		}
	}
	values, err := tr.run(s)
	if err != nil {
		return err
	}
	in, operands := make([]ops.Value, len(n.In)), make([]oplevel.Operand, len(n.In))
	defer func() {
		for i := range operands {
			if m := operands[i].Matrix; m != nil {
				m.Release()
			}
		}
	}()
	for i, t := range n.In {
		if t < 0 {
			continue
		}
		in[i] = values[t]
		if operands[i], err = tr.operand(&b.program.Tensors[t], values[t]); err != nil {
			return err
		}
	}
	want, err := evaluate(n.Call, in)
	if err != nil {
		return err
	}
	out, data := make([]oplevel.Operand, len(want)), make([][]byte, len(want))
	for i, t := range n.Call.Out {
		if data[i], err = tr.target.host.take(t.Bytes()); err != nil {
			return err
		}
		out[i] = oplevel.Operand{Type: t, Data: at(data[i])}
	}
	tr.called = true
	args := tr.callAttrs(s, n.Origin)
	for range 2 { // the second finds the program of the first
		if err := tr.target.backend.Calls().OpRun(n.Call.Op.Name, operands, args, out, 0); err != nil {
			if status.Of(err) == status.Unsupported {
				return nil // counted where the graph needs it
			}
			return &Failure{Kind: WrongCall, Op: n.Call.Op.Name, Message: fmt.Sprintf("%s: %v", describe(n.Call), err)}
		}
		got := make([]ops.Value, len(want))
		for i, t := range n.Call.Out {
			got[i] = ops.NewValue(t)
			if err := got[i].Decode(data[i]); err != nil {
				return err
			}
		}
		if err := tr.target.check(n.Call, in, got, want, tr.stats); err != nil {
			return &Failure{Kind: WrongCall, Op: n.Call.Op.Name, Message: fmt.Sprintf("node %d %s: %v", n.Origin, describe(n.Call), err)}
		}
	}
	tr.stats.Calls++
	return nil
}

// callAttrs are a node's attributes with the dynamic dimensions' values.
func (tr *trial) callAttrs(s *Step, node int) oplevel.Attributes {
	attrs := resolveAttrs(tr.c.Plans[s.Plan].Nodes[node].Attrs, tr.c.lengths(s.Binding))
	return oplevel.Attributes{
		AppendKey: func(key []byte) []byte {
			for _, a := range attrs {
				key = fmt.Appendf(key, "%s=%d:%d:%x:%q:%v;", a.Name, a.Value.Type, a.Value.Int, math.Float64bits(a.Value.Real), a.Value.Text, a.Value.Ints)
			}
			return key
		},
		Read: func() ([]ops.AttrArg, error) { return attrs, nil },
	}
}

// operand gives a tensor as an operand: a weight as a matrix, the rest as memory.
func (tr *trial) operand(t *graph.ProgramTensor, v ops.Value) (oplevel.Operand, error) {
	if t.Kind == graph.Weight && len(t.Type.Shape) > 0 && !t.Type.DType.Integer() {
		m, err := tr.target.backend.Calls().MatrixOf(tr.weights, t.Name)
		return oplevel.Operand{Matrix: m}, err
	}
	typ := tensor.Type{DType: t.Type.DType, Shape: append(tensor.Shape{}, t.Type.Shape...)}
	data, err := tr.target.host.take(typ.Bytes())
	if err != nil {
		return oplevel.Operand{}, err
	}
	return oplevel.Operand{Type: typ, Data: at(data)}, v.Encode(data)
}
