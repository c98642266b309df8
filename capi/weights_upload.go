package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// uploadOptions is qtsa_upload_options with user as the number that it may be.
type uploadOptions struct {
	structSize C.size_t
	patterns   **C.char
	nPatterns  C.size_t
	progress   C.qtsa_progress_callback
	user       C.uintptr_t
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_upload_options{})^unsafe.Sizeof(uploadOptions{}))|
	(unsafe.Offsetof(C.qtsa_upload_options{}.patterns)^unsafe.Offsetof(uploadOptions{}.patterns))|
	(unsafe.Offsetof(C.qtsa_upload_options{}.user)^unsafe.Offsetof(uploadOptions{}.user))]

// The size of qtsa_upload_options in its first form.
const firstUploadOptions = 40

//export go_qtsa_weights_upload
func go_qtsa_weights_upload(set, backend C.uintptr_t, options *C.const_upload_options) C.qtsa_status {
	return withWeightsOn(set, backend, func(w *weights.Weights, b *engine.Backend) error {
		o, err := readStruct((*uploadOptions)(unsafe.Pointer(options)), firstUploadOptions)
		if err != nil {
			return err
		}
		given, err := list[*C.const_char](o.patterns, o.nPatterns, "patterns")
		if err != nil {
			return err
		}
		patterns := make([]string, len(given))
		for i, p := range given {
			if patterns[i], err = text(p, "pattern"); err != nil {
				return status.Wrapf(err, "pattern %d", i)
			}
		}
		return b.Upload(w, patterns, progressOf(o.progress, o.user))
	})
}

//export go_qtsa_weights_device_bytes
func go_qtsa_weights_device_bytes(set, backend C.uintptr_t, outBytes *C.uint64_t) C.qtsa_status {
	return withWeightsOn(set, backend, func(w *weights.Weights, b *engine.Backend) error {
		*outBytes = C.uint64_t(b.WeightBytes(w))
		return nil
	})
}

// withWeightsOn runs f with weights and a backend, both of which stay meanwhile.
func withWeightsOn(set, backend C.uintptr_t, f func(w *weights.Weights, b *engine.Backend) error) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		return use(backends, backend, func(b *engine.Backend) error { return f(w, b) })
	})
}
