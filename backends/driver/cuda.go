package driver

import (
	"encoding/hex"
	"fmt"
	"strings"

	"qtsaccel/core/choice"
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// Numbers of CUDA's driver API (cuda.h).
const (
	cudaErrorNoDevice       = 100
	cudaAttributeIntegrated = 18
)

// cuda is the part of CUDA's driver API that tells what there is. Devices are
// ordinals here: CUdevice is an int.
type cuda struct {
	handle       uintptr // of the library
	init         func(flags uint32) int32
	version      func(version *int32) int32
	count        func(count *int32) int32
	get          func(device *int32, ordinal int32) int32
	name         func(name *byte, length, device int32) int32
	uuid         func(uuid *[16]byte, device int32) int32
	pci          func(id *byte, length, device int32) int32
	memory       func(bytes *uint64, device int32) int32
	attribute    func(value *int32, attribute, device int32) int32
	errorMessage func(code int32, text **byte) int32
}

func openCUDA(name string) (*cuda, error) {
	l, err := open(name)
	if err != nil {
		return nil, err
	}
	c := &cuda{handle: l.handle}
	if err := l.bindAll([]function{
		{"cuInit", &c.init},
		{"cuDriverGetVersion", &c.version},
		{"cuDeviceGetCount", &c.count},
		{"cuDeviceGet", &c.get},
		{"cuDeviceGetName", &c.name},
		{"cuDeviceGetPCIBusId", &c.pci},
		{"cuDeviceTotalMem_v2", &c.memory},
		{"cuDeviceGetAttribute", &c.attribute},
		{"cuGetErrorString", &c.errorMessage},
	}); err != nil {
		return nil, err
	}
	// The first form gives a whole card's UUID also for a part of it (MIG).
	if l.bind("cuDeviceGetUuid_v2", &c.uuid) != nil {
		err = l.bind("cuDeviceGetUuid", &c.uuid)
	}
	return c, err
}

// check turns a CUresult into an error about a call.
func (c *cuda) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	text := "unknown error"
	var p *byte
	if c.errorMessage(code, &p) == 0 && p != nil {
		text = cString(p)
	}
	return status.Errorf(status.DeviceUnavailable, "%s gives error %d: %s", call, code, text)
}

func detectCUDA(name string) *Report {
	r := &Report{API: "cuda"}
	c, err := openCUDA(name)
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	r.Library = name
	var version int32
	if c.version(&version) == 0 {
		r.Version = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	var count int32
	code := c.init(0)
	if code == 0 {
		code = c.count(&count)
	}
	if code == cudaErrorNoDevice || code == 0 && count == 0 {
		r.Reason = "the driver is there and finds no device"
		return r
	}
	if err := c.check("CUDA's initialisation", code); err != nil {
		r.Reason = err.Error()
		return r
	}
	driver := "CUDA " + r.Version
	if kernel := kernelDriverVersion(); kernel != "" {
		driver = kernel + ", " + driver
	}
	for i := range count {
		d, err := c.device(i)
		if err != nil {
			r.Devices, r.Reason = nil, fmt.Sprintf("device %d: %v", i, err)
			return r
		}
		d.Index, d.Physical, d.DriverVersion = int(i), int(i), driver
		r.Devices = append(r.Devices, d)
	}
	return r
}

func (c *cuda) device(ordinal int32) (Device, error) {
	d := Device{Device: choice.Device{API: "cuda", Kind: choice.Discrete}}
	var device, integrated int32
	if err := c.check("cuDeviceGet", c.get(&device, ordinal)); err != nil {
		return d, err
	}
	var name [256]byte
	if err := c.check("cuDeviceGetName", c.name(&name[0], int32(len(name)), device)); err != nil {
		return d, err
	}
	d.Name = terminated(name[:])
	var pci [32]byte
	if c.pci(&pci[0], int32(len(pci)), device) == 0 {
		d.PCI = strings.ToLower(terminated(pci[:]))
	}
	var uuid [16]byte
	if c.uuid(&uuid, device) == 0 {
		d.UUID = hex.EncodeToString(uuid[:])
	}
	if err := c.check("cuDeviceTotalMem", c.memory(&d.MemoryTotal, device)); err != nil {
		return d, err
	}
	if c.attribute(&integrated, cudaAttributeIntegrated, device) == 0 && integrated != 0 {
		d.Kind = choice.Integrated
	}
	return d, nil
}

// kernelDriverVersion is the version by which NVIDIA's driver is known to people,
// "580.65.06"; the API only tells the version of CUDA.
func kernelDriverVersion() string {
	text, err := osfile.Root{}.ReadFile("sys/module/nvidia/version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
