package reference

import (
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
)

// memory hands out the space of results. A result whose last reader has run
// leaves its space to later ones.
type memory struct {
	floats [][]float64 // free ones
	ints   [][]int64
	bytes  int64 // all ever made
}

// place gives every result of the program its space.
func place(p *graph.Program, values []ops.Value) (scratch int64) {
	last := lastReaders(p)
	var m memory
	for i, n := range p.Nodes {
		for _, t := range n.Out {
			if values[t].F == nil && values[t].I == nil { // not a state, written in place
				values[t] = m.take(ops.Value{Type: p.Tensors[t].Type})
			}
		}
		for _, t := range append(append([]int{}, n.In...), n.Out...) {
			if t >= 0 && p.Tensors[t].Kind == graph.Result && last[t] == i {
				m.give(values[t])
				last[t] = -1 // an input may be named twice
			}
		}
	}
	return m.bytes
}

// lastReaders gives for each tensor the node after which its space is free; none
// for what stays: outputs, and states under the name of the operator that wrote
// them.
func lastReaders(p *graph.Program) map[int]int {
	last := map[int]int{}
	for i, n := range p.Nodes {
		for _, t := range n.Out {
			last[t] = i
		}
		for _, t := range n.In {
			last[t] = i
		}
	}
	for _, t := range p.Outputs {
		delete(last, t)
	}
	for _, n := range p.Nodes {
		if n.Call.Op.Writes {
			delete(last, n.Out[0])
		}
	}
	for t := range p.Tensors {
		if _, ok := last[t]; !ok {
			last[t] = -1
		}
	}
	return last
}

func (m *memory) take(v ops.Value) ops.Value {
	n := int(v.Type.Shape.Elements())
	if v.Type.DType.Integer() {
		v.I = takeFrom(&m.ints, n, &m.bytes)
	} else {
		v.F = takeFrom(&m.floats, n, &m.bytes)
	}
	return v
}

func (m *memory) give(v ops.Value) {
	if v.F != nil {
		m.floats = append(m.floats, v.F[:cap(v.F)])
	} else {
		m.ints = append(m.ints, v.I[:cap(v.I)])
	}
}

// takeFrom gives the smallest free space that n elements fit in, or a new one.
func takeFrom[E float64 | int64](free *[][]E, n int, bytes *int64) []E {
	best := -1
	for i, f := range *free {
		if len(f) >= n && (best < 0 || len(f) < len((*free)[best])) {
			best = i
		}
	}
	if best < 0 {
		*bytes += 8 * int64(n)
		return make([]E, n)
	}
	found := (*free)[best]
	*free = append((*free)[:best], (*free)[best+1:]...)
	return found[:n]
}
