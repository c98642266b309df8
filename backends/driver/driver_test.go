package driver

import (
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/probe/probetest"
	"qtsaccel/core/choice"
)

func TestCUDA(t *testing.T) {
	path := probetest.Driver(t, t.TempDir())
	t.Setenv("FAKE_CUDA", "2")
	r := detectCUDA(path)
	require.Empty(t, r.Reason)
	require.Equal(t, "13.1", r.Version)
	require.Len(t, r.Devices, 2)
	d := r.Devices[0]
	require.Equal(t, "Pretender 0", d.Name)
	require.Equal(t, choice.Discrete, d.Kind)
	require.Equal(t, "0000:a0:00.0", d.PCI)
	require.Equal(t, "000102030405060708090a0b0c0d0e00", d.UUID)
	require.EqualValues(t, 1<<40, d.MemoryTotal)
	require.Contains(t, d.DriverVersion, "CUDA 13.1")
	require.Equal(t, choice.Integrated, r.Devices[1].Kind)
	require.Equal(t, "cuda:1", r.Devices[1].String())

	t.Setenv("FAKE_CUDA", "absent")
	require.Contains(t, detectCUDA(path).Reason, "finds no device")
	t.Setenv("FAKE_CUDA", "0")
	require.Contains(t, detectCUDA(path).Reason, "finds no device")
	t.Setenv("FAKE_CUDA", "broken")
	require.Contains(t, detectCUDA(path).Reason, "error 803: system has unsupported")
}

func TestWaitsSleepUnlessTheHostHasChosen(t *testing.T) {
	path := probetest.Driver(t, t.TempDir())
	t.Setenv("FAKE_CUDA", "2")
	flagsOf := func(device int32) uint32 {
		l, err := open(path)
		require.NoError(t, err)
		var state func(device int32, flags *uint32, active *int32) int32
		require.NoError(t, l.bind("cuDevicePrimaryCtxGetState", &state))
		var flags uint32
		var active int32
		require.Zero(t, state(device, &flags, &active))
		return flags
	}
	require.NoError(t, letWaitsSleep(path, 1))
	require.EqualValues(t, 4, flagsOf(1))
	require.Zero(t, flagsOf(0))
	t.Setenv("FAKE_CUDA_ACTIVE", "1")
	require.NoError(t, letWaitsSleep(path, 0))
	require.Zero(t, flagsOf(0))
	require.ErrorContains(t, letWaitsSleep(filepath.Join(t.TempDir(), "libnone.so.1"), 0), "cannot be opened")
}

func TestAnAbsentDriverHasItsReason(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libnone.so.1")
	for _, r := range []*Report{detectCUDA(missing), detectVulkan(missing)} {
		require.Empty(t, r.Devices)
		require.Contains(t, r.Reason, missing)
		require.Contains(t, r.Reason, "cannot")
	}
	// A library, but of something else.
	other := probetest.Driver(t, t.TempDir())
	require.Contains(t, detectVulkan(other).Reason, "has no function vkEnumerateInstanceVersion")
	require.Contains(t, detectMetal("linux").Reason, "Apple")
	require.Empty(t, detectMetal("darwin").Reason)
	require.Contains(t, Detect("opengl").Reason, "no such API")
}

// The sizes that C gives the structs on a 64-bit machine.
func TestVulkanStructs(t *testing.T) {
	require.EqualValues(t, 48, unsafe.Sizeof(vkApplicationInfo{}))
	require.EqualValues(t, 64, unsafe.Sizeof(vkInstanceCreateInfo{}))
	require.EqualValues(t, 840, unsafe.Sizeof(vkPhysicalDeviceProperties2{}))
	require.EqualValues(t, 16+20, unsafe.Offsetof(vkPhysicalDeviceProperties2{}.name))
	require.EqualValues(t, 16+264, unsafe.Offsetof(vkPhysicalDeviceMemoryProperties2{}.heaps))
	require.EqualValues(t, 64, unsafe.Sizeof(vkPhysicalDeviceIDProperties{}))
	require.EqualValues(t, 536, unsafe.Sizeof(vkPhysicalDeviceDriverProperties{}))
	require.EqualValues(t, 32, unsafe.Sizeof(vkPhysicalDevicePCIBusInfo{}))
	require.EqualValues(t, 536, unsafe.Sizeof(vkPhysicalDeviceMemoryProperties2{}))
	require.EqualValues(t, 272, unsafe.Sizeof(vkPhysicalDeviceMemoryBudget{}))
	require.EqualValues(t, 260, unsafe.Sizeof(vkExtensionProperties{}))
}

func TestSoftwareIsNumberedLast(t *testing.T) {
	devices := []Device{
		{Device: choice.Device{Name: "soft", Kind: choice.Software}, Physical: 0},
		{Device: choice.Device{Name: "a", Kind: choice.Discrete}, Physical: 1},
		{Device: choice.Device{Name: "b", Kind: choice.Integrated}, Physical: 2},
	}
	number(devices)
	for i, name := range []string{"a", "b", "soft"} {
		require.Equal(t, name, devices[i].Name)
		require.Equal(t, i, devices[i].Index)
	}
	require.Equal(t, choice.Software, vulkanKind(4))
	require.Equal(t, choice.Integrated, vulkanKind(1))
	require.Equal(t, choice.Discrete, vulkanKind(2))
	require.Equal(t, choice.Discrete, vulkanKind(3))
}

// Mesa's software device shows that the structs are laid out as drivers read them.
func TestLavapipe(t *testing.T) {
	r := Detect("vulkan")
	var soft *Device
	for i := range r.Devices {
		if r.Devices[i].Kind == choice.Software {
			soft = &r.Devices[i]
		}
	}
	if soft == nil {
		t.Skipf("no software Vulkan device (mesa-vulkan-drivers): %+v", r)
	}
	require.Contains(t, soft.Name, "llvmpipe")
	require.Contains(t, soft.DriverVersion, "Mesa")
	require.Len(t, soft.UUID, 32)
	require.Greater(t, soft.MemoryTotal, uint64(1<<20))
	require.Less(t, soft.MemoryTotal, uint64(1<<50))
}
