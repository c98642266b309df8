package main

// #include <stdlib.h>
// #include "callbacks.h"
// #include "const_types.h"
import "C"

import (
	"sync"
	"unsafe"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/status"
)

// logger is what lines of the log go to; nil: nowhere.
var logger struct {
	mu  sync.Mutex
	now *C.capi_logger
}

//export go_qtsa_set_log_callback
func go_qtsa_set_log_callback(callback C.qtsa_log_callback, user C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		var next *C.capi_logger
		if callback != nil {
			if next = C.capi_make_logger(callback, user); next == nil {
				return status.Errorf(status.OutOfMemory, "no memory for the log's callback")
			}
		}
		logger.mu.Lock()
		defer logger.mu.Unlock()
		if next == nil {
			library.SetLogSink(nil, 0)
		} else {
			library.SetLogSink(C.capi_log, uintptr(unsafe.Pointer(next)))
		}
		C.free(unsafe.Pointer(logger.now)) // no line is on its way to it any more
		logger.now = next
		return nil
	})
}
