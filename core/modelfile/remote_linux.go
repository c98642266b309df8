package modelfile

import (
	"syscall"

	"qtsaccel/core/osfile"
)

// File systems whose reads may fail long after a file was opened. Numbers are
// those of statfs(2) and linux/magic.h.
var remote = map[uint32]bool{
	0x6969:     true, // NFS
	0x517b:     true, // SMB
	0xff534d42: true, // CIFS
	0xfe534d42: true, // SMB2
	0x65735546: true, // FUSE
	0x01021997: true, // 9P
	0x00c36400: true, // Ceph
	0x5346414f: true, // AFS
}

// mayFailLater says whether a file lies on such a one.
func mayFailLater(f *osfile.File) bool {
	var s syscall.Statfs_t
	return syscall.Fstatfs(f.Fd(), &s) != nil || remote[uint32(s.Type)]
}
