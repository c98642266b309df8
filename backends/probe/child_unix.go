//go:build unix

package probe

/*
#include <stdint.h>
#include <stdio.h>

// ggml's warnings and errors say why a device fails: the parent keeps what is
// printed.
static void print_warning(int32_t level, const char *text, void *user) {
    (void)user;
    if (level >= 3) fprintf(stderr, "%s\n", text);
}

typedef void (*log_sink)(int32_t, const char *, void *);
static log_sink warning_sink(void) { return print_warning; }
*/
import "C"

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"qtsaccel/backends/ggml/library"
)

// forbidCoreDumps also keeps dumps from the programs that core_pattern pipes them
// to: for those the kernel takes a limit of 0 as none, but 1 as "no dump"
// (fs/coredump.c), and into a file nothing fits in one byte.
func forbidCoreDumps() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	limit.Cur = min(1, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
}

// endSelf cannot be hindered by what a plugin has done to the process.
func endSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func printWarnings() {
	library.SetLogSink(unsafe.Pointer(C.warning_sink()), 0)
}

// limits are the process's limits on what it may use, which a child inherits.
func limits() []string {
	var list []string
	for _, of := range []struct {
		name string
		what int
	}{
		{"memory", syscall.RLIMIT_AS}, {"data", syscall.RLIMIT_DATA}, {"processor", syscall.RLIMIT_CPU},
	} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(of.what, &limit) == nil {
			list = append(list, fmt.Sprintf("%s%s=%d", limitPrefix, of.name, limit.Cur))
		}
	}
	return list
}
