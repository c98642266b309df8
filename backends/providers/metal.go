package providers

import (
	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// metalProvider is Metal's: a part of Apple's systems that needs no proof. list
// gives the devices that its plugin finds. It was never run on a Mac.
func metalProvider(goos string, list func(r choice.Request, api string) ([]library.Device, error)) choice.Provider {
	return choice.Provider{
		Devices: func(r choice.Request) ([]choice.Device, error) {
			if goos != "darwin" {
				return nil, status.Errorf(status.DeviceUnavailable, "Metal exists on Apple's systems only")
			}
			listed, err := list(r, "metal")
			if err != nil {
				return nil, err
			}
			devices := make([]choice.Device, len(listed))
			for i, l := range listed {
				// Apple's GPUs share the host's memory.
				devices[i] = choice.Device{API: "metal", Index: i, Name: l.Description, Kind: choice.Integrated}
			}
			return devices, nil
		},
		Open: func(r choice.Request, d choice.Device) (backend.Backend, error) {
			l, err := openLibrary(r)
			if err != nil {
				return nil, err
			}
			return openDevice(l, "metal", d.Index, r)
		},
	}
}

func listed(r choice.Request, api string) ([]library.Device, error) {
	l, err := openLibrary(r)
	if err != nil {
		return nil, err
	}
	return l.Devices(api)
}
