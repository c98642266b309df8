package providers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe/probetest"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

func TestMain(m *testing.M) { os.Exit(probetest.Run(m)) }

func none(string) string { return "" }

// One process loads ggml from one folder, so one stage serves all that load it.
func TestOnAStage(t *testing.T) {
	s := probetest.NewStage(t)
	set := New(os.Getenv, "")
	request := choice.Request{PluginDir: s.Dir}

	t.Run("the machine is listed", func(t *testing.T) {
		t.Setenv("FAKE_CUDA", "2")
		t.Setenv("FAKE_PLUGIN", "wrong@1")
		list, err := set.List(request)
		require.NoError(t, err)
		cuda := slices.DeleteFunc(slices.Clone(list.Cards), func(c choice.Card) bool { return c.API != "cuda" })
		require.Len(t, cuda, 2)
		require.Empty(t, cuda[0].Problem)
		require.Contains(t, cuda[1].Problem, "it computes wrongly")
		require.Equal(t, choice.Integrated, cuda[1].Kind)
		processor := list.Cards[len(list.Cards)-1]
		require.Equal(t, choice.CPU, processor.Kind)
		require.NotEmpty(t, processor.Name)
		require.NotZero(t, processor.MemoryTotal)
		for _, c := range list.Cards {
			if c.API == "vulkan" {
				require.Contains(t, c.Problem, "there is no plugin")
			}
		}
		absent := map[string]string{}
		for _, a := range list.Absent {
			absent[a.API] = a.Reason
		}
		if runtime.GOOS != "darwin" {
			require.Contains(t, absent["metal"], "Apple")
		}
		text, err := json.Marshal(list)
		require.NoError(t, err)
		var back Listing
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, *list, back)
	})

	t.Run("without a driver", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", "")
		if _, err := os.Stat("/dev/nvidiactl"); err == nil {
			t.Skip("this machine has CUDA's driver")
		}
		list, err := set.List(request)
		require.NoError(t, err)
		i := slices.IndexFunc(list.Absent, func(a Absence) bool { return a.API == "cuda" })
		require.GreaterOrEqual(t, i, 0)
		require.Contains(t, list.Absent[i].Reason, "libcuda.so.1")
	})

	t.Run("a chosen device is proven and opened", func(t *testing.T) {
		b, report, err := choice.Choose(choice.Request{Backend: "cuda", PluginDir: s.Dir}, os.Getenv, set.All())
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		require.Equal(t, "cuda:0", b.Info().Name)
		require.Contains(t, report.Tried[0].Note, "proven in a child process")
		require.Equal(t, "Pretender 0", report.Device.Name)
		require.Contains(t, report.Text(), "device:    cuda:0 (Pretender 0), discrete, ")
	})

	// This process has read LD_LIBRARY_PATH long ago; a library that is loaded is found.
	_, err := purego.Dlopen(filepath.Join(s.Dir, "driver", "libcuda.so.1"), purego.RTLD_NOW)
	require.NoError(t, err)

	t.Run("where nothing can probe", func(t *testing.T) {
		require.NoError(t, os.Rename(s.Tool, s.Tool+".away"))
		defer func() { require.NoError(t, os.Rename(s.Tool+".away", s.Tool)) }()
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		fresh := New(os.Getenv, "")
		_, _, err := choice.Choose(choice.Request{Backend: "cuda", PluginDir: s.Dir, Probe: choice.ProbeRequire}, os.Getenv, fresh.All())
		require.Equal(t, status.DeviceUnavailable, status.Of(err))
		require.ErrorContains(t, err, "devices cannot be proven: there is no "+s.Tool)

		b, report, err := choice.Choose(choice.Request{Backend: "cuda", PluginDir: s.Dir}, os.Getenv, fresh.All())
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.Contains(t, report.Tried[0].Note, "not proven: devices cannot be proven: there is no")

		list, err := fresh.List(request)
		require.NoError(t, err)
		require.NotEmpty(t, list.Notes)
	})

	t.Run("the probe is off", func(t *testing.T) {
		t.Setenv("QTSACCEL_PROBE", "off")
		b, report, err := choice.Choose(choice.Request{Backend: "cuda", PluginDir: s.Dir}, os.Getenv, New(os.Getenv, "").All())
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.Equal(t, "not proven: the probe is off", report.Tried[0].Note)
	})

	t.Run("the tool's commands", func(t *testing.T) {
		v, err := set.Probe(request, "cuda", false)
		require.NoError(t, err)
		require.True(t, v.Findings[0].Proven)
		loaded, err := set.Library(request)
		require.NoError(t, err)
		require.Equal(t, s.Dir, loaded.Dir)
	})
}

func TestWithoutAPluginFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "plugins")
	set := New(none, "")
	for _, name := range []string{"cpu", "cuda", "vulkan"} {
		_, _, err := choice.Choose(choice.Request{Backend: name, PluginDir: missing}, none, set.All())
		require.Equal(t, status.DeviceUnavailable, status.Of(err), name)
		require.ErrorContains(t, err, missing, name)
	}
	_, _, err := choice.Choose(choice.Request{PluginDir: missing}, none, set.All())
	require.Equal(t, status.DeviceUnavailable, status.Of(err), "the reference is no substitute")
	require.ErrorContains(t, err, missing)
	require.ErrorContains(t, err, "(from option)")
	b, report, err := choice.Choose(choice.Request{PluginDir: missing, Fallback: "cpu,reference"}, none, set.All())
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Equal(t, "reference", b.Info().Name)
	require.Contains(t, report.Text(), missing)

	// A folder with ggml, but without this plugin.
	require.NoError(t, os.Mkdir(missing, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(missing, library.PluginFile("base")), nil, 0o600))
	_, _, err = choice.Choose(choice.Request{Backend: "cuda", PluginDir: missing}, none, set.All())
	require.ErrorContains(t, err, "there is no plugin "+filepath.Join(missing, library.PluginFile("cuda")))
}

// Metal cannot run here; what it does with its registry is the same code.
func TestMetal(t *testing.T) {
	listed := []library.Device{{Name: "MTL0", Description: "Apple M3"}, {Name: "MTL1", Description: "AMD Radeon"}}
	registry := func(_ choice.Request, api string) ([]library.Device, error) {
		require.Equal(t, "metal", api)
		return listed, nil
	}
	onApple := metalProvider("darwin", registry)
	devices, err := onApple.Devices(choice.Request{})
	require.NoError(t, err)
	require.Len(t, devices, 2)
	require.Equal(t, "metal:0", devices[0].String())
	require.Equal(t, "Apple M3", devices[0].Name)
	require.Equal(t, choice.Integrated, devices[0].Kind)
	require.Nil(t, onApple.Prove, "a part of the system needs no proof")

	_, err = metalProvider("linux", registry).Devices(choice.Request{})
	require.Equal(t, status.DeviceUnavailable, status.Of(err))
	require.ErrorContains(t, err, "Apple")
}
