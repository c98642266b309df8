package mem

import "syscall"

// preferHugePages is a wish; a system that does without goes on as before.
func preferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
