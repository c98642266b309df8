// Package mem gives memory outside Go's heap, for tensors: the garbage collector
// neither scans nor counts it, it never moves, C may keep pointers into it, and
// it goes back to the system the moment it is freed.
package mem

import (
	"sync/atomic"

	"qtsaccel/core/status"
)

// Alignment is what every allocation is aligned to at least: a cache line, and
// the widest vector register.
const Alignment = 64

// checkedBytes and more are compared with what is available first, which takes
// some 100 us.
const checkedBytes = 16 << 20

// hugeBytes and more are better kept in huge pages: touching 2 MiB for the first
// time is then one fault instead of 512, and filling a new gigabyte was found to be
// five times faster.
const hugeBytes = 4 << 20

var live atomic.Int64

// Live is the number of bytes mapped and not freed yet, by the whole process, files
// included.
// Tests end at the number they began with.
func Live() int64 { return live.Load() }

// Alloc maps n bytes, all zero, aligned to a page. They must go back to [Free].
// The system commits them as they are touched. Of 0 bytes it gives an empty slice
// that is not nil.
//
// OUT_OF_MEMORY has the bytes wanted and free; it comes here, before the system
// would end the process for touching what it has no room for, as far as that can
// be seen. A negative n is INVALID_ARGUMENT.
func Alloc(n int64) ([]byte, error) {
	switch {
	case n < 0:
		return nil, status.Errorf(status.InvalidArgument, "cannot allocate %d bytes", n)
	case n == 0:
		return []byte{}, nil
	case n != int64(int(n)):
		return nil, errTooMuch(n, Available())
	}
	if n >= checkedBytes {
		if err := Check(n); err != nil {
			return nil, err
		}
	}
	b, err := mapAnonymous(int(n))
	if err != nil {
		return nil, status.Errorf(status.OutOfMemory, "out of memory: %d bytes wanted, %d free: %w", n, Available(), err)
	}
	if n >= hugeBytes {
		preferHugePages(b)
	}
	live.Add(n)
	return b, nil
}

// Free gives back what [Alloc] or [MapFile] gave; b must be that very slice, or
// INTERNAL. An empty slice is fine.
func Free(b []byte) error {
	if cap(b) == 0 {
		return nil
	}
	n := int64(cap(b))
	if err := unmap(b); err != nil {
		return status.Errorf(status.Internal, "cannot free %d bytes: %w", n, err)
	}
	live.Add(-n)
	return nil
}
