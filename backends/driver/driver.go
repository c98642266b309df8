// Package driver finds out which graphics drivers a machine has and which devices
// they show, before any plugin is loaded. It opens the drivers' libraries and calls
// them, and a broken driver may crash or hang at its first call: so this runs in the
// probe's child process, and in a host only where the host has waived the probe.
package driver

import (
	"runtime"

	"github.com/ebitengine/purego"

	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// Report is what one API's driver shows.
type Report struct {
	API     string   `json:"api"`
	Library string   `json:"library,omitempty"` // that was opened
	Version string   `json:"version,omitempty"` // of the API, as the driver's library gives it
	Devices []Device `json:"devices,omitempty"`
	Reason  string   `json:"reason,omitempty"` // why there is no device
}

// Device is a device with its place among all that the driver shows, software too.
// Its Index counts hardware first, so that it is the same with and without a
// software driver beside.
type Device struct {
	choice.Device
	Physical int `json:"physical"`
}

// Detect asks the driver of an API: "cuda", "vulkan" or "metal".
func Detect(api string) *Report {
	switch api {
	case "cuda":
		return detectCUDA("libcuda.so.1")
	case "vulkan":
		if runtime.GOOS == "darwin" {
			return detectVulkan("libvulkan.1.dylib")
		}
		return detectVulkan("libvulkan.so.1")
	case "metal":
		return detectMetal(runtime.GOOS)
	}
	return &Report{API: api, Reason: "there is no such API"}
}

// detectMetal goes by the platform: every Apple device that this library runs on
// has Metal, and its plugin lists the devices.
func detectMetal(goos string) *Report {
	r := &Report{API: "metal"}
	if goos != "darwin" {
		r.Reason = "Metal exists on Apple's systems only"
	}
	return r
}

// library is a driver's library.
type library struct {
	name   string
	handle uintptr
}

// open loads a library by name or path. It is never closed: drivers keep threads.
func open(name string) (*library, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		// The loader's words begin with the name.
		return nil, status.Errorf(status.DeviceUnavailable, "the driver cannot be opened: %w", err)
	}
	return &library{name, handle}, nil
}

// bind makes f, a pointer to a variable of function type, call the function of
// that name.
func (l *library) bind(name string, f any) error {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return status.Errorf(status.DeviceUnavailable, "%s has no function %s", l.name, name)
	}
	purego.RegisterFunc(f, address)
	return nil
}

// function is one function to bind.
type function struct {
	name string
	to   any
}

func (l *library) bindAll(functions []function) error {
	for _, f := range functions {
		if err := l.bind(f.name, f.to); err != nil {
			return err
		}
	}
	return nil
}
