//go:build qtsatest

package main

// #include "../tests/c/programs/hooks.h"
import "C"

import (
	"errors"
	"runtime"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/handle"
	"qtsaccel/core/mem"
)

//export qtsa_test_panic
func qtsa_test_panic(how C.int32_t) C.qtsa_status {
	return guard(func() error {
		switch how {
		case 0:
			panic("on demand")
		case 1:
			var p *int
			*p = 1
		case 2:
			panic(errors.New("an error on demand"))
		}
		return nil
	})
}

//export qtsa_test_objects
func qtsa_test_objects() C.int64_t {
	total := int64(0)
	for _, k := range []handle.Kind{handle.Backend, handle.Weights, handle.Graph, handle.Session, handle.Plan, handle.Matrix} {
		total += handles.Live(k)
	}
	return C.int64_t(total)
}

//export qtsa_test_tensor_bytes
func qtsa_test_tensor_bytes() C.int64_t { return C.int64_t(mem.Live()) }

//export qtsa_test_allocations
func qtsa_test_allocations() C.uint64_t {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return C.uint64_t(m.Mallocs)
}

//export qtsa_test_log
func qtsa_test_log(level C.int32_t) { library.Log(int32(level), "a line of the library's own") }
