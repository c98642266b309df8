package reference

import (
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// stream holds the states, whose values are always ones that their dtype has.
type stream struct {
	device *device
	arena  mem.Arena
	states map[string]ops.Value
}

func (s *stream) AddState(name string, t tensor.Type) error {
	v, err := zeros(&room{arena: &s.arena}, t)
	if err != nil {
		return status.Wrapf(err, "state %q", name)
	}
	clear(v.F) // the system gives it now, so that what is free is seen by the next
	s.states[name] = v
	return nil
}

func (s *stream) ResetState() error {
	for _, v := range s.states {
		clear(v.F)
	}
	return nil
}

// spanBytes is how much of a state is converted at a time.
const spanBytes = 64 << 10

func (s *stream) ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error {
	to := unsafe.Slice((*byte)(dst), n)
	return s.eachSpan(name, offset, n, func(x span, at int64) error {
		copy(to[at:], x.part)
		return nil
	})
}

func (s *stream) WriteState(name string, offset int64, src unsafe.Pointer, n int64) error {
	from := unsafe.Slice((*byte)(src), n)
	return s.eachSpan(name, offset, n, func(x span, at int64) error {
		copy(x.part, from[at:])
		return x.value.Decode(x.data)
	})
}

// span is a run of whole elements of a state, their bytes, and which of these are meant.
type span struct {
	value      ops.Value
	data, part []byte
}

// eachSpan gives n bytes of a state from an offset on, cut out of the elements around
// them, in pieces with how many bytes came before.
func (s *stream) eachSpan(name string, offset, n int64, f func(x span, at int64) error) error {
	v := s.states[name]
	_, size := v.Type.DType.Block()
	var data [spanBytes + 16]byte // and the elements at both ends
	for at := int64(0); at < n; at += spanBytes {
		from, end := offset+at, offset+min(at+spanBytes, n)
		first, last := from/size, (end+size-1)/size
		x := span{value: ops.Value{Type: v.Type, F: v.F[first:last]}, data: data[:(last-first)*size]}
		x.part = x.data[from-first*size : end-first*size]
		if err := x.value.Encode(x.data); err != nil {
			return err
		}
		if err := f(x, at); err != nil {
			return err
		}
	}
	return nil
}

// Build gives no executable that is nil inside: callers compare with nil what they close.
func (s *stream) Build(p *graph.Program) (backend.Executable, error) {
	e, err := build(s, p)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s *stream) Close() error {
	s.states = nil
	return s.arena.Free()
}
