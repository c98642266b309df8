//go:build !linux

package mem

import "unsafe"

// PreferHugePages does nothing, see preferHugePages.
func PreferHugePages(unsafe.Pointer, int64) {}

// preferHugePages does nothing: macOS and Windows have no such wish for memory that
// is mapped already.
func preferHugePages([]byte) {}
