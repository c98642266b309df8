//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile takes the lock on an open file, until it is closed.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}
