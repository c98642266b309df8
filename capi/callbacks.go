package main

// #include "callbacks.h"
import "C"

// progressOf makes a host's callback one of ours; null stays none.
func progressOf(callback C.qtsa_progress_callback, user C.uintptr_t) func(done, total int64) bool {
	if callback == nil {
		return nil
	}
	return func(done, total int64) bool {
		return C.capi_progress(callback, C.uint64_t(done), C.uint64_t(total), user) == 0
	}
}

// releaseOf likewise.
func releaseOf(callback C.qtsa_release_callback, user C.uintptr_t) func() {
	if callback == nil {
		return nil
	}
	return func() { C.capi_release(callback, user) }
}
