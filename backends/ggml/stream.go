package ggml

// #include "shim.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// stream is one session's stream of work; see [backend.Stream].
type stream struct {
	backend *Backend
	ptr     *C.struct_shim_stream
	states  map[string]*state
	crowd   crowd
}

// state is a tensor that keeps its content between runs.
type state struct {
	typ    tensor.Type
	buffer *C.struct_ggml_backend_buffer
}

func (s *stream) AddState(name string, t tensor.Type) error {
	if s.backend.cpu {
		if err := mem.Check(t.Bytes()); err != nil {
			return status.Wrapf(err, "state %q, %v", name, t)
		}
	}
	st := &state{typ: t}
	ne := extents(t.Shape)
	err := s.backend.device.Do("state "+name, func() int32 {
		return int32(C.shim_state_new(s.ptr, dtypes[t.DType], &ne[0], &st.buffer))
	})
	if err != nil {
		return err
	}
	s.states[name] = st
	return nil
}

func (s *stream) ResetState() error {
	for name, st := range s.states {
		err := s.backend.device.Do("state "+name, func() int32 { return int32(C.shim_state_reset(s.ptr, st.buffer)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error {
	return s.onState(name, func(b *C.struct_ggml_backend_buffer) C.int32_t {
		return C.shim_state_read(s.ptr, b, C.int64_t(offset), dst, C.int64_t(n))
	})
}

func (s *stream) WriteState(name string, offset int64, src unsafe.Pointer, n int64) error {
	return s.onState(name, func(b *C.struct_ggml_backend_buffer) C.int32_t {
		return C.shim_state_write(s.ptr, b, C.int64_t(offset), src, C.int64_t(n))
	})
}

func (s *stream) onState(name string, f func(*C.struct_ggml_backend_buffer) C.int32_t) error {
	st := s.states[name]
	if st == nil {
		return status.Errorf(status.NotFound, "there is no state %q", name)
	}
	return s.backend.device.Do("state "+name, func() int32 { return int32(f(st.buffer)) })
}

// Build gives no executable that is nil inside: callers compare with nil what they close.
func (s *stream) Build(p *graph.Program) (backend.Executable, error) {
	x, err := s.build(p)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (s *stream) Close() error {
	if !C.shim_stream_abandoned(s.ptr) {
		for _, st := range s.states {
			s.backend.device.FreeBuffer(unsafe.Pointer(st.buffer))
		}
		C.shim_stream_free(s.ptr)
	}
	s.states = nil
	s.ptr = nil
	return nil
}
