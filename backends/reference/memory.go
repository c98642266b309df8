package reference

import (
	"runtime"
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

// room is the memory of one executable or one state, all of which must be there at once:
// the system gives more than it has, as long as nobody touches it.
type room struct {
	arena *mem.Arena
	bytes int64 // given so far
}

// checkedBytes and more are compared with what is free, which takes a while.
const checkedBytes = 16 << 20

// alloc gives n bytes, or OUT_OF_MEMORY with all that is wanted and what is free.
func (r *room) alloc(n int64) ([]byte, error) {
	if err := r.also(n); err != nil {
		return nil, err
	}
	r.bytes += n
	return r.arena.Alloc(n)
}

// also finds out whether there are n bytes beside what was given.
func (r *room) also(n int64) error {
	if r.bytes+n < checkedBytes {
		return nil
	}
	return mem.Check(r.bytes + n)
}

// zeros makes a tensor in a room.
func zeros(r *room, t tensor.Type) (ops.Value, error) {
	if t.DType.Quantised() {
		return ops.Value{}, status.Errorf(status.Unsupported, "the reference cannot hold %v", t)
	}
	memory, err := r.alloc(wideBytes(t))
	if err != nil {
		return ops.Value{}, status.Wrapf(err, "%v as float64", t)
	}
	return over(t, memory), nil
}

// memory hands out the space of results. A result whose last reader has run
// leaves its space to later ones.
type memory struct {
	room  *room
	free  [][]byte
	bytes int64 // all ever made
}

// place gives every result of the program its space, and finds out whether there is
// what the kernels take beside.
func place(p *graph.Program, values []ops.Value, r *room) (scratch int64, err error) {
	last := lastReaders(p)
	m, used := memory{room: r}, make([][]byte, len(values))
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
	for _, n := range p.Nodes {
		if n.Call.Op.Scratch == nil {
			continue
		}
		// Go's heap may be twice as large as what is in use.
		if err := r.also(2 * n.Call.Op.Scratch(n.Call) * int64(runtime.GOMAXPROCS(0))); err != nil {
			return 0, status.Wrapf(err, "op %d %q", n.Origin, n.Call.Op.Name)
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
		return m.room.alloc(n)
	}
	found := m.free[best]
	m.free = append(m.free[:best], m.free[best+1:]...)
	return found, nil
}
