package main

// #include "const_types.h"
import "C"

import (
	"fmt"
	"unsafe"

	"qtsaccel/backends/ggml"
	"qtsaccel/core/status"
)

//export go_qtsa_version_require
func go_qtsa_version_require(version C.int32_t) C.qtsa_status {
	return guard(func() error {
		switch {
		case version < 1:
			return status.Errorf(status.InvalidArgument, "version is %d, want major * 10000 + minor * 100 + patch", int32(version))
		case version > C.QTSA_VERSION || version/10000 != C.QTSA_VERSION_MAJOR:
			return status.Errorf(status.VersionMismatch, "version %s is asked for, or a later one of the same major number; this library is %s",
				dotted(int32(version)), dotted(C.QTSA_VERSION))
		}
		return nil
	})
}

func dotted(version int32) string {
	return fmt.Sprintf("%d.%d.%d", version/10000, version/100%100, version%100)
}

//export go_qtsa_set_log_callback
func go_qtsa_set_log_callback(callback C.qtsa_log_callback, user C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		ggml.SetLogSink(unsafe.Pointer(callback), uintptr(user))
		return nil
	})
}
