package ggml

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
)

func TestConformance(t *testing.T) { backendtest.Run(t, cpuBackend(t, 1)) }

// TestConformanceOnVulkan runs where there is a Vulkan device; Mesa's lavapipe, on
// the CPU, is one once it is named.
func TestConformanceOnVulkan(t *testing.T) {
	if os.Getenv("GGML_VK_VISIBLE_DEVICES") == "" {
		t.Skip("set GGML_VK_VISIBLE_DEVICES=0 to run on the first Vulkan device, also a software one")
	}
	// Otherwise its products of f32 matrices take their factors as f16.
	require.NoError(t, os.Setenv("GGML_VK_DISABLE_F16", "1"))
	b, err := New(openLibrary(t), Options{Device: "vulkan"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	backendtest.Run(t, b)
}
