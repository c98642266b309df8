// Package devices tests through the C API how backends are chosen on machines whose
// drivers and plugins misbehave.
package devices

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/probe/probetest"
)

func TestMain(m *testing.M) { os.Exit(probetest.Run(m)) }

// compile makes a program of testdata and links it against the library.
func compile(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	lib := filepath.Join(root, "dist", "lib")
	_, err = os.Stat(filepath.Join(lib, "libqtsaccel.so"))
	require.NoError(t, err, "make lib")
	program := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror",
		"-I", filepath.Join(root, "include"), "-o", program, filepath.Join("testdata", name+".c"),
		"-L"+lib, "-lqtsaccel", "-Wl,-rpath,"+lib, "-rdynamic", "-lpthread", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// run runs a program that must succeed in less than limit, with none of the tester's
// own settings but those given as "NAME=value".
func run(t *testing.T, limit time.Duration, settings []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, settings...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "longer than %v: %s", limit, out)
	require.NoError(t, err, "%s %s\n%s", program, strings.Join(args, " "), out)
	return string(out)
}

// However a plugin fails, auto takes the CPU and says why, whoever asks for it by
// name gets DEVICE_UNAVAILABLE, and the host lives and has its children to itself.
func TestHosts(t *testing.T) {
	s := probetest.NewStage(t)
	host := compile(t, "host")
	for _, how := range []string{"plain", "ignore", "handler", "waiting", "twice"} {
		for _, c := range []struct {
			plugin, driver string
			want           string
			words          []string
		}{
			{"", "1", "cuda:0", []string{"cuda: taken", "proven in a child process", "Pretender 0"}},
			{"load-abort", "1", "cpu", []string{"ended while loading the plugin", "SIGABRT"}},
			{"load-segv", "1", "cpu", []string{"ended while loading the plugin", "SIGSEGV"}},
			{"load-hang", "1", "cpu", []string{"hangs while loading the plugin"}},
			{"segv", "1", "cpu", []string{"ended while computing on the device"}},
			{"abort", "1", "cpu", []string{"ended while computing on the device", "SIGABRT"}},
			{"hang", "1", "cpu", []string{"hangs while computing on the device"}},
			{"wrong", "1", "cpu", []string{"it computes wrongly"}},
			{"", "absent", "cpu", []string{"the driver is there and finds no device"}},
			{"", "crash", "cpu", []string{"ended while asking the driver"}},
		} {
			t.Run(how+"/"+c.plugin+c.driver, func(t *testing.T) {
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
				t.Setenv("FAKE_PLUGIN", c.plugin)
				t.Setenv("FAKE_CUDA", c.driver)
				settings := []string{"QTSACCEL_PLUGIN_DIR=" + s.Dir, "QTSACCEL_PROBE_TIMEOUT=10"}
				if strings.HasSuffix(c.plugin, "hang") {
					settings[1] = "QTSACCEL_PROBE_TIMEOUT=2"
				}
				require.Equal(t, "ok\n", run(t, time.Minute, settings, host, append([]string{how, c.want}, c.words...)...))
			})
		}
	}
}
