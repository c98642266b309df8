package ggml

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
	"qtsaccel/backends/fallback"
)

func TestConformance(t *testing.T) { backendtest.Run(t, cpuBackend(t, 1)) }

// TestConformanceOnDevice runs on the first device of the API that
// QTSACCEL_TEST_DEVICE names, vulkan, cuda or metal, with a CPU beside it as hosts
// have it. For Mesa's software Vulkan device GGML_VK_VISIBLE_DEVICES=0 must be set,
// too.
func TestConformanceOnDevice(t *testing.T) {
	api := os.Getenv("QTSACCEL_TEST_DEVICE")
	if api == "" {
		t.Skip("QTSACCEL_TEST_DEVICE names no API to run on")
	}
	device, err := New(openLibrary(t), Options{Device: api})
	require.NoError(t, err)
	cpu, err := New(openLibrary(t), Options{Device: "cpu"})
	require.NoError(t, err)
	b := fallback.New(device, cpu)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	t.Logf("%+v", b.Info())
	backendtest.Run(t, b)
}
