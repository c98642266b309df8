// Package copies shows that the library and another ggml live in one process:
// each gives right products, and nothing of ours is bound to the other copy.
package copies

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository's.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// build compiles the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "copies")
	out, err := exec.Command("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root(t), "include"),
		"-o", program, filepath.Join("testdata", "copies.c"), "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// foreign gives the libraries of a foreign copy, its base first. The plugins are
// the plainest, which every machine can run.
func foreign(t *testing.T, which string) []string {
	t.Helper()
	dir := filepath.Join(root(t), "dist", "other-ggml", which)
	libraries := []string{filepath.Join(dir, "libggml-base.so"), filepath.Join(dir, "libggml-cpu-x64.so")}
	// Ours has been renamed from a copy with a Vulkan plugin: open that, too.
	if more := filepath.Join(dir, "libggml-vulkan.so"); exists(more) {
		libraries = append(libraries, more)
	}
	for _, l := range libraries {
		require.True(t, exists(l), "%s is missing: go run ./build/provision other-ggml", l)
	}
	return libraries
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// binding is a line of the dynamic linker's about a symbol that it bound.
var binding = regexp.MustCompile(`binding file (\S+) \[\d+\] to (\S+) \[\d+\]: \w+ symbol .(\w+)'`)

func TestTwoCopies(t *testing.T) {
	library := filepath.Join(root(t), "dist", "lib", "libqtsaccel.so")
	require.True(t, exists(library), "%s is missing: make lib", library)
	program := build(t)
	backends := []string{"cpu"}
	if os.Getenv("QTSACCEL_TEST_VULKAN") == "1" {
		backends = append(backends, "vulkan")
	} else {
		t.Log("Vulkan is left out: QTSACCEL_TEST_VULKAN is not 1")
	}
	for _, backend := range backends {
		t.Run(backend+"/alone", func(t *testing.T) { run(t, program, nil, library, backend, "never") })
		for _, which := range []string{"same", "older"} {
			libraries := foreign(t, which)
			for _, moment := range []string{"before", "between", "after"} {
				t.Run(fmt.Sprintf("%s/%s/%s", backend, which, moment), func(t *testing.T) {
					run(t, program, nil, append([]string{library, backend, moment}, libraries...)...)
				})
			}
			t.Run(fmt.Sprintf("%s/%s/preloaded", backend, which), func(t *testing.T) {
				run(t, program, []string{"LD_PRELOAD=" + strings.Join(libraries, ":")},
					append([]string{library, backend, "before"}, libraries...)...)
			})
		}
	}
}

// run runs the program under the dynamic linker's eyes.
func run(t *testing.T, program string, env []string, args ...string) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "bindings")
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LD_DEBUG=bindings", "LD_DEBUG_OUTPUT="+trace, "GGML_VK_VISIBLE_DEVICES=0")
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s", &out)
	require.Contains(t, out.String(), "right products")

	files, err := filepath.Glob(trace + ".*")
	require.NoError(t, err)
	require.NotEmpty(t, files, "the dynamic linker wrote no trace")
	ours, among := 0, 0
	var led []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range binding.FindAllStringSubmatch(string(text), -1) {
			from, to := filepath.Base(m[1]), filepath.Base(m[2])
			if !isOurs(from) {
				continue
			}
			ours++
			if isOurs(to) {
				among++
			}
			// A C++ template that both copies carry (std::...) is the one kind of
			// symbol that the linker may share, and is not ggml's.
			if strings.HasPrefix(to, "libggml") && !strings.HasPrefix(m[3], "_ZNSt") && !strings.HasPrefix(m[3], "_ZSt") &&
				!strings.HasPrefix(m[3], "_ZNKSt") {
				led = append(led, fmt.Sprintf("%s: %s in %s", from, m[3], to))
			}
		}
	}
	require.Positive(t, among, "no binding among our own libraries was seen, of %d: the trace is not understood", ours)
	require.Empty(t, led, "bindings of ours lead to the other copy")
}

func isOurs(file string) bool {
	return strings.HasPrefix(file, "libqtsg") || strings.HasPrefix(file, "libqtsaccel")
}
