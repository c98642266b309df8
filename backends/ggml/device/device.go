// Package device is a device of ggml's made ready: its memory, and the weights there, as
// they are stored or in layouts in which products and convolutions find them faster. Each
// weight is put there once for each layout, however many graphs take it, alone or, of many,
// through pinned memory. What computes with them is package ggml's affair.
package device

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../../dist/ggml/include
#cgo CFLAGS: -O2 -Wall
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra
#include "device.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Options say which device to take and how.
type Options struct {
	Kind    string // "cpu", "cuda", "vulkan" or "metal", which the plugin is for
	Index   int    // among the plugin's devices
	Threads int    // that put a weight into a layout
	// NoRepack keeps the weights of products as they are stored.
	NoRepack bool
	// WeightsBudget is how many bytes of the memory weights may take; 0: what there is.
	WeightsBudget int64
	// Uploads go in pieces of so many bytes through pinned memory where they are of so
	// many at least; 0: what is best. Tests have less.
	UploadPiece, UploadLeast int64
}

// Device is a device made ready. Its methods may be called from several goroutines.
type Device struct {
	Name        string // "cpu", "vulkan:1"
	CPU         bool
	Alignment   int64  // of its memory
	Description string // its own name

	ptr     *C.struct_shim_device
	repack  bool
	threads int
	copies  weights.DeviceCopies
	uploads uploads
}

// opening is held while a GPU is opened: ggml's Vulkan backend enters a device into its
// list before it is whole, and another thread that asks for the same one would find its
// functions null.
var opening sync.Mutex

// Open makes a device of a plugin ready. DEVICE_UNAVAILABLE: there is none of that index,
// with how many there are.
func Open(p *library.Plugin, o Options) (*Device, error) {
	count, err := p.DeviceCount()
	if err != nil {
		return nil, err
	}
	if o.Index < 0 || o.Index >= count {
		return nil, status.Errorf(status.DeviceUnavailable, "%s device %d is asked for, %s finds %d", o.Kind, o.Index, p.Path, count)
	}
	d := &Device{
		Name: o.Kind, CPU: o.Kind == "cpu", repack: !o.NoRepack, threads: o.Threads,
		copies:  weights.DeviceCopies{Budget: o.WeightsBudget},
		uploads: uploads{piece: o.UploadPiece, least: o.UploadLeast},
	}
	if !d.CPU {
		d.Name = fmt.Sprintf("%s:%d", o.Kind, o.Index)
	}
	if !d.CPU {
		opening.Lock()
		defer opening.Unlock()
	}
	runtime.LockOSThread() // the message stays with the thread
	defer runtime.UnlockOSThread()
	if C.shim_device_new((*C.struct_shim_plugin)(p.Handle()), C.int32_t(o.Index), C.bool(d.CPU), &d.ptr) != 0 {
		return nil, library.LastFailure(p.Path)
	}
	d.Alignment = int64(C.shim_device_alignment(d.ptr))
	d.Description = C.GoString(C.shim_device_description(d.ptr))
	return d, nil
}

// Close gives the device's memory back. Nothing uses it any more.
func (d *Device) Close() {
	d.copies.Close()
	d.uploads.close()
	C.shim_device_free(d.ptr)
}

// Handle is the device's struct shim_device, for C.
func (d *Device) Handle() unsafe.Pointer { return unsafe.Pointer(d.ptr) }

// Do calls a function of C that gives a status, and turns its failure into an error about
// what.
func (d *Device) Do(what string, f func() int32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if f() != 0 {
		return library.LastFailure(d.Name + ": " + what)
	}
	return nil
}

// Memory gives the device's memory in bytes, and what of it is free now.
func (d *Device) Memory() (total, free uint64, err error) {
	var t, f C.uint64_t
	err = d.Do("memory", func() int32 { return int32(C.shim_device_memory(d.ptr, &t, &f)) })
	return uint64(t), uint64(f), err
}

// FreeBuffer gives back a struct ggml_backend_buffer in the device's memory.
func (d *Device) FreeBuffer(buffer unsafe.Pointer) {
	C.shim_buffer_free(d.ptr, (*C.struct_ggml_backend_buffer)(buffer))
}

// extents are a shape's dimensions as ggml has them: the innermost first, filled up with
// ones.
func extents(s tensor.Shape) [tensor.MaxRank]C.int64_t {
	ne := [tensor.MaxRank]C.int64_t{1, 1, 1, 1}
	for i, n := range s {
		ne[len(s)-1-i] = C.int64_t(n)
	}
	return ne
}
