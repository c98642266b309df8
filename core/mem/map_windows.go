package mem

import (
	"syscall"
	"unsafe"
)

// Of memoryapi.h.
const (
	memCommit     = 0x1000
	memReserve    = 0x2000
	memRelease    = 0x8000
	pageReadWrite = 0x04
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
)

func mapAnonymous(n int) ([]byte, error) {
	addr, _, err := virtualAlloc.Call(0, uintptr(n), memReserve|memCommit, pageReadWrite)
	if addr == 0 {
		return nil, err
	}
	// Not memory of Go's: the collector will not move or free it, so the number
	// may become a pointer.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n), nil
}

// unmap relies on the system to refuse an address that begins no mapping.
func unmap(b []byte) error {
	if ok, _, err := virtualFree.Call(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, memRelease); ok == 0 {
		return err
	}
	return nil
}
