// Package ggml computes with ggml's libraries, which it loads from a folder of
// plugins: the CPU's, and with the same code a graphics card's.
//
// How a program becomes a run: [stream.Build] lowers each operator to tensors of
// ggml (lower.go, and one lower_*.go per family), the shim places them in memory
// once (exec.cpp), and each run is one call into it. The shim is C++ behind the C
// of shim.h; every function of ggml is called there and nowhere else.
//
// On the CPU it runs the kernels of package kernels, too, as ggml's custom operators
// (kernel.cpp): an operator that is one call of a kernel needs nothing here.
//
// To lower one more operator, write a function in the file of its family and name
// it in the table of lower.go. To use one more operator of ggml, add it to ops.list;
// another function, to symbols.h.
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
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	// WeightsBudget is how many bytes of the device's memory weights may take; 0: what
	// it has.
	WeightsBudget int64
}

// Backend is a device made ready; see [backend.Backend].
type Backend struct {
	info      backend.Info
	device    *C.struct_shim_device
	cpu       bool
	repack    bool
	alignment int64 // of the device's memory
	copies    weights.DeviceCopies
	uploads   uploads
	cuts      atomic.Int64 // how often streams cut their runs down to one thread

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
	b := &Backend{cpu: o.Device == "cpu", repack: !o.NoRepack, copies: weights.DeviceCopies{Budget: o.WeightsBudget}}
	count, err := p.DeviceCount()
	if err != nil {
		return nil, err
	}
	if o.Index < 0 || o.Index >= count {
		return nil, status.Errorf(status.DeviceUnavailable, "%s device %d is asked for, %s finds %d", o.Device, o.Index, p.Path, count)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if C.shim_device_new((*C.struct_shim_plugin)(p.Handle()), C.int32_t(o.Index), C.bool(b.cpu), &b.device) != 0 {
		return nil, library.LastFailure(p.Path)
	}
	b.alignment = int64(C.shim_device_alignment(b.device))
	b.info = backend.Info{
		Name:   o.Device,
		OnHost: b.cpu,
		// Its kernels gather windows while they convolve, and look after ggml's products.
		GathersWindows: b.cpu,
		WholeRange:     b.cpu,
		Description:    C.GoString(C.shim_device_description(b.device)),
		Library:        "ggml " + l.Version,
		Plugin:         p.Path,
		Searched:       l.Searched,
		ProductBits:    24,
		Threads:        o.Threads,
	}
	if !b.cpu {
		b.info.Name = fmt.Sprintf("%s:%d", o.Device, o.Index)
		// CUDA takes TF32, others f16.
		b.info.ProductBits = 11
		b.info.Notes = append(b.info.Notes, "factors of f32 products keep 11 bits of their mantissa")
	}
	if o.Threads == 0 {
		b.info.Threads = DefaultThreads()
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
	if err := b.do("a session", func() C.int32_t { return C.shim_stream_new(b.device, &s.ptr) }); err != nil {
		return nil, err
	}
	return s, nil
}

// Close gives the device's memory back. No stream is open any more.
func (b *Backend) Close() error {
	b.closeOnce.Do(func() {
		b.copies.Close()
		b.uploads.close()
		C.shim_device_free(b.device)
	})
	return nil
}

// do calls the shim and turns its failure into an error about what.
func (b *Backend) do(what string, f func() C.int32_t) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if f() != 0 {
		return library.LastFailure(b.info.Name + ": " + what)
	}
	return nil
}
