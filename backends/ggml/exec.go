package ggml

/*
#cgo noescape shim_exec_run
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// executable is a program made ready on a stream; see [backend.Executable].
type executable struct {
	stream    *stream
	ptr       *C.struct_shim_exec
	weights   []*weights.Tensor // retained
	placement []backend.NodePlacement
	repacked  []backend.RepackedWeight
	threads   int // of a run that sets none

	// The run in progress borrows these; as fields they are on the heap, so that
	// their addresses hold while they are passed as numbers.
	in, out []backend.Buffer
	timing  *backend.Timing
	cancel  *backend.CancelFlag
}

func (x *executable) Run(in, out []backend.Buffer, o *backend.RunOptions) error {
	threads := o.Threads
	if threads == 0 {
		threads = x.threads
	}
	if threads > 1 && x.stream.backend.cpu {
		threads = x.stream.crowd.enter(threads)
	}
	x.in, x.out, x.timing, x.cancel = in, out, o.Timing, o.Cancel
	code := C.shim_exec_run(x.ptr,
		C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(x.in)))),
		C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(x.out)))),
		C.uintptr_t(uintptr(unsafe.Pointer(x.timing))),
		C.uintptr_t(uintptr(unsafe.Pointer(x.cancel))),
		C.int32_t(threads), C.bool(o.Lent))
	x.in, x.out, x.timing, x.cancel = nil, nil, nil, nil
	if threads > 1 && x.stream.backend.cpu {
		x.stream.crowd.leave(x.stream)
	}
	if code != 0 {
		return status.Errorf(status.Code(code), "%s: %s", x.stream.backend.info.Name,
			C.GoString(C.shim_exec_failure(x.ptr)))
	}
	return nil
}

func (x *executable) Placement() backend.Placement {
	return backend.Placement{
		Nodes:        x.placement,
		Repacked:     x.repacked,
		ScratchBytes: int64(C.shim_stream_scratch(x.stream.ptr)),
		IOBytes:      int64(C.shim_exec_io_bytes(x.ptr)),
	}
}

func (x *executable) Close() error {
	if C.shim_exec_free(x.ptr) {
		x.releaseWeights()
	}
	x.ptr = nil
	return nil
}

func (x *executable) releaseWeights() {
	for _, w := range x.weights {
		w.Release()
	}
	x.weights = nil
}

// measure gives the time in nanoseconds that ggml alone takes for the graph, on
// one thread, as the mean of n computes: what a run is compared with.
func (x *executable) measure(n int) float64 { return float64(C.shim_exec_measure(x.ptr, C.int64_t(n))) }
