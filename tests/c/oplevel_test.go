package c

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOperatorLevelCalls(t *testing.T) {
	program := compile(t, "oplevel", &product)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

func TestMatricesOfLevelsAndScalesApart(t *testing.T) {
	program := compile(t, "oplevel_split", &product)
	onEachBackend(t, func(t *testing.T, backend string) {
		require.Equal(t, "ok\n", run(t, "", backend, program))
	})
}

func TestBadInputOfOperatorLevelCalls(t *testing.T) {
	program := compile(t, "oplevel_bad_input", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

// Values that are never allowed and sizes that there is no memory for, on every path.
func TestExtremes(t *testing.T) {
	program := compile(t, "extremes", &product)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

// The reference allocates where it computes; the fast path is ggml's.
func TestOperatorLevelCallsAllocateNothing(t *testing.T) {
	if withASan() {
		t.Skip("with the address sanitizer Go allocates where it otherwise does not")
	}
	run(t, "", "cpu", compile(t, "oplevel_hot_path", &hooked))
}

// What a device declines, what the CPU beside it computes then, and where the
// thresholds come from.
func TestWants(t *testing.T) {
	program := compile(t, "oplevel_wants", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		for range 2 { // the second time with what the first remembered
			run(t, "", backend, program)
		}
		if backend == "vulkan" {
			entries, err := os.ReadDir(os.Getenv("XDG_CACHE_HOME") + "/qtsaccel/calibration")
			require.NoError(t, err)
			require.Len(t, entries, 1)
		}
	})
}

// The example gives the same values on every backend.
func TestExampleOfOperatorLevelCalls(t *testing.T) {
	if withASan() {
		t.Skip("the example is linked against the library that users get")
	}
	product.in(t)
	out, err := exec.Command("make", "-s", "-C", filepath.Join(root(t), "examples", "c"), "../../dist/bin/oplevel").CombinedOutput()
	require.NoError(t, err, "%s", out)
	program := filepath.Join(root(t), "dist", "bin", "oplevel")
	onEachBackend(t, func(t *testing.T, backend string) {
		require.Contains(t, run(t, "", backend, program, "--compare", "reference"), "largest difference")
	})
}
