package choice

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/status"
)

// fake is a backend of which only the name counts.
type fake struct {
	backend.Backend
	name string
}

func (f fake) Info() backend.Info {
	return backend.Info{Name: f.name, Description: "a test's", Library: "none", Threads: 3, Notes: []string{"hello"}}
}

func can(name string) Maker {
	return func(Request) (backend.Backend, error) { return fake{name: name}, nil }
}

func cannot(code status.Code, why string) Maker {
	return func(Request) (backend.Backend, error) { return nil, status.Errorf(code, "%s", why) }
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestChoose(t *testing.T) {
	all := map[string]Maker{
		"cpu": can("cpu"), "reference": can("reference"), "vulkan": can("vulkan"),
		"cuda":  cannot(status.DeviceUnavailable, "no libcuda.so.1"),
		"metal": cannot(status.DeviceUnavailable, "not an Apple machine"),
	}
	noCPU := map[string]Maker{"cpu": cannot(status.DeviceUnavailable, "no plugin in /x"), "reference": can("reference")}
	broken := map[string]Maker{"cpu": cannot(status.OutOfMemory, "5 bytes wanted"), "reference": can("reference")}

	for _, c := range []struct {
		about   string
		request Request
		env     func(string) string
		makers  map[string]Maker
		want    string
		source  string
		code    status.Code
		words   []string
	}{
		{about: "the default", env: env(), makers: all, want: "cpu", source: "default"},
		{about: "by option", request: Request{Backend: "vulkan"}, env: env("QTSACCEL_BACKEND", "cpu"), makers: all, want: "vulkan", source: "option"},
		{about: "case and space", request: Request{Backend: " CPU\t"}, env: env(), makers: all, want: "cpu", source: "option"},
		{about: "by environment", env: env("QTSACCEL_BACKEND", "reference", "QWEN3_TTS_BACKEND", "cpu"), makers: all, want: "reference", source: "QTSACCEL_BACKEND"},
		{about: "the engine's name", env: env("QTSACCEL_BACKEND", "  ", "QWEN3_TTS_BACKEND", "vulkan"), makers: all, want: "vulkan", source: "QWEN3_TTS_BACKEND"},
		{about: "the last resort", env: env(), makers: noCPU, want: "reference", source: "default"},
		{
			about: "unknown", request: Request{Backend: "npu"}, env: env(), makers: all, code: status.InvalidArgument,
			words: []string{`unknown backend "npu" (from option)`, "auto, cpu, cuda, vulkan, metal, reference"},
		},
		{
			about: "explicit and not there", env: env("QTSACCEL_BACKEND", "cuda"), makers: all, code: status.DeviceUnavailable,
			words: []string{"cuda: no libcuda.so.1", "QTSACCEL_BACKEND"},
		},
		{
			about: "explicit is never another", request: Request{Backend: "cpu"}, env: env(), makers: noCPU, code: status.DeviceUnavailable,
			words: []string{"no plugin in /x"},
		},
		{about: "another failure ends the search", env: env(), makers: broken, code: status.OutOfMemory, words: []string{"5 bytes wanted"}},
		{about: "threads", request: Request{Threads: -2}, env: env(), makers: all, code: status.InvalidArgument, words: []string{"threads is -2"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			b, report, err := Choose(c.request, c.env, c.makers)
			require.Equal(t, c.code, status.Of(err), "%v", err)
			if err != nil {
				for _, w := range c.words {
					require.ErrorContains(t, err, w)
				}
				return
			}
			require.Equal(t, c.want, b.Info().Name)
			require.Equal(t, c.source, report.Source)
		})
	}
}

func TestReport(t *testing.T) {
	_, report, err := Choose(Request{}, env(), map[string]Maker{
		"cpu": cannot(status.DeviceUnavailable, "no plugin in /x"), "reference": can("reference"),
	})
	require.NoError(t, err)
	text := report.Text()
	for _, w := range []string{"requested: auto (default)", "cpu: no plugin in /x", "reference: taken", "a test's", "threads:   3", "note:      hello"} {
		require.Contains(t, text, w)
	}
	machine, err := report.JSON()
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal([]byte(machine), &back))
	require.Equal(t, *report, back)
}

func TestPluginDirFromEnvironment(t *testing.T) {
	var got Request
	makers := map[string]Maker{"cpu": func(r Request) (backend.Backend, error) { got = r; return fake{name: "cpu"}, nil }}
	_, _, err := Choose(Request{}, env("QTSACCEL_PLUGIN_DIR", " /plugins "), makers)
	require.NoError(t, err)
	require.Equal(t, "/plugins", got.PluginDir)
	_, _, err = Choose(Request{PluginDir: "/mine"}, env("QTSACCEL_PLUGIN_DIR", "/plugins"), makers)
	require.NoError(t, err)
	require.Equal(t, "/mine", got.PluginDir)
}
