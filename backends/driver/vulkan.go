package driver

import (
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// vulkan is the part of Vulkan that tells what there is. Instances and physical
// devices are addresses here.
type vulkan struct {
	instanceVersion  func(version *uint32) int32
	createInstance   func(info *vkInstanceCreateInfo, allocator uintptr, instance *uintptr) int32
	destroyInstance  func(instance, allocator uintptr)
	physicalDevices  func(instance uintptr, count *uint32, devices *uintptr) int32
	deviceExtensions func(device, layer uintptr, count *uint32, properties *vkExtensionProperties) int32
	properties       func(device uintptr, properties *vkPhysicalDeviceProperties2)
	memoryProperties func(device uintptr, properties *vkPhysicalDeviceMemoryProperties2)
}

func openVulkan(name string) (*vulkan, error) {
	l, err := open(name)
	if err != nil {
		return nil, err
	}
	v := &vulkan{}
	// A loader of Vulkan 1.0 lacks the first of these.
	return v, l.bindAll([]function{
		{"vkEnumerateInstanceVersion", &v.instanceVersion},
		{"vkCreateInstance", &v.createInstance},
		{"vkDestroyInstance", &v.destroyInstance},
		{"vkEnumeratePhysicalDevices", &v.physicalDevices},
		{"vkEnumerateDeviceExtensionProperties", &v.deviceExtensions},
		{"vkGetPhysicalDeviceProperties2", &v.properties},
		{"vkGetPhysicalDeviceMemoryProperties2", &v.memoryProperties},
	})
}

func detectVulkan(name string) *Report {
	r := &Report{API: "vulkan"}
	devices, version, err := vulkanDevices(name)
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	r.Library, r.Version, r.Devices = name, version, devices
	if len(devices) == 0 {
		r.Reason = "the driver is there and finds no device"
	}
	return r
}

func vulkanDevices(name string) ([]Device, string, error) {
	v, err := openVulkan(name)
	if err != nil {
		return nil, "", err
	}
	var version uint32
	if code := v.instanceVersion(&version); code != 0 {
		return nil, "", vulkanError("vkEnumerateInstanceVersion", code)
	}
	text := fmt.Sprintf("%d.%d.%d", version>>22&0x7f, version>>12&0x3ff, version&0xfff)
	// What ggml wants, and what the driver's properties came with.
	if version < vkVersion1_2 {
		return nil, text, status.Errorf(status.DeviceUnavailable, "%s is of Vulkan %s, 1.2 is needed", name, text)
	}
	instance, err := v.instance()
	if err != nil {
		return nil, text, err
	}
	defer v.destroyInstance(instance, 0)

	physical, err := enumerate("vkEnumeratePhysicalDevices", func(count *uint32, to *uintptr) int32 {
		return v.physicalDevices(instance, count, to)
	})
	if err != nil {
		return nil, text, err
	}
	devices := make([]Device, len(physical))
	for i, p := range physical {
		if devices[i], err = v.device(p); err != nil {
			return nil, text, status.Wrapf(err, "device %d", i)
		}
		devices[i].Physical = i
	}
	number(devices)
	return devices, text, nil
}

// number puts hardware first and gives the devices their indices.
func number(devices []Device) {
	slices.SortStableFunc(devices, func(a, b Device) int { return softness(a) - softness(b) })
	for i := range devices {
		devices[i].Index = i
	}
}

func softness(d Device) int {
	if d.Kind == choice.Software {
		return 1
	}
	return 0
}

func (v *vulkan) instance() (uintptr, error) {
	info := &vkInstanceCreateInfo{
		sType:       vkInstanceCreateInfoType,
		application: &vkApplicationInfo{sType: vkApplicationInfoType, apiVersion: vkVersion1_2},
	}
	if runtime.GOOS == "darwin" {
		// MoltenVK is listed only to those who ask for incomplete drivers.
		extension := unsafe.StringData("VK_KHR_portability_enumeration\x00")
		info.flags, info.extensionCount, info.extensions = vkEnumeratePortabilityBit, 1, &extension
	}
	var instance uintptr
	if code := v.createInstance(info, 0, &instance); code != 0 {
		return 0, vulkanError("vkCreateInstance", code)
	}
	return instance, nil
}

func (v *vulkan) device(physical uintptr) (Device, error) {
	d := Device{Device: choice.Device{API: "vulkan"}}
	extensions, err := enumerate("vkEnumerateDeviceExtensionProperties", func(count *uint32, to *vkExtensionProperties) int32 {
		return v.deviceExtensions(physical, 0, count, to)
	})
	if err != nil {
		return d, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(extensions, func(e vkExtensionProperties) bool { return terminated(e.name[:]) == name })
	}

	id := &vkPhysicalDeviceIDProperties{sType: vkIDPropertiesType}
	about := &vkPhysicalDeviceDriverProperties{sType: vkDriverPropertiesType, next: unsafe.Pointer(id)}
	properties := &vkPhysicalDeviceProperties2{sType: vkProperties2Type, next: unsafe.Pointer(about)}
	pci := &vkPhysicalDevicePCIBusInfo{sType: vkPCIBusInfoType}
	if has("VK_EXT_pci_bus_info") {
		id.next = unsafe.Pointer(pci)
	}
	v.properties(physical, properties)
	d.Name = terminated(properties.name[:])
	d.Kind = vulkanKind(properties.deviceType)
	d.DriverVersion = terminated(about.name[:]) + " " + terminated(about.info[:])
	if id.next != nil {
		d.PCI = fmt.Sprintf("%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device, pci.function)
	}
	if id.uuid != [16]byte{} {
		d.UUID = hex.EncodeToString(id.uuid[:])
	}

	budget := &vkPhysicalDeviceMemoryBudget{sType: vkMemoryBudgetType}
	memory := &vkPhysicalDeviceMemoryProperties2{sType: vkMemoryProperties2Type}
	known := has("VK_EXT_memory_budget")
	if known {
		memory.next = unsafe.Pointer(budget)
	}
	v.memoryProperties(physical, memory)
	for i := range min(int(memory.heapCount), len(memory.heaps)) {
		h := memory.heaps[i]
		// An integrated GPU reaches all of the host's memory equally well.
		if h.flags&vkHeapDeviceLocalBit == 0 && d.Kind == choice.Discrete {
			continue
		}
		d.MemoryTotal += h.size
		if free := budget.budget[i] - min(budget.usage[i], budget.budget[i]); known {
			d.MemoryFree += free
		}
	}
	return d, nil
}

func vulkanKind(deviceType uint32) choice.Kind {
	switch deviceType {
	case vkIntegratedGPU:
		return choice.Integrated
	case vkCPU:
		return choice.Software
	}
	return choice.Discrete // a virtual machine's GPU has memory of its own, too
}

// enumerate calls a function of Vulkan that fills an array, until it fits.
func enumerate[T any](call string, f func(count *uint32, to *T) int32) ([]T, error) {
	for range 8 {
		var count uint32
		if code := f(&count, nil); code != 0 || count == 0 {
			return nil, vulkanError(call, code)
		}
		list := make([]T, count)
		switch code := f(&count, &list[0]); code {
		case 0:
			return list[:count], nil
		case vkIncomplete: // there are more than a moment ago
		default:
			return nil, vulkanError(call, code)
		}
	}
	return nil, status.Errorf(status.DeviceUnavailable, "%s does not come to an end", call)
}

// vulkanResults are the words to the results that can come here (VkResult).
var vulkanResults = map[int32]string{
	-1:  "out of host memory",
	-2:  "out of device memory",
	-3:  "initialisation failed",
	-6:  "a layer is missing",
	-7:  "an extension is missing",
	-9:  "no driver fits",
	-13: "unknown error",
}

// vulkanError is nil for success.
func vulkanError(call string, code int32) error {
	if code == 0 {
		return nil
	}
	text := vulkanResults[code]
	if text == "" {
		text = "see VkResult"
	}
	return status.Errorf(status.DeviceUnavailable, "%s gives error %d: %s", call, code, text)
}
