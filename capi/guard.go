// Package main is the C API: behind each function of include/qtsaccel.h stands
// one Go export, named go_ and the function's name. An export looks handles up,
// checks pointers and sizes, and calls core; it decides nothing. There is one
// file per section of the header.
//
// The public functions themselves are C (trampolines.c), made from the header by
// the generator in gen.
package main

//go:generate go run ./gen ../include/qtsaccel.h .

// #cgo CFLAGS: -I${SRCDIR}/../include -Wall -Wextra
// #include "entry.h"
import "C"

import (
	"strings"
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/graph"
	"qtsaccel/core/guarded"
	"qtsaccel/core/handle"
	"qtsaccel/core/osfile"
	"qtsaccel/core/session"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// The objects that the host has handles of.
var (
	handles     = handle.NewTable()
	backends    = handle.NewSpace[*engine.Backend](handles, handle.Backend)
	weightsSets = handle.NewSpace[*weights.Weights](handles, handle.Weights)
	graphs      = handle.NewSpace[*graph.Graph](handles, handle.Graph)
	sessions    = handle.NewSpace[*session.Session](handles, handle.Session)
	plans       = handle.NewSpace[*session.Plan](handles, handle.Plan)
)

// Runs when the runtime has started, behind package syscall, which raises the limit.
func init() { C.capi_restore_limit() }

// A c-shared library has no main of its own; the linker wants one.
func main() {}

// guard runs the body of every export. It gives the status of its error, keeps
// the words for qtsa_last_error, and turns a panic into an INTERNAL. body does not
// escape, so that a call that succeeds allocates nothing.
func guard(body func() error) (code C.qtsa_status) {
	defer func() {
		if p := recover(); p != nil {
			code = fail(guarded.Panicked(p))
		}
	}()
	osfile.StartPoller()
	if err := body(); err != nil {
		return fail(err)
	}
	return C.QTSA_OK
}

// fail keeps an error's words for the calling thread, and gives its code.
func fail(err error) C.qtsa_status {
	// As C sees it, a text ends at its first zero byte, and it is UTF-8.
	words := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", `\0`), "\uFFFD")
	C.capi_set_error((*C.char)(unsafe.Pointer(unsafe.StringData(words))), C.size_t(len(words)))
	return C.qtsa_status(status.Of(err))
}

// use looks a handle up and keeps its object alive while body uses it.
func use[T handle.Object](space handle.Space[T], h C.uintptr_t, body func(T) error) error {
	ref, err := space.Acquire(handle.Handle(h))
	if err != nil {
		return err
	}
	defer ref.Release()
	return body(ref.Object)
}

// with runs the body of an export that works on the object of a handle.
func with[T handle.Object](space handle.Space[T], h C.uintptr_t, body func(T) error) C.qtsa_status {
	return guard(func() error { return use(space, h, body) })
}

// give puts a new object's handle into out, or lets the object go.
func give[T handle.Object](space handle.Space[T], object T, out *C.uintptr_t) error {
	h, err := space.Add(object)
	if err != nil {
		object.Release()
		return err
	}
	*out = C.uintptr_t(h)
	return nil
}

// free gives a handle back; null is fine.
func free[T handle.Object](space handle.Space[T], h C.uintptr_t) C.qtsa_status {
	if h == 0 {
		return C.QTSA_OK
	}
	return guard(func() error { return space.Free(handle.Handle(h)) })
}
