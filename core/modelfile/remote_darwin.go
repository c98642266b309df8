package modelfile

import (
	"syscall"

	"qtsaccel/core/osfile"
)

// mntLocal is MNT_LOCAL of sys/mount.h.
const mntLocal = 0x1000

// mayFailLater says whether a file lies on a file system whose reads may fail long
// after it was opened: one of another machine.
func mayFailLater(f *osfile.File) bool {
	var s syscall.Statfs_t
	return syscall.Fstatfs(f.Fd(), &s) != nil || s.Flags&mntLocal == 0
}
