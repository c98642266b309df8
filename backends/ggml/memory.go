package ggml

// #include "shim.h"
import "C"

// Memory gives the device's memory in bytes, and what of it is free now.
func (b *Backend) Memory() (total, free uint64, err error) {
	var t, f C.uint64_t
	err = b.do("memory", func() C.int32_t { return C.shim_device_memory(b.device, &t, &f) })
	return uint64(t), uint64(f), err
}
