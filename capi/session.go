package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/session"
	"qtsaccel/core/status"
)

//export go_qtsa_session_create
func go_qtsa_session_create(backend C.uintptr_t, outSession *C.uintptr_t) C.qtsa_status {
	return with(backends, backend, func(b *engine.Backend) error {
		s, err := session.New(b)
		if err != nil {
			return err
		}
		return give(sessions, s, outSession)
	})
}

//export go_qtsa_session_free
func go_qtsa_session_free(s C.uintptr_t) C.qtsa_status { return free(sessions, s) }

//export go_qtsa_session_reset
func go_qtsa_session_reset(h C.uintptr_t) C.qtsa_status {
	return with(sessions, h, func(s *session.Session) error { return s.Reset() })
}

//export go_qtsa_session_read
func go_qtsa_session_read(h C.uintptr_t, state *C.const_char, offset C.size_t, data unsafe.Pointer, size C.size_t) C.qtsa_status {
	return with(sessions, h, func(s *session.Session) error {
		name, err := text(state, "state")
		if err != nil {
			return err
		}
		if err := checkData(data, size); err != nil {
			return status.Wrapf(err, "state %q", name)
		}
		return s.Read(name, uint64(offset), data, uint64(size))
	})
}

//export go_qtsa_session_write
func go_qtsa_session_write(h C.uintptr_t, state *C.const_char, offset C.size_t, data unsafe.Pointer, size C.size_t) C.qtsa_status {
	return with(sessions, h, func(s *session.Session) error {
		name, err := text(state, "state")
		if err != nil {
			return err
		}
		if err := checkData(data, size); err != nil {
			return status.Wrapf(err, "state %q", name)
		}
		return s.Write(name, uint64(offset), data, uint64(size))
	})
}

func checkData(data unsafe.Pointer, size C.size_t) error {
	if data == nil && size > 0 {
		return status.Errorf(status.InvalidArgument, "data is null, but has %d bytes", uint64(size))
	}
	return nil
}

//export go_qtsa_session_cancel
func go_qtsa_session_cancel(h C.uintptr_t) C.qtsa_status {
	return with(sessions, h, func(s *session.Session) error {
		s.Cancel()
		return nil
	})
}
