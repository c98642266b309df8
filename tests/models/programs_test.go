// Package models runs the example programs, real models over the C API, and
// compares what they give with expected outputs from elsewhere.
package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// build makes the programs, once.
var build = sync.OnceValues(func() (string, error) {
	// Seen by the test cache, which knows nothing of what a program loads.
	if _, err := os.Stat(filepath.Join(root, "dist", "lib", "libqtsaccel.so")); err != nil {
		return "", errors.New("there is no library: make lib")
	}
	out, err := exec.Command("make", "-C", filepath.Join(root, "examples", "c")).CombinedOutput()
	return string(out), err
})

// result is what a run of a program gave.
type result struct {
	stdout, stderr string
	code           int
}

// run runs an example program.
func run(t *testing.T, name string, args ...string) result {
	t.Helper()
	out, err := build()
	require.NoError(t, err, out)
	program := filepath.Join(root, "dist", "bin", name)
	_, err = os.Stat(program)
	require.NoError(t, err)

	cmd := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// works runs a program that must succeed, and gives what it prints.
func works(t *testing.T, name string, args ...string) string {
	t.Helper()
	r := run(t, name, args...)
	require.Zero(t, r.code, r.stderr)
	return r.stdout
}

// fails runs a program that must give an error with these words, and no result.
func fails(t *testing.T, words []string, name string, args ...string) {
	t.Helper()
	r := run(t, name, args...)
	require.Equal(t, 1, r.code, "%s%s", r.stdout, r.stderr)
	require.Empty(t, r.stdout)
	require.True(t, strings.HasPrefix(r.stderr, "error: "), r.stderr)
	for _, w := range words {
		require.Contains(t, r.stderr, w)
	}
}

// onEachBackend runs a test on every backend that is here.
func onEachBackend(t *testing.T, test func(t *testing.T, backend string)) {
	backends := []string{"cpu", "reference"}
	if os.Getenv("QTSACCEL_TEST_VULKAN") == "1" {
		backends = append(backends, "vulkan")
	} else {
		t.Log("Vulkan is left out: QTSACCEL_TEST_VULKAN is not 1")
	}
	// Vulkan takes the factors of f32 products as f16 otherwise, and what it gives is
	// held to what exact products give.
	t.Setenv("GGML_VK_DISABLE_F16", "1")
	for _, b := range backends {
		t.Run(b, func(t *testing.T) { test(t, b) })
	}
}

// shared gives the path of a file of the test data, or skips the test.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	data := os.Getenv("QTSACCEL_SHARED_DATA")
	if data == "" {
		t.Skip("QTSACCEL_SHARED_DATA does not say where the test data is")
	}
	return filepath.Join(append([]string{data}, elem...)...)
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, to), path)
}

func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}

// requireClose compares number by number and tells the largest difference.
func requireClose(t *testing.T, want, got []float32, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	worst, at := 0.0, 0
	for i := range want {
		d := math.Abs(float64(want[i]) - float64(got[i]))
		if d > worst || math.IsNaN(d) {
			worst, at = d, i
		}
		if math.IsNaN(d) {
			break
		}
	}
	t.Logf("largest difference %.3g at %d", worst, at)
	require.LessOrEqual(t, worst, tolerance, "at %d: want %g, got %g", at, want[at], got[at])
}

// write puts a file into a new folder.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}
