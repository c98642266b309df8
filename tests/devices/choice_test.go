package devices

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe/probetest"
)

// machine is a stage with two devices, which the process under test sees.
func machine(t *testing.T) (s *probetest.Stage, choose string) {
	t.Helper()
	s = probetest.NewStage(t)
	t.Setenv("FAKE_CUDA", "2")
	return s, compile(t, "choose")
}

func TestBadChoices(t *testing.T) {
	s, choose := machine(t)
	const unknown = "known: auto, cpu, cuda, vulkan, metal, reference"
	const count = "cuda has 2 devices (index 0 to 1)"
	for _, c := range []struct {
		settings string // spaces between, "_" for a space in a value
		status   string
		words    []string
	}{
		{"QTSACCEL_BACKEND=npu", "INVALID_ARGUMENT", []string{`unknown backend "npu" (from QTSACCEL_BACKEND)`, unknown}},
		{"QWEN3_TTS_BACKEND=gpu", "INVALID_ARGUMENT", []string{`"gpu" (from QWEN3_TTS_BACKEND)`, unknown}},
		{"QTSACCEL_BACKEND=_CPU_", "OK", []string{"requested: cpu (QTSACCEL_BACKEND)", "cpu: taken"}},
		{"QTSACCEL_BACKEND=__ QWEN3_TTS_BACKEND=cpu", "OK", []string{"requested: cpu (QWEN3_TTS_BACKEND)"}},
		{"QTSACCEL_BACKEND= QTSACCEL_BACKEND_FALLBACK=", "OK", []string{"requested: auto (default)", "cuda: taken"}},
		{"QTSACCEL_BACKEND_FALLBACK=,_,,", "INVALID_ARGUMENT", []string{"names no backend", "QTSACCEL_BACKEND_FALLBACK"}},
		{"QTSACCEL_BACKEND_FALLBACK=cpu,auto", "INVALID_ARGUMENT", []string{`unknown backend "auto"`, "known: cpu, cuda"}},
		{"QTSACCEL_BACKEND_FALLBACK=metal,metal,,metal,cpu", "OK", []string{"  metal: Metal exists on Apple's systems only\n  cpu: taken"}},
		{"QTSACCEL_BACKEND_FALLBACK=metal,vulkan", "DEVICE_UNAVAILABLE", []string{"metal: Metal exists on Apple", "vulkan: there is no plugin"}},
		{"QTSACCEL_BACKEND=metal", "DEVICE_UNAVAILABLE", []string{"Metal exists on Apple's systems only"}},
		{"QTSACCEL_BACKEND=vulkan", "DEVICE_UNAVAILABLE", []string{"there is no plugin", s.Dir}},
		{"QTSACCEL_BACKEND=cuda QTSACCEL_GPU_DEVICE=two", "INVALID_ARGUMENT", []string{`device "two" (from QTSACCEL_GPU_DEVICE)`}},
		{"QTSACCEL_BACKEND=cuda QTSACCEL_GPU_DEVICE=-1", "INVALID_ARGUMENT", []string{`device "-1"`}},
		{"QTSACCEL_GPU_DEVICE=1.5", "INVALID_ARGUMENT", []string{`device "1.5"`}},
		{"QTSACCEL_BACKEND=cuda QTSACCEL_GPU_DEVICE=2", "INVALID_ARGUMENT", []string{"device index 2 is asked for", count}},
		{"QTSACCEL_GPU_DEVICE=99999999999999999999", "INVALID_ARGUMENT", []string{"99999999999999999999"}},
		{"QTSACCEL_GPU_DEVICE=2", "INVALID_ARGUMENT", []string{"device index 2 is asked for", count}},
		{"QTSACCEL_GPU_DEVICE=1", "OK", []string{"device:    cuda:1 (Pretender 1), integrated"}},
		{"QTSACCEL_GPU_DEVICE=cuda:1", "OK", []string{"device:    cuda:1"}},
		{"QTSACCEL_GPU_DEVICE=0000:a1:00.0", "OK", []string{"device:    cuda:1"}},
		{"QTSACCEL_GPU_DEVICE=GPU-00010203-0405-0607-0809-0A0B0C0D0E01", "OK", []string{"device:    cuda:1"}},
		{"QTSACCEL_BACKEND=cuda QTSACCEL_GPU_DEVICE=0000:b1:00.0", "DEVICE_UNAVAILABLE", []string{`no device "0000:b1:00.0"`}},
		{"QTSACCEL_BACKEND=cpu QTSACCEL_GPU_DEVICE=nonsense", "OK", []string{"cpu: taken"}},
		{"QTSACCEL_GPU_DEVICE=0000:b1:00.0", "DEVICE_UNAVAILABLE", []string{
			`device "0000:b1:00.0" (from QTSACCEL_GPU_DEVICE)`, `cuda: no device "0000:b1:00.0" among cuda:0 (Pretender 0, 0000:`, "cpu: it has no devices",
		}},
		{"QWEN3_TTS_GPU_DEVICE=GPU-ffffffff-0405-0607-0809-0A0B0C0D0E01", "DEVICE_UNAVAILABLE", []string{"(from QWEN3_TTS_GPU_DEVICE)", "cuda:1 (Pretender 1"}},
		{"QTSACCEL_GPU_DEVICE=vulkan:0", "DEVICE_UNAVAILABLE", []string{`cuda: device "vulkan:0" is not of this API`, "vulkan: there is no plugin"}},
		{"QTSACCEL_GPU_DEVICE=1 QTSACCEL_BACKEND_FALLBACK=vulkan,cpu,reference", "DEVICE_UNAVAILABLE", []string{
			`list "vulkan,cpu,reference" (from QTSACCEL_BACKEND_FALLBACK), device "1" (from QTSACCEL_GPU_DEVICE)`, "reference: it has no devices",
		}},
		{"QWEN3_TTS_BACKEND_FALLBACK=metal,vulkan", "DEVICE_UNAVAILABLE", []string{`list "metal,vulkan" (from QWEN3_TTS_BACKEND_FALLBACK)`}},
		{"QTSACCEL_CALIBRATE=perhaps", "INVALID_ARGUMENT", []string{`unknown calibration "perhaps" (from QTSACCEL_CALIBRATE); known: auto, force, off`}},
		{"QTSACCEL_PROBE=maybe", "INVALID_ARGUMENT", []string{`unknown mode "maybe" of the probe (from QTSACCEL_PROBE); known: require, auto, off`}},
		{"QTSACCEL_PROBE_TIMEOUT=0", "INVALID_ARGUMENT", []string{"QTSACCEL_PROBE_TIMEOUT", `"0"`}},
		{"QTSACCEL_PROBE=require", "OK", []string{"cuda: taken (proven in a child process"}},
	} {
		t.Run(c.settings, func(t *testing.T) {
			args := []string{"QTSACCEL_PLUGIN_DIR=" + s.Dir}
			for setting := range strings.FieldsSeq(c.settings) {
				name, value, _ := strings.Cut(setting, "=")
				args = append(args, name+"="+strings.ReplaceAll(value, "_", " "))
			}
			said := run(t, time.Minute, nil, choose, args...)
			status, words, _ := strings.Cut(said, "\n")
			require.Equal(t, c.status, status, words)
			for _, w := range c.words {
				require.Contains(t, words, w)
			}
		})
	}
}

