// Package ggml computes with ggml's libraries: on the CPU, and with the same code on a
// GPU. It stands on three rooms that know nothing of it: package library, ggml loaded into
// the process; package device, a device with the weights on it; and package kernels, for
// the CPU. Lowering and runs stay together here: a lowering makes tensors of ggml that the
// executable then owns and places, and it asks for the stream's states and the device's
// weights while it does, so that a wall between the two would be all doors.
//
// How a program becomes a run: [stream.Build] lowers each operator to tensors of
// ggml (lower.go, and one lower_*.go per family), the shim places them in memory
// once (exec.cpp), and each run is one call into it. The shim is C++ behind the C
// of shim.h; functions of ggml are called there and in the rooms below, nowhere else.
//
// On the CPU it runs the kernels of package kernels, too, as ggml's custom operators
// (kernel.cpp): an operator that is one call of a kernel needs nothing here.
//
// To lower one more operator, write a function in the file of its family and name
// it in the table of lower.go. To use one more operator of ggml, add it to ops.list;
// another function, to library/symbols.h.
package ggml

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../dist/ggml/include
#cgo CFLAGS: -O2 -Wall
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"qtsaccel/backends/ggml/device"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// Options say which device to use and how.
type Options struct {
	Device string // "cpu", "cuda", "vulkan" or "metal"
	Index  int    // among the devices of that kind
	// CPU threads of a run that sets none, 0: [DefaultThreads]. A graph that is done
	// on one thread before several have met runs on one.
	Threads int
	// NoRepack keeps the weights of products as they are stored; see productLayout.
	NoRepack bool
	// Uploads go in pieces of so many bytes through pinned memory where they are of so
	// many at least; 0: what is best.
	UploadPiece, UploadLeast int64
	// WeightsBudget is how many bytes of the device's memory weights may take; 0: what
	// it has.
	WeightsBudget int64
}

// Backend is a device made ready; see [backend.Backend].
type Backend struct {
	info   backend.Info
	device *device.Device
	cpu    bool
	cuts   atomic.Int64 // how often streams cut their runs down to one thread

	closeOnce sync.Once
}

var _ backend.Backend = (*Backend)(nil)

// New makes a backend of a library. DEVICE_UNAVAILABLE: no plugin, no driver, or
// no device of that index, with how many there are.
func New(l *library.Library, o Options) (*Backend, error) {
	switch o.Device {
	case "cpu", "cuda", "vulkan", "metal":
	default:
		return nil, status.Errorf(status.InvalidArgument, "ggml has no device kind %q; known: cpu, cuda, vulkan, metal", o.Device)
	}
	if err := backend.CheckThreads(o.Threads, "what affinity and cgroup allow"); err != nil {
		return nil, err
	}
	p, err := l.Plugin(o.Device)
	if err != nil {
		return nil, err
	}
	threads := o.Threads
	if threads == 0 {
		threads = DefaultThreads()
	}
	d, err := device.Open(p, device.Options{
		Kind: o.Device, Index: o.Index, Threads: threads, NoRepack: o.NoRepack, WeightsBudget: o.WeightsBudget,
		UploadPiece: o.UploadPiece, UploadLeast: o.UploadLeast,
	})
	if err != nil {
		return nil, err
	}
	b := &Backend{device: d, cpu: d.CPU}
	b.info = backend.Info{
		Name:   d.Name,
		OnHost: b.cpu,
		// Its kernels gather windows while they convolve, and look after ggml's products.
		GathersWindows: b.cpu,
		WholeRange:     b.cpu,
		Description:    d.Description,
		Library:        "ggml " + l.Version,
		Plugin:         p.Path,
		Searched:       l.Searched,
		ProductBits:    24,
		Threads:        threads,
	}
	if !b.cpu {
		// CUDA takes TF32, others f16.
		b.info.ProductBits = 11
		b.info.Notes = append(b.info.Notes, "factors of f32 products keep 11 bits of their mantissa")
	}
	return b, nil
}

// Info says what the backend is.
func (b *Backend) Info() backend.Info {
	info := b.info
	if n := b.cuts.Load(); n > 0 {
		info.Notes = append(slices.Clip(info.Notes),
			fmt.Sprintf("runs were cut down to one thread %d times, since others wanted the CPUs", n))
	}
	return info
}

// Supports lowers the call on its own and asks the device about each part.
func (b *Backend) Supports(c *ops.Call) bool { return b.tryLower(c) }

// NewStream makes one session's stream of work.
func (b *Backend) NewStream() (backend.Stream, error) {
	s := &stream{backend: b, states: map[string]*state{}}
	if err := b.device.Do("a session", func() int32 { return int32(C.shim_stream_new(b.handle(), &s.ptr)) }); err != nil {
		return nil, err
	}
	return s, nil
}

// Close gives the device's memory back. No stream is open any more.
func (b *Backend) Close() error {
	b.closeOnce.Do(func() {
		b.device.Close()
	})
	return nil
}

// Upload puts tensors onto the device; see [backend.Backend].
func (b *Backend) Upload(tensors []*weights.Tensor, progress func(done int64) bool) error {
	return b.device.Upload(tensors, progress)
}

// WeightBytes is what weights take of the device's memory.
func (b *Backend) WeightBytes(w *weights.Weights) int64 { return b.device.WeightBytes(w) }

// Memory gives the device's memory in bytes, and what of it is free now.
func (b *Backend) Memory() (total, free uint64, err error) { return b.device.Memory() }

func (b *Backend) handle() *C.struct_shim_device { return (*C.struct_shim_device)(b.device.Handle()) }
