package mem

import (
	"os"
	"syscall"
	"unsafe"
)

// PreferHugePages wishes for huge pages under n bytes that others have allocated, as
// far as whole pages are among them.
func PreferHugePages(p unsafe.Pointer, n int64) {
	page := int64(os.Getpagesize())
	before := (page - int64(uintptr(p)%uintptr(page))) % page
	if n -= before; n >= hugeBytes {
		preferHugePages(unsafe.Slice((*byte)(unsafe.Add(p, before)), n/page*page))
	}
}

// preferHugePages is a wish; a system that does without goes on as before.
func preferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
