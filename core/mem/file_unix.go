//go:build unix

package mem

import (
	"syscall"

	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// CanMapFiles says whether [MapFile] works on this system.
const CanMapFiles = true

// MapFile maps the first n bytes of a file to be read, n at least 1. They must go
// back to [Free]. What is read later comes from the file as it is then; beyond the
// end of one that was cut short, or where its disk fails, the system sends SIGBUS.
// OUT_OF_MEMORY: the address space has no room.
func MapFile(f *osfile.File, n int64) ([]byte, error) {
	if free := addressSpaceFree(); n > free || n != int64(int(n)) {
		return nil, status.Errorf(status.OutOfMemory, "out of memory: %d bytes of address space wanted, %d free", n, free)
	}
	b, err := syscall.Mmap(f.Fd(), 0, int(n), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, status.Errorf(status.OutOfMemory, "out of memory: %d bytes of address space wanted: %w", n, err)
	}
	live.Add(n)
	return b, nil
}
