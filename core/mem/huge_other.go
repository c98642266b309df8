//go:build !linux

package mem

// preferHugePages does nothing: macOS and Windows have no such wish for memory that
// is mapped already.
func preferHugePages([]byte) {}
