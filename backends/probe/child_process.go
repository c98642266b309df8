//go:build unix

package probe

// #include <stdlib.h>
// #include "child_process.h"
import "C"

import (
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"qtsaccel/backends/environment"
	"qtsaccel/core/status"
)

// child is a process that was started to probe.
type child struct{ c C.struct_probe_child }

// spawn starts a program with arguments and the environment of this moment, where a
// failed assertion of ggml starts no debugger.
func spawn(path string, args []string) (*child, error) {
	argv := cStrings(append([]string{path}, args...))
	defer freeStrings(argv)
	env := cStrings(slices.DeleteFunc(append(environment.All(), "GGML_NO_BACKTRACE=1"), isTraceback))
	defer freeStrings(env)
	c := &child{}
	if code := C.probe_spawn(argv[0], &argv[0], &env[0], &c.c); code != 0 {
		return nil, syscall.Errno(code)
	}
	return c, nil
}

// isTraceback finds the variable that could make a crashing child dump its core.
func isTraceback(variable string) bool { return strings.HasPrefix(variable, "GOTRACEBACK=") }

// cStrings makes a C array of strings that ends with null.
func cStrings(list []string) []*C.char {
	out := make([]*C.char, len(list)+1)
	for i, s := range list {
		out[i] = C.CString(s)
	}
	return out
}

func freeStrings(list []*C.char) {
	for _, s := range list {
		C.free(unsafe.Pointer(s))
	}
}

// read gives what the child writes to take, until it ends or the time is up.
func (c *child) read(deadline time.Time, take func([]byte)) (ended bool) {
	buffer := make([]byte, 64<<10)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		ready := C.probe_wait(&c.c, C.int(min(left.Milliseconds()+1, math.MaxInt32)))
		if ready == 0 {
			continue
		}
		n, err := syscall.Read(int(c.c.lines), buffer)
		switch {
		case n > 0:
			take(buffer[:n])
		case n == 0:
			return true
		case errors.Is(err, syscall.EAGAIN):
			// Nothing is left, and the child is gone, though somebody, such as a
			// child that the host has forked meanwhile, holds the pipe's end open.
			if ready&2 != 0 {
				return true
			}
		case !errors.Is(err, syscall.EINTR):
			return true
		}
	}
}

// end makes sure that the child is gone.
func (c *child) end() { C.probe_end(&c.c) }

// shortage gives the status of an error that is about too little of something, OK for
// another.
func shortage(err error) status.Code {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return status.IO
	case errors.Is(err, syscall.ENOMEM):
		return status.OutOfMemory
	}
	return status.OK
}
