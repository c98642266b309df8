// Package fuzzcalls runs the fuzzer of calls (programs/fuzz.cpp) for as many calls as are
// told, however long they take, and holds it to finding what there is to be found.
package fuzzcalls

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// calls is about a minute's worth where two processors are free.
const calls = "1500000"

// build builds the fuzzer, once; with QTSACCEL_TEST_ASAN=1, with the address sanitizer.
var build = sync.OnceValues(func() (string, error) {
	target, name := "fuzz-calls-program", "fuzz"
	if os.Getenv("QTSACCEL_TEST_ASAN") == "1" {
		target, name = "fuzz-calls-asan-program", "fuzz-asan"
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("make", "-s", "-C", root, target).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make %s: %w: %s", target, err, out)
	}
	return filepath.Join(root, "dist", "fuzzcalls", name), nil
})

func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	return path
}

func fuzz(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	return string(out)
}

// Calls that follow from one seed: what is found in them was brought by a change. Other
// seeds are tried by make fuzz-calls.
func TestRandomCalls(t *testing.T) {
	n := calls
	if os.Getenv("QTSACCEL_TEST_ASAN") == "1" || testing.Short() {
		n = "300000"
	}
	require.Contains(t, fuzz(t, "--seed", "1", "--calls", n, "--jobs", "2"), " 0 found")
}

// A fuzzer that finds nothing where there is something to be found would pass, too.
func TestTheFuzzerFinds(t *testing.T) {
	for _, c := range []struct{ bug, words string }{
		{"out-kept", "left byte 0 of its out parameter"},
		{"beside", "memory beside what was passed was written to"},
		{"behind", "Segmentation fault"},
		{"status", "which is no status"},
		{"leak", "objects are left"},
		{"value", "a wrong value"},
		{"hang", "hangs"},
	} {
		t.Run(c.bug, func(t *testing.T) {
			cmd := exec.Command(program(t), "--seed", "1", "--calls", "20000", "--bug", c.bug)
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "%s", out)
			require.Contains(t, string(out), c.words)
			require.Contains(t, string(out), "FOUND: seed 1, sequence ")
			require.Contains(t, string(out), "the last:")
		})
	}
}
