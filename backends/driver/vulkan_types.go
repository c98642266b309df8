package driver

import "unsafe"

// The structs of Vulkan that detection needs, laid out as vulkan_core.h declares
// them: on 64-bit machines Go aligns fields as C does (their sizes are tested).

const (
	vkApplicationInfoType     = 0
	vkInstanceCreateInfoType  = 1
	vkProperties2Type         = 1000059001
	vkMemoryProperties2Type   = 1000059006
	vkIDPropertiesType        = 1000071004
	vkDriverPropertiesType    = 1000196000
	vkPCIBusInfoType          = 1000212000
	vkMemoryBudgetType        = 1000237000
	vkIncomplete              = 5
	vkEnumeratePortabilityBit = 1
	vkHeapDeviceLocalBit      = 1
	vkVersion1_2              = 1<<22 | 2<<12
)

// VkPhysicalDeviceType.
const (
	vkIntegratedGPU = 1
	vkCPU           = 4
)

type vkApplicationInfo struct {
	sType         uint32
	next          unsafe.Pointer
	name          *byte
	version       uint32
	engine        *byte
	engineVersion uint32
	apiVersion    uint32
}

type vkInstanceCreateInfo struct {
	sType          uint32
	next           unsafe.Pointer
	flags          uint32
	application    *vkApplicationInfo
	layerCount     uint32
	layers         **byte
	extensionCount uint32
	extensions     **byte
}

type vkPhysicalDeviceProperties2 struct {
	sType         uint32
	next          unsafe.Pointer
	apiVersion    uint32
	driverVersion uint32
	vendor        uint32
	device        uint32
	deviceType    uint32
	name          [256]byte
	cacheUUID     [16]byte
	limits        [63]uint64 // VkPhysicalDeviceLimits
	sparse        [5]uint32
}

type vkPhysicalDeviceIDProperties struct {
	sType     uint32
	next      unsafe.Pointer
	uuid      [16]byte
	driver    [16]byte
	luid      [8]byte
	nodeMask  uint32
	luidValid uint32
}

type vkPhysicalDeviceDriverProperties struct {
	sType       uint32
	next        unsafe.Pointer
	id          uint32
	name        [256]byte
	info        [256]byte
	conformance [4]byte
}

type vkPhysicalDevicePCIBusInfo struct {
	sType                         uint32
	next                          unsafe.Pointer
	domain, bus, device, function uint32
}

type vkMemoryHeap struct {
	size  uint64
	flags uint32
}

type vkPhysicalDeviceMemoryProperties2 struct {
	sType     uint32
	next      unsafe.Pointer
	typeCount uint32
	types     [32][2]uint32
	heapCount uint32
	heaps     [16]vkMemoryHeap
}

type vkPhysicalDeviceMemoryBudget struct {
	sType  uint32
	next   unsafe.Pointer
	budget [16]uint64
	usage  [16]uint64
}

type vkExtensionProperties struct {
	name    [256]byte
	version uint32
}
