package library

// #include <stdlib.h>
// #include "library.h"
import "C"

import "unsafe"

// SetLogSink sets where log lines go: a C function of the form
//
//	void sink(int32_t level, const char *text, void *user)
//
// with levels from 1 (debug) to 4 (error), called from any thread, several at
// once; nil: nowhere. Once it returns, the sink before is no longer in use. user is
// a number here, since it may be any value, and one that is no address upsets Go.
func SetLogSink(sink unsafe.Pointer, user uintptr) {
	C.shim_log_set_sink(C.shim_log_sink(sink), C.uintptr_t(user))
}

// Log sends a line of our own the way that ggml's go, and says whether that leads
// anywhere.
func Log(level int32, text string) bool {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	return bool(C.shim_log_emit(C.int32_t(level), c))
}
