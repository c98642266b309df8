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
	v, err := zeros(&s.arena, t)
	if err != nil {
		return status.Wrapf(err, "state %q", name)
	}
	s.states[name] = v
	return nil
}

func (s *stream) ResetState() error {
	for _, v := range s.states {
		clear(v.F)
	}
	return nil
}

func (s *stream) ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error {
	data, _, err := s.bytes(name, offset, n)
	copy(unsafe.Slice((*byte)(dst), n), data)
	return err
}

func (s *stream) WriteState(name string, offset int64, src unsafe.Pointer, n int64) error {
	data, around, err := s.bytes(name, offset, n)
	if err != nil {
		return err
	}
	copy(data, unsafe.Slice((*byte)(src), n))
	return around.value.Decode(around.data)
}

// span is a run of whole elements of a state, and their bytes.
type span struct {
	value ops.Value
	data  []byte
}

// bytes gives a copy of n bytes of a state, cut out of the elements around them.
func (s *stream) bytes(name string, offset, n int64) ([]byte, span, error) {
	v := s.states[name]
	_, size := v.Type.DType.Block()
	first, end := offset/size, (offset+n+size-1)/size
	v.F = v.F[first:end]
	around := span{v, make([]byte, (end-first)*size)}
	err := v.Encode(around.data)
	return around.data[offset-first*size:][:n], around, err
}

func (s *stream) Build(p *graph.Program) (backend.Executable, error) { return build(s, p) }

func (s *stream) Close() error {
	s.states = nil
	return s.arena.Free()
}
