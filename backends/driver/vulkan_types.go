package driver

import "unsafe"

// The structs of Vulkan that detection needs, laid out as vulkan_core.h declares
// them: on 64-bit machines Go aligns fields as C does (their sizes are tested). What
// nobody looks at has no name but in a comment.

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
	sType      uint32
	_          unsafe.Pointer // pNext
	_          *byte          // pApplicationName
	_          uint32         // applicationVersion
	_          *byte          // pEngineName
	_          uint32         // engineVersion
	apiVersion uint32
}

type vkInstanceCreateInfo struct {
	sType          uint32
	_              unsafe.Pointer // pNext
	flags          uint32
	application    *vkApplicationInfo
	_              uint32 // enabledLayerCount
	_              **byte // ppEnabledLayerNames
	extensionCount uint32
	extensions     **byte
}

type vkPhysicalDeviceProperties2 struct {
	sType      uint32
	next       unsafe.Pointer
	_          uint32 // apiVersion
	_          uint32 // driverVersion
	_          uint32 // vendorID
	_          uint32 // deviceID
	deviceType uint32
	name       [256]byte
	_          [16]byte   // pipelineCacheUUID
	_          [63]uint64 // limits
	_          [5]uint32  // sparseProperties
}

type vkPhysicalDeviceIDProperties struct {
	sType uint32
	next  unsafe.Pointer
	uuid  [16]byte
	_     [16]byte // driverUUID
	_     [8]byte  // deviceLUID
	_     uint32   // deviceNodeMask
	_     uint32   // deviceLUIDValid
}

type vkPhysicalDeviceDriverProperties struct {
	sType uint32
	next  unsafe.Pointer
	_     uint32 // driverID
	name  [256]byte
	info  [256]byte
	_     [4]byte // conformanceVersion
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
	_         uint32        // memoryTypeCount
	_         [32][2]uint32 // memoryTypes
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
	name [256]byte
	_    uint32 // specVersion
}
