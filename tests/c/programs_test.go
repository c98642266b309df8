// Package c tests the C API from C: it compiles the programs under programs/ and
// the header itself, and runs the programs against the shared library.
package c

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A library to test against: the one that users get, or the one with hooks for
// tests (capi/hooks.go).
type library struct{ target, folder string }

var (
	product = library{"lib", "lib"}
	hooked  = library{"test-lib", "test"}
	// With the address sanitizer, both at once; QTSACCEL_TEST_ASAN=1 asks for it.
	sanitized = library{"asan-lib", "asan"}
)

func withASan() bool { return os.Getenv("QTSACCEL_TEST_ASAN") == "1" }

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

var (
	making sync.Mutex
	made   = map[library]bool{}
)

// in makes the library and gives the folder that it is in.
func (l library) in(t *testing.T) string {
	t.Helper()
	if withASan() {
		l = sanitized
	}
	making.Lock()
	defer making.Unlock()
	if !made[l] {
		out, err := exec.Command("make", "-s", "-C", root(t), l.target).CombinedOutput()
		require.NoError(t, err, "make %s: %s", l.target, out)
		made[l] = true
	}
	folder := filepath.Join(root(t), "dist", l.folder)
	// Seen by the test cache, which knows nothing of what programs load.
	_, err := os.Stat(filepath.Join(folder, "libqtsaccel.so"))
	require.NoError(t, err)
	return folder
}

// compile makes a program; with a library, it is linked against it.
func compile(t *testing.T, name string, l *library) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	args := []string{
		"-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror",
		"-I", filepath.Join(root(t), "include"), "-o", program, filepath.Join("programs", name+".c"),
	}
	if withASan() {
		args = append(args, "-fsanitize=address")
	}
	if l != nil {
		folder := l.in(t)
		args = append(args, "-L"+folder, "-lqtsaccel", "-Wl,-rpath,"+folder)
	}
	gcc(t, append(args, "-ldl", "-lpthread", "-lm")...)
	return program
}

func gcc(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("gcc", args...).CombinedOutput()
	require.NoError(t, err, "gcc %s\n%s", strings.Join(args, " "), out)
}

// run runs a program that must succeed, with one backend as the environment's
// choice and none of the tester's own settings, and gives what it prints.
func run(t *testing.T, dir, backend, program string, args ...string) string {
	t.Helper()
	const limit = 5 * time.Minute // a software device compiles hundreds of kernels when it has none yet
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "QTSACCEL_BACKEND="+backend)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%s took longer than %v:\n%s", program, limit, out)
	require.NoError(t, err, "%s %s\n%s", program, strings.Join(args, " "), out)
	t.Logf("%s", out)
	return string(out)
}

// onEachBackend runs a test on every backend that is here.
func onEachBackend(t *testing.T, test func(t *testing.T, backend string)) {
	t.Helper()
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

func TestBadInput(t *testing.T) {
	program := compile(t, "bad_input", &product)
	var more []string
	if data := os.Getenv("QTSACCEL_SHARED_DATA"); data != "" {
		more = []string{filepath.Join(data, "stories260k", "stories260K_f32.gguf")}
	} else {
		t.Log("QTSACCEL_SHARED_DATA is not set: no GGUF file to truncate")
	}
	onEachBackend(t, func(t *testing.T, backend string) {
		run(t, "", backend, program, append([]string{t.TempDir()}, more...)...)
	})
}

func TestThreads(t *testing.T) {
	program := compile(t, "threads", &product)
	onEachBackend(t, func(t *testing.T, backend string) {
		// The library itself prints nothing, whatever happens.
		require.Equal(t, "ok\n", run(t, "", backend, program))
	})
}

func TestFork(t *testing.T) {
	if withASan() {
		// At its end it looks for leaks with the parent's threads, which a child lacks.
		t.Setenv("ASAN_OPTIONS", "detect_leaks=0")
	}
	program := compile(t, "fork", &product)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })

	source, err := os.ReadFile("programs/fork.c")
	require.NoError(t, err)
	for _, f := range headerFunctions(t) {
		if f != "qtsa_last_error" { // every check asks it
			require.True(t, strings.Contains(string(source), f+"("), "fork.c does not call %s", f)
		}
	}
}

func TestCancel(t *testing.T) {
	program := compile(t, "cancel", &product)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

// Every function in every kind of callback.
func TestCallsFromCallbacksAreRefused(t *testing.T) {
	program := compile(t, "callbacks", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program, t.TempDir()) })
}

func TestLog(t *testing.T) {
	program := compile(t, "log", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

func TestDefaultBackendIsDecidedOnce(t *testing.T) {
	program := compile(t, "active", &product)
	onEachBackend(t, func(t *testing.T, backend string) {
		run(t, "", backend, program)
		run(t, "", backend, program, "none")
	})
}

// What is initialised beside Go when the library is loaded is there at the first call, in
// whichever order that happens to be done.
func TestFirstUse(t *testing.T) {
	program := compile(t, "first_use", &product)
	for range 20 {
		run(t, "", "cpu", program)
	}
}

func TestDebugTells(t *testing.T) {
	program := compile(t, "debug", &product)
	onEachBackend(t, func(t *testing.T, backend string) {
		require.Equal(t, "ok\n", run(t, "", backend, program), "all lines go to the callback")
		run(t, "", backend, program, "variable")
		out := run(t, "", backend, program, "stderr")
		for _, words := range []string{"qtsaccel: requested: " + backend, "taken", "2 nodes, 2 on " + backend, "compute"} {
			require.Contains(t, out, words)
		}
	})
}

func TestTheCPUHelpsAGPU(t *testing.T) {
	if os.Getenv("QTSACCEL_TEST_VULKAN") != "1" {
		t.Skip("QTSACCEL_TEST_VULKAN is not 1: there is no GPU to help")
	}
	require.Equal(t, "ok\n", run(t, "", "vulkan", compile(t, "beside", &product)))
}

func TestRepackedWeights(t *testing.T) {
	out := run(t, "", "cpu", compile(t, "repack", &product))
	if cpu, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(cpu), " avx2") {
		require.Contains(t, out, "repacked as ")
	}
}

func TestPanicBecomesAStatus(t *testing.T) {
	program := compile(t, "panic", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

func TestNothingLeaks(t *testing.T) {
	if withASan() {
		t.Skip("the address sanitizer keeps freed memory, so the process grows")
	}
	program := compile(t, "leak", &hooked)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program) })
}

// The reference allocates where it uses several threads; the fast path is ggml's.
func TestRunAllocatesNothing(t *testing.T) {
	if withASan() {
		t.Skip("with the address sanitizer Go allocates where it otherwise does not")
	}
	run(t, "", "cpu", compile(t, "hot_path", &hooked))
}
