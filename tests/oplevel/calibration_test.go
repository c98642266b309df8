package oplevel

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/fallback"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/tensor"
)

// On a card the first answer comes within a second, what a device needs at its first calls
// included. What is measured, by then or where a driver compiles kernels soon after, holds:
// large products are worth its while, and small ones not.
func TestCalibrationOnACard(t *testing.T) {
	for _, api := range []struct{ name, variable string }{{"cuda", "QTSACCEL_TEST_CUDA"}, {"vulkan", "QTSACCEL_TEST_VULKAN"}} {
		t.Run(api.name, func(t *testing.T) {
			if os.Getenv(api.variable) != "1" {
				t.Skipf("set %s=1 to run on the first device of %s", api.variable, api.name)
			}
			b := openGGML(t, api.name)
			defer func() { require.NoError(t, b.Close()) }()
			if isSoftware(b) {
				t.Skipf("%s compiles its kernels for longer than that", b.Info().Description)
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			around := oplevel.Around{Getenv: os.Getenv}
			cpuBackend := openCPU(t)
			defer func() { require.NoError(t, cpuBackend.Close()) }()
			assisted := fallback.New(b, cpuBackend)
			c := oplevel.New(assisted, around)
			defer c.Close()

			start := time.Now()
			small, err := c.Wants("matmul", []int64{1, 32, 32})
			took := time.Since(start)
			require.NoError(t, err)
			require.Less(t, took, time.Second)
			require.False(t, small)
			require.Eventually(t, func() bool { return c.Stats().ThresholdsSource == "measured" }, 10*time.Second, time.Millisecond)
			report := c.Stats()
			t.Logf("%s: first answer after %v, calibrated after %v\n%s", b.Info().Description, took, time.Since(start), report.Text())
			large, err := c.Wants("matmul", []int64{512, 4096, 4096})
			require.NoError(t, err)
			require.True(t, large)

			again := oplevel.New(assisted, around)
			defer again.Close()
			start = time.Now()
			_, err = again.Wants("matmul", []int64{1, 32, 32})
			require.NoError(t, err)
			require.Equal(t, "remembered", again.Stats().ThresholdsSource)
			require.Equal(t, report.Thresholds, again.Stats().Thresholds)
			t.Logf("remembered in %v", time.Since(start))

			host := openCPU(t)
			defer func() { require.NoError(t, host.Close()) }()
			cpu := oplevel.New(host, oplevel.Around{Getenv: os.Getenv})
			defer cpu.Close()
			on := productTakes(t, c, 512, 2048)
			cpuTakes := productTakes(t, cpu, 512, 2048)
			t.Logf("512 rows of 2048 to 2048 in f32: %v on the device, %v beside it", on, cpuTakes)
			require.Less(t, on, cpuTakes)
		})
	}
}

// productTakes is the least time of some calls.
func productTakes(t *testing.T, c *oplevel.Calls, rows, side int64) time.Duration {
	m, _ := matrix(t, calls{Calls: c}, rand.New(rand.NewPCG(15, 16)), tensor.F32, side, side)
	defer m.Release()
	x, y := make([]float32, rows*side), make([]float32, rows*side)
	best := time.Hour
	for range 5 {
		start := time.Now()
		require.NoError(t, c.Matmul(at(x), rows, side, []oplevel.Product{{Weight: m, Y: at(y), NOut: side}}, 0))
		best = min(best, time.Since(start))
	}
	return best
}
