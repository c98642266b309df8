package main

// #include <stdlib.h>
// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
	"qtsaccel/core/session"
)

// available are the backends of this build.
var available = providers.New(getenv, "").All()

// The size of qtsa_backend_options in version 0.1.
const firstBackendOptions = 32

//export go_qtsa_backend_options_init
func go_qtsa_backend_options_init(options *C.qtsa_backend_options, structSize C.size_t) C.qtsa_status {
	return initOptions(options, structSize, firstBackendOptions)
}

//export go_qtsa_backend_create
func go_qtsa_backend_create(options *C.const_backend_options, outBackend *C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		o, err := readOptions(options, firstBackendOptions)
		if err != nil {
			return err
		}
		if err := checkReserved(o.reserved); err != nil {
			return err
		}
		name, err := optionalText(o.backend, "backend")
		if err != nil {
			return err
		}
		plugins, err := optionalText(o.plugin_dir, "plugin_dir")
		if err != nil {
			return err
		}
		b, err := session.OpenBackend(choice.Request{Backend: name, PluginDir: plugins, Threads: int(o.threads)}, getenv, available)
		if err != nil {
			return err
		}
		return give(backends, b, outBackend)
	})
}

// getenv asks C, since a host may set variables after the library was loaded,
// when Go has its own copy already.
func getenv(name string) string {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.GoString(C.getenv(c))
}

//export go_qtsa_backend_free
func go_qtsa_backend_free(backend C.uintptr_t) C.qtsa_status { return free(backends, backend) }

//export go_qtsa_backend_report_copy
func go_qtsa_backend_report_copy(backend C.uintptr_t, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(backends, backend, func(b *session.Backend) error {
		f := session.Format(format)
		if err := f.Check(); err != nil {
			return err
		}
		report, err := b.Report(f)
		if err != nil {
			return err
		}
		return fill(report, buffer, capacity, outSize)
	})
}

//export go_qtsa_backend_name_copy
func go_qtsa_backend_name_copy(backend C.uintptr_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(backends, backend, func(b *session.Backend) error {
		return fill(b.Name(), buffer, capacity, outSize)
	})
}
