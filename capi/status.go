package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/backends/ggml"
)

//export go_qtsa_set_log_callback
func go_qtsa_set_log_callback(callback C.qtsa_log_callback, user C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		ggml.SetLogSink(unsafe.Pointer(callback), uintptr(user))
		return nil
	})
}