func TestBadInstallations(t *testing.T) {
	s, choose := machine(t)
	ask := func(t *testing.T, settings ...string) (status, words string) {
		t.Helper()
		said := run(t, time.Minute, nil, choose, append([]string{"QTSACCEL_PLUGIN_DIR=" + s.Dir}, settings...)...)
		status, words, _ = strings.Cut(said, "\n")
		return status, words
	}

	t.Run("no folder", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "nothing")
		status, words := ask(t, "QTSACCEL_PLUGIN_DIR="+missing)
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "there is no "+filepath.Join(missing, library.PluginFile("base")))
		require.Contains(t, words, "(from QTSACCEL_PLUGIN_DIR)")
		require.Contains(t, words, "by the option plugin_dir or by QTSACCEL_PLUGIN_DIR")
		for _, byName := range []string{"QTSACCEL_BACKEND=reference", "QTSACCEL_BACKEND_FALLBACK=cpu,reference"} {
			status, words = ask(t, "QTSACCEL_PLUGIN_DIR="+missing, byName)
			require.Equal(t, "OK", status)
			require.Contains(t, words, "reference: taken")
		}
		status, words = ask(t, "QTSACCEL_PLUGIN_DIR="+missing, "QTSACCEL_BACKEND=cpu")
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, missing)
	})
	t.Run("a plugin of another version", func(t *testing.T) {
		t.Setenv("FAKE_PLUGIN", "load-version")
		status, words := ask(t)
		require.Equal(t, "OK", status)
		require.Contains(t, words, "is made for version")
		require.Contains(t, words, "cpu: taken")
		status, words = ask(t, "QTSACCEL_BACKEND=cuda")
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "is made for version")
		// Found out without a probe, too.
		status, words = ask(t, "QTSACCEL_BACKEND=cuda", "QTSACCEL_PROBE=off")
		require.Equal(t, "DEVICE_UNAVAILABLE", status, words)
	})
	t.Run("a plugin that is no library", func(t *testing.T) {
		plugin := filepath.Join(s.Dir, library.PluginFile("cuda"))
		good, err := os.ReadFile(plugin)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(plugin, []byte("not at all"), 0o600))
		defer func() { require.NoError(t, os.WriteFile(plugin, good, 0o600)) }()
		status, words := ask(t, "QTSACCEL_BACKEND=cuda")
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "cannot be loaded")
	})
	t.Run("plugins that no loader may see", func(t *testing.T) {
		for _, part := range []string{"cuda", "base"} {
			plugin := filepath.Join(s.Dir, library.PluginFile(part))
			good, err := os.ReadFile(plugin)
			require.NoError(t, err)
			for about, c := range map[string]struct {
				put   func() error
				words string
			}{
				"cut short":     {func() error { return os.WriteFile(plugin, good[:len(good)/2], 0o600) }, "the file was cut short"},
				"its end gone":  {func() error { return os.WriteFile(plugin, good[:len(good)-100], 0o600) }, "the file was cut short"},
				"its beginning": {func() error { return os.WriteFile(plugin, good[:64], 0o600) }, "the file was cut short"},
				"empty":         {func() error { return os.WriteFile(plugin, nil, 0o600) }, "it is no ELF file"},
				"a pipe":        {func() error { return syscall.Mkfifo(plugin, 0o600) }, "is a pipe"},
				"a folder":      {func() error { return os.Mkdir(plugin, 0o700) }, "is a directory"},
				"a device":      {func() error { return os.Symlink("/dev/zero", plugin) }, ""},
			} {
				require.NoError(t, os.Remove(plugin))
				require.NoError(t, c.put(), about)
				status, words := ask(t, "QTSACCEL_BACKEND=cuda")
				require.Equal(t, "DEVICE_UNAVAILABLE", status, "%s: %s: %s", part, about, words)
				require.Contains(t, words, c.words, about)
			}
			require.NoError(t, os.Remove(plugin))
			require.NoError(t, os.WriteFile(plugin, good, 0o600))
		}
	})
	t.Run("no driver", func(t *testing.T) {
		if _, err := os.Stat("/dev/nvidiactl"); err == nil {
			t.Skip("this machine has CUDA's driver")
		}
		t.Setenv("LD_LIBRARY_PATH", "")
		status, words := ask(t)
		require.Equal(t, "OK", status)
		require.Contains(t, words, "cuda: the driver cannot be opened: libcuda.so.1")
	})
	t.Run("no prober", func(t *testing.T) {
		require.NoError(t, os.Rename(s.Tool, s.Tool+".away"))
		defer func() { require.NoError(t, os.Rename(s.Tool+".away", s.Tool)) }()
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		// The installation that the library itself is of may have one.
		status, words := ask(t, "QTSACCEL_PROBE=require", "QTSACCEL_BACKEND=cuda")
		if status == "OK" {
			t.Skip("the library has a prober in ../bin: backends/providers tests this")
		}
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "devices cannot be proven")
	})
	t.Run("a cache that cannot be written", func(t *testing.T) {
		t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
		status, words := ask(t)
		require.Equal(t, "OK", status)
		require.Contains(t, words, "cuda: taken (proven in a child process at ")
	})
	t.Run("a base library that is none", func(t *testing.T) {
		base := filepath.Join(s.Dir, library.PluginFile("base"))
		good, err := os.ReadFile(base)
		require.NoError(t, err)
		driver, err := os.ReadFile(filepath.Join(s.Dir, "driver", "libcuda.so.1"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(base, driver, 0o600))
		defer func() { require.NoError(t, os.WriteFile(base, good, 0o600)) }()
		status, words := ask(t, "QTSACCEL_BACKEND=cpu")
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "it is not the ggml that this library was built for")
		status, words = ask(t)
		require.Equal(t, "DEVICE_UNAVAILABLE", status)
		require.Contains(t, words, "it is not the ggml that this library was built for")
	})
}

