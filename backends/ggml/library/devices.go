package library

// #include "library.h"
import "C"

import "runtime"

// Device is a device as its plugin lists it.
type Device struct {
	Name        string // within ggml: "Vulkan0", "CUDA1", "MTL0"
	Description string // the device's own name
}

// Devices loads the plugin for a kind of device and lists the devices that it finds, in
// the order of their indices.
func (l *Library) Devices(kind string) ([]Device, error) {
	p, err := l.Plugin(kind)
	if err != nil {
		return nil, err
	}
	count, err := p.DeviceCount()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	devices := make([]Device, count)
	for i := range devices {
		var name, description *C.char
		if C.shim_plugin_device_names(p.ptr, C.int32_t(i), &name, &description) != 0 {
			return nil, LastFailure(p.Path)
		}
		devices[i] = Device{C.GoString(name), C.GoString(description)}
	}
	return devices, nil
}

// DeviceCount is how many devices the plugin finds.
func (p *Plugin) DeviceCount() (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var count C.int32_t
	if C.shim_plugin_devices(p.ptr, &count) != 0 {
		return 0, LastFailure(p.Path)
	}
	return int(count), nil
}

// PluginFile is the name of the file that holds a part of ggml: "base", or the plugin for
// a kind of device that has one only, "cuda", "vulkan" or "metal".
func PluginFile(part string) string { return libraryFile(part) }
