package main

// #include "const_types.h"
import "C"

import (
	"sync"
	"sync/atomic"

	"qtsaccel/core/engine"
	"qtsaccel/core/status"
)

// active is the backend that the process has settled on. activeHandle is a handle
// of our own for it: undecided 0, settled that there is none noBackend.
var (
	active       engine.Active
	activeHandle atomic.Uint64
	installing   sync.Mutex // whoever comes second finds the handle there
)

const noBackend = ^uint64(0)

//export go_qtsa_backend_install
func go_qtsa_backend_install(backend C.uintptr_t) C.qtsa_status {
	if backend == 0 {
		return guard(func() error { return install(nil) })
	}
	return with(backends, backend, install)
}

func install(b *engine.Backend) error {
	installing.Lock()
	defer installing.Unlock()
	first, err := active.Install(b)
	if err != nil || !first {
		return err
	}
	if b == nil {
		activeHandle.Store(noBackend)
		return nil
	}
	h, err := backends.Add(b)
	activeHandle.Store(uint64(h))
	return err
}

//export go_qtsa_backend_get_active
func go_qtsa_backend_get_active(outBackend *C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		switch h := activeHandle.Load(); h {
		case 0:
			return status.Errorf(status.NotFound, "no backend was installed")
		case noBackend:
		default:
			*outBackend = C.uintptr_t(h)
		}
		return nil
	})
}
