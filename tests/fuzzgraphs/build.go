package main

import (
	"fmt"

	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// resolve gives a shape for values of the dynamic dimensions.
func resolve(shape, dims []int64) tensor.Shape {
	out := make(tensor.Shape, len(shape))
	for i, v := range shape {
		out[i] = v
		if d, ok := dimOf(v); ok {
			out[i] = dims[d]
		}
	}
	return out
}

// resolveAttrs does so for attributes.
func resolveAttrs(attrs []ops.AttrArg, dims []int64) []ops.AttrArg {
	out := append([]ops.AttrArg(nil), attrs...)
	for i := range out {
		out[i].Value.Ints = resolve(out[i].Value.Ints, dims)
		if d, ok := dimOf(out[i].Value.Int); ok {
			out[i].Value.Int = dims[d]
		}
	}
	return out
}

func leafName(i int) string { return fmt.Sprintf("t%d", i) }

// makeWeights makes the weights of a case, with their values by leaf.
func makeWeights(c *Case, values []ops.Value) (*weights.Weights, error) {
	w := weights.New()
	for i, l := range c.Leaves {
		if l.Kind != Weight {
			continue
		}
		t := tensor.Type{DType: l.DType, Shape: l.Shape}
		if err := t.Check(false); err != nil {
			w.Release()
			return nil, err
		}
		data := make([]byte, t.Bytes())
		v, err := l.Fill.values(t, c.Seed^l.Data<<32, 0, data)
		if err == nil {
			err = w.Declare(leafName(i), t)
		}
		if err == nil {
			err = w.Set(leafName(i), data)
		}
		if err != nil {
			w.Release()
			return nil, err
		}
		values[i] = v
	}
	return w, nil
}

// made is the graph of a plan.
type made struct {
	graph   *graph.Graph
	dims    []int // of the case, in the order in which the graph has them
	leaves  map[int]ops.Ref
	nodes   [][]ops.Ref
	outputs []Ref // every tensor that is an output, in their order
}

// makeGraph builds a plan's graph. With everything, each tensor that can be one is an
// output, and no other.
func makeGraph(c *Case, p *Plan, w *weights.Weights, everything bool, label string) (_ *made, err error) {
	m := &made{graph: graph.New(label), leaves: map[int]ops.Ref{}}
	var used []bool
	m.dims, used = c.dims(p)
	defer func() {
		if err != nil {
			m.graph.Release()
		}
	}()
	dims := make([]int64, len(c.Dims))
	for _, d := range m.dims {
		if dims[d], err = m.graph.Dim(fmt.Sprintf("d%d", d), c.Dims[d].Min, c.Dims[d].Max); err != nil {
			return nil, err
		}
	}
	number, err := c.numbers(m.graph, dims, used)
	if err != nil {
		return nil, err
	}
	for _, i := range p.leaves(len(c.Leaves)) {
		l := c.Leaves[i]
		t := tensor.Type{DType: l.DType, Shape: resolve(l.Shape, number)}
		switch l.Kind {
		case Weight:
			m.leaves[i], err = m.graph.Weight(w, leafName(i))
		case State:
			m.leaves[i], err = m.graph.State(leafName(i), t)
		case Input:
			m.leaves[i], err = m.graph.Input(leafName(i), t)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, n := range p.Nodes {
		op, err := ops.Lookup(n.Op)
		if err != nil {
			return nil, err
		}
		in := make([]ops.Ref, len(n.In))
		for j, r := range n.In {
			if in[j], err = m.at(r); err != nil {
				return nil, err
			}
		}
		out, err := m.graph.Op(n.Op, in, resolveAttrs(n.Attrs, number), len(op.Outputs))
		if err != nil {
			return nil, status.Wrapf(err, "node %d", i)
		}
		m.nodes = append(m.nodes, out)
	}
	if everything {
		return m, m.outputAll(p)
	}
	for i, r := range p.Outputs {
		ref, err := m.at(r)
		if err != nil {
			return nil, err
		}
		if err := m.graph.Output(fmt.Sprintf("o%d", i), ref); err != nil {
			return nil, err
		}
		m.outputs = append(m.outputs, r)
	}
	return m, nil
}

func (m *made) at(r Ref) (ops.Ref, error) {
	switch {
	case r.none():
		return ops.None, nil
	case r.leaf():
		return m.leaves[r.Index], nil
	case r.Node < 0 || r.Node >= len(m.nodes) || r.Index >= len(m.nodes[r.Node]):
		return ops.None, status.Errorf(status.InvalidArgument, "there is no tensor %v yet", r)
	}
	return m.nodes[r.Node][r.Index], nil
}

// outputAll makes every result an output, but states that are written again later and
// what is quantised. A plan without any has its own outputs.
func (m *made) outputAll(p *Plan) error {
	written := map[ops.Ref]bool{}
	for i := range p.Nodes {
		op, err := ops.Lookup(p.Nodes[i].Op)
		if err != nil {
			return err
		}
		if op.Writes {
			state, err := m.at(p.Nodes[i].In[0])
			if err != nil {
				return err
			}
			written[state] = true
		}
	}
	add := func(r Ref) error {
		ref, err := m.at(r)
		if err != nil || written[ref] {
			return err
		}
		t, _, err := m.graph.Info(ref)
		if err != nil || t.DType.Quantised() {
			return err
		}
		m.outputs = append(m.outputs, r)
		return m.graph.Output(fmt.Sprintf("o%d", len(m.outputs)-1), ref)
	}
	for i := range p.Nodes {
		for k := range m.nodes[i] {
			if err := add(Ref{i, k}); err != nil {
				return err
			}
		}
	}
	for _, r := range p.Outputs {
		if r.leaf() {
			if err := add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// bound gives the values of a binding in the order in which the graph has them.
func (m *made) bound(c *Case, binding int) []int64 {
	out := make([]int64, len(m.dims))
	for i, d := range m.dims {
		out[i] = c.Bindings[binding][d]
	}
	return out
}

// guardBytes lie behind every buffer, and must stay as they are.
const guardBytes = 64

// host is memory outside Go's heap, as what a host hands over is, used again from case
// to case.
type host struct {
	all  []byte
	used int
	ends []int // where guards begin
}

func newHost(bytes int64) (*host, error) {
	all, err := mem.Alloc(bytes)
	return &host{all: all}, err
}

func (h *host) reset() { h.used, h.ends = 0, h.ends[:0] }

// take gives n bytes with a guard behind them.
func (h *host) take(n int64) ([]byte, error) {
	size := int(n+guardBytes+63) &^ 63
	if h.used+size > len(h.all) {
		return nil, status.Errorf(status.OutOfMemory, "the case is too large for the search")
	}
	b := h.all[h.used : h.used+int(n) : h.used+int(n)]
	end := h.used + int(n)
	for i := end; i < end+guardBytes; i++ {
		h.all[i] = 0xa5
	}
	h.ends = append(h.ends, end)
	h.used += size
	return b, nil
}

// intact says whether every guard is as it was.
func (h *host) intact() bool {
	for _, end := range h.ends {
		for _, b := range h.all[end : end+guardBytes] {
			if b != 0xa5 {
				return false
			}
		}
	}
	return true
}
