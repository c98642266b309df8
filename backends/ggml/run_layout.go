package ggml

// #include "shim.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/backend"
)

// What a run passes goes to the shim where it lies; a layout that differs does not
// compile.
var _ = [1]struct{}{}[(unsafe.Sizeof(C.struct_shim_span{})^unsafe.Sizeof(backend.Buffer{}))|
	(unsafe.Offsetof(C.struct_shim_span{}.data)^unsafe.Offsetof(backend.Buffer{}.Data))|
	(unsafe.Offsetof(C.struct_shim_span{}.bytes)^unsafe.Offsetof(backend.Buffer{}.Bytes))|
	(unsafe.Sizeof(C.struct_shim_timing{})^unsafe.Sizeof(backend.Timing{}))|
	(unsafe.Offsetof(C.struct_shim_timing{}.upload_ns)^unsafe.Offsetof(backend.Timing{}.Upload))|
	(unsafe.Offsetof(C.struct_shim_timing{}.compute_ns)^unsafe.Offsetof(backend.Timing{}.Compute))|
	(unsafe.Offsetof(C.struct_shim_timing{}.download_ns)^unsafe.Offsetof(backend.Timing{}.Download))]