// Mesa's software device is there to be asked for by name, and for nothing else.
func TestSoftwareVulkan(t *testing.T) {
	choose := compile(t, "choose")
	if _, err := os.Stat(filepath.Join(probetest.Plugins(t), library.PluginFile("vulkan"))); err != nil {
		t.Skip("no Vulkan plugin in dist")
	}
	probetest.OwnCache(t)
	ask := func(settings ...string) string { return run(t, 5*time.Minute, nil, choose, settings...) }

	start := time.Now()
	auto := ask()
	if !strings.Contains(auto, "only a software device") {
		t.Skipf("no software Vulkan device, or a real one before it: %s", auto)
	}
	require.Less(t, time.Since(start), 5*time.Second, "nobody waits for a device that nobody wants")
	require.Contains(t, auto, "vulkan: only a software device (llvmpipe")
	require.Contains(t, auto, "cpu: taken")
	require.Contains(t, ask("QTSACCEL_BACKEND_FALLBACK=vulkan,cpu"), "only a software device")

	byName := ask("QTSACCEL_BACKEND=vulkan")
	require.Contains(t, byName, "OK\n")
	require.Contains(t, byName, "llvmpipe")
	proof := regexp.MustCompile(`vulkan: taken \(proven in a child process at [^)]*\)`).FindString(byName)
	require.NotEmpty(t, proof, byName)
	require.Contains(t, ask("QTSACCEL_BACKEND=vulkan"), proof, "remembered")
	// The host's own setting counts.
	require.Contains(t, ask("GGML_VK_VISIBLE_DEVICES=0", "QTSACCEL_BACKEND=vulkan"), "vulkan: taken")
	// An index under auto is no name for it, the device's whole name is.
	byIndex := ask("QTSACCEL_GPU_DEVICE=0")
	require.Contains(t, byIndex, "DEVICE_UNAVAILABLE\n")
	require.Contains(t, byIndex, `ask for backend "vulkan", or for device "vulkan:0"`)
	require.Contains(t, ask("QTSACCEL_GPU_DEVICE=vulkan:0"), "vulkan: taken")
	require.Contains(t, ask("QTSACCEL_BACKEND=vulkan", "QTSACCEL_GPU_DEVICE=0"), "vulkan: taken")
	require.Contains(t, ask("GGML_VK_VISIBLE_DEVICES=99", "QTSACCEL_BACKEND=vulkan"), "GGML_VK_VISIBLE_DEVICES is \"99\"")
}

// A device that is lost, and memory that is full, on Mesa's software device.
func TestVulkanFails(t *testing.T) {
	choose := compile(t, "choose")
	probetest.OwnCache(t)
	if said := run(t, 5*time.Minute, nil, choose, "QTSACCEL_BACKEND=vulkan"); !strings.HasPrefix(said, "OK\n") {
		t.Skipf("no Vulkan device here: %s", said)
	}
	// ggml's Vulkan prints before it.
	require.True(t, strings.HasSuffix(run(t, 5*time.Minute, nil, compile(t, "vulkan_fails")), "ok\n"))
}
