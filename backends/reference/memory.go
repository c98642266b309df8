package reference

import (
	"unsafe"

	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// wideBytes is the size of a tensor as the reference holds it, 8 bytes an element.
func wideBytes(t tensor.Type) int64 { return 8 * t.Shape.Elements() }

// over makes a tensor of memory that lies outside Go's heap, where asking for too
// much is an error and not the process's end.
func over(t tensor.Type, memory []byte) ops.Value {
	v, n := ops.Value{Type: t}, t.Shape.Elements()
	if p := unsafe.Pointer(unsafe.SliceData(memory)); t.DType.Integer() {
		v.I = unsafe.Slice((*int64)(p), n)
	} else {
		v.F = unsafe.Slice((*float64)(p), n)
	}
	return v
}

// zeros makes a tensor of an arena's memory.
func zeros(arena *mem.Arena, t tensor.Type) (ops.Value, error) {
	if t.DType.Quantised() {
		return ops.Value{}, status.Errorf(status.Unsupported, "the reference cannot hold %v", t)
	}
	memory, err := arena.Alloc(wideBytes(t))
	if err != nil {
		return ops.Value{}, status.Wrapf(err, "%v as float64", t)
	}
	return over(t, memory), nil
}

// memory hands out the space of results. A result whose last reader has run
// leaves its space to later ones.
type memory struct {
	arena *mem.Arena
	free  [][]byte
	bytes int64 // all ever made
}

// place gives every result of the program its space.
func place(p *graph.Program, values []ops.Value, arena *mem.Arena) (scratch int64, err error) {
	last := lastReaders(p)
	m, used := memory{arena: arena}, make([][]byte, len(values))
	for i, n := range p.Nodes {
		for _, t := range n.Out {
			if n.Call.Op.Writes {
				continue // the state, which is written in place
			}
			if used[t], err = m.take(wideBytes(p.Tensors[t].Type)); err != nil {
				return 0, status.Wrapf(err, "result %v of op %d %q", p.Tensors[t].Type, n.Origin, n.Call.Op.Name)
			}
			values[t] = over(p.Tensors[t].Type, used[t])
		}
		for _, t := range append(append([]int{}, n.In...), n.Out...) {
			if t >= 0 && used[t] != nil && last[t] == i {
				m.free = append(m.free, used[t])
				used[t] = nil // an input may be named twice
			}
		}
	}
	return m.bytes, nil
}

// lastReaders gives for each tensor the node after which its space is free, -1
// for outputs, which stay.
func lastReaders(p *graph.Program) []int {
	last := make([]int, len(p.Tensors))
	for i, n := range p.Nodes {
		for _, t := range append(append([]int{}, n.Out...), n.In...) {
			if t >= 0 {
				last[t] = i
			}
		}
	}
	for _, t := range p.Outputs {
		last[t] = -1
	}
	return last
}

// take gives the smallest free space that n bytes fit in, or a new one.
func (m *memory) take(n int64) ([]byte, error) {
	best := -1
	for i, f := range m.free {
		if int64(len(f)) >= n && (best < 0 || len(f) < len(m.free[best])) {
			best = i
		}
	}
	if best < 0 {
		m.bytes += n
		return m.arena.Alloc(n)
	}
	found := m.free[best]
	m.free = append(m.free[:best], m.free[best+1:]...)
	return found, nil
}
