//go:build unix

package mem

import "syscall"

func mapAnonymous(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// unmap refuses a slice that mapAnonymous did not give: package syscall keeps
// track of its mappings.
func unmap(b []byte) error { return syscall.Munmap(b) }
