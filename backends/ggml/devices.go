package ggml

// #include "shim.h"
// #include "devices.h"
import "C"

import "runtime"

// Device is a device as its plugin lists it.
type Device struct {
	Name        string // within ggml: "Vulkan0", "CUDA1", "MTL0"
	Description string // the device's own name
}

// Devices loads the plugin for a kind of device, as [New] does, and lists the
// devices that it finds, in the order of [Options].Index.
func (l *Library) Devices(kind string) ([]Device, error) {
	p, err := l.plugin(kind)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var count C.int32_t
	if C.shim_plugin_devices(p.ptr, &count) != 0 {
		return nil, lastFailure(p.path)
	}
	devices := make([]Device, count)
	for i := range devices {
		var name, description *C.char
		if C.shim_plugin_device_names(p.ptr, C.int32_t(i), &name, &description) != 0 {
			return nil, lastFailure(p.path)
		}
		devices[i] = Device{C.GoString(name), C.GoString(description)}
	}
	return devices, nil
}

// Memory gives the device's memory in bytes, and what of it is free now.
func (b *Backend) Memory() (total, free uint64, err error) {
	var t, f C.uint64_t
	err = b.do("memory", func() C.int32_t { return C.shim_device_memory(b.device, &t, &f) })
	return uint64(t), uint64(f), err
}

// PluginFile is the name of the file that holds the plugin for a kind of device
// that has one only: "cuda", "vulkan" or "metal".
func PluginFile(kind string) string { return libraryFile(kind) }
