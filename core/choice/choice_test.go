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
	return backend.Info{Name: f.name, Description: "a test's", Library: "none", Searched: []string{"/a", "/b"}, Threads: 3, Notes: []string{"hello"}}
}

func can(name string) Provider {
	return Provider{Open: func(Request, Device) (backend.Backend, error) { return fake{name: name}, nil }}
}

func cannot(code status.Code, why string) Provider {
	return Provider{Open: func(Request, Device) (backend.Backend, error) { return nil, status.Errorf(code, "%s", why) }}
}

// gpu is an API with devices; their names are its backends' names.
func gpu(devices ...Device) Provider {
	return Provider{
		Devices: func(Request) ([]Device, error) { return devices, nil },
		Open:    func(_ Request, d Device) (backend.Backend, error) { return fake{name: d.String()}, nil },
	}
}

func absent(why string) Provider {
	p := gpu()
	p.Devices = func(Request) ([]Device, error) { return nil, status.Errorf(status.DeviceUnavailable, "%s", why) }
	return p
}

func unproven(p Provider, why string) Provider {
	p.Prove = func(Request, Device) (string, error) { return "", status.Errorf(status.DeviceUnavailable, "%s", why) }
	return p
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

var (
	card0 = Device{
		API: "cuda", Index: 0, Name: "card", Kind: Discrete, PCI: "00000000:65:00.0",
		UUID: "GPU-01234567-89ab-cdef-0123-456789abcdef",
	}
	card1  = Device{API: "cuda", Index: 1, Name: "card", Kind: Discrete, PCI: "0000:66:00.0"}
	vcard0 = Device{API: "vulkan", Index: 0, Name: "card", Kind: Discrete, PCI: "0000:65:00.0", UUID: "0123456789abcdef0123456789abcdef"}
	soft   = Device{API: "vulkan", Index: 1, Name: "llvmpipe", Kind: Software}
)

func machine(change func(map[string]Provider)) map[string]Provider {
	m := map[string]Provider{
		"cuda": absent("no libcuda.so.1"), "vulkan": gpu(vcard0, soft), "cpu": can("cpu"), "reference": can("reference"),
	}
	if change != nil {
		change(m)
	}
	return m
}

func TestChoose(t *testing.T) {
	twoCards := machine(func(m map[string]Provider) { m["cuda"] = gpu(card0, card1) })
	onlySoft := machine(func(m map[string]Provider) {
		s := soft
		s.Index = 0
		m["vulkan"] = gpu(s)
	})
	broken := machine(func(m map[string]Provider) { m["vulkan"] = unproven(m["vulkan"], "aborted at its first kernel") })
	bare := map[string]Provider{"cpu": cannot(status.DeviceUnavailable, "no plugin in /x"), "reference": can("reference")}

	for _, c := range []struct {
		about   string
		request Request
		env     func(string) string
		on      map[string]Provider
		want    string
		source  string
		code    status.Code
		words   []string
	}{
		{about: "the default takes a GPU", on: machine(nil), want: "vulkan:0", source: "default"},
		{about: "cuda before vulkan", on: twoCards, want: "cuda:0"},
		{about: "by option", request: Request{Backend: "cpu"}, env: env("QTSACCEL_BACKEND", "vulkan"), on: machine(nil), want: "cpu", source: "option"},
		{about: "case and space", request: Request{Backend: " CPU\t"}, on: machine(nil), want: "cpu"},
		{
			about: "by environment", env: env("QTSACCEL_BACKEND", "reference", "QWEN3_TTS_BACKEND", "cpu"),
			on: machine(nil), want: "reference", source: "QTSACCEL_BACKEND",
		},
		{
			about: "the engine's variable", env: env("QTSACCEL_BACKEND", "  ", "QWEN3_TTS_BACKEND", "cpu"),
			on: machine(nil), want: "cpu", source: "QWEN3_TTS_BACKEND",
		},
		{
			about: "the reference is no last resort", on: bare, code: status.DeviceUnavailable,
			words: []string{`no backend for "auto" (from default): cuda: not part of this build`, "cpu: no plugin in /x"},
		},
		{about: "the reference in a list", request: Request{Fallback: "cpu,reference"}, on: bare, want: "reference"},
		{about: "the reference by name", request: Request{Backend: "reference"}, on: bare, want: "reference"},
		{about: "auto passes a software device by", on: onlySoft, want: "cpu"},
		{about: "a software device by name", request: Request{Backend: "vulkan"}, on: onlySoft, want: "vulkan:0"},
		{about: "hardware before software", request: Request{Backend: "vulkan"}, on: machine(nil), want: "vulkan:0"},
		{about: "a list", request: Request{Fallback: " cpu , ,cpu, vulkan"}, on: machine(nil), want: "cpu"},
		{about: "a list from the environment", env: env("QTSACCEL_BACKEND_FALLBACK", "cuda,reference"), on: machine(nil), want: "reference"},
		{
			about: "explicit reads no list", request: Request{Backend: "cpu"}, env: env("QTSACCEL_BACKEND_FALLBACK", ",,"),
			on: machine(nil), want: "cpu",
		},
		{about: "what is not proven is passed by", on: broken, want: "cpu"},
		{about: "index", request: Request{Device: "1"}, on: twoCards, want: "cuda:1"},
		{about: "index from the environment", env: env("QWEN3_TTS_GPU_DEVICE", "1"), on: twoCards, want: "cuda:1"},
		{about: "an API's index", request: Request{Device: "vulkan:1"}, on: twoCards, want: "vulkan:1"},
		{about: "PCI id", request: Request{Device: "66:00.0"}, on: twoCards, want: "cuda:1"},
		{about: "PCI id through the other API", request: Request{Backend: "vulkan", Device: "00000000:65:00.0"}, on: twoCards, want: "vulkan:0"},
		{about: "UUID", request: Request{Device: "GPU-01234567-89AB-cdef-0123-456789abcdef"}, on: twoCards, want: "cuda:0"},
		{
			about: "a device of the CPU", request: Request{Backend: "cpu", Device: "99"}, on: machine(nil), code: status.InvalidArgument,
			words: []string{`device "99" (from option)`, `backend "cpu" (from option) has no devices to choose from`},
		},
		{
			about: "a device of the reference", request: Request{Device: "0"}, env: env("QTSACCEL_BACKEND", "reference"), on: machine(nil),
			code: status.InvalidArgument, words: []string{`backend "reference" (from QTSACCEL_BACKEND)`},
		},
		{about: "the variable is about GPUs", request: Request{Backend: "cpu"}, env: env("QTSACCEL_GPU_DEVICE", "nonsense"), on: machine(nil), want: "cpu"},
		{
			about: "a PCI id that is not there", request: Request{Device: "0000:99:00.0"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{
				`no backend for "auto" (from default), device "0000:99:00.0" (from option)`, "cuda: no libcuda.so.1",
				`vulkan: no device "0000:99:00.0" among vulkan:0 (card, 0000:65:00.0, 0123456789abcdef0123456789abcdef), vulkan:1 (llvmpipe)`,
				"cpu: it has no devices to choose from",
			},
		},
		{
			about: "a UUID that is not there", env: env("QTSACCEL_GPU_DEVICE", "ffffffff-89ab-cdef-0123-456789abcdef"), on: machine(nil),
			code: status.DeviceUnavailable, words: []string{"(from QTSACCEL_GPU_DEVICE)", "vulkan:0 (card"},
		},
		{
			about: "an API that is not there", request: Request{Device: "cuda:0"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{"cuda: no libcuda.so.1", `vulkan: device "cuda:0" is not of this API, which has vulkan:0 (card`},
		},
		{
			about: "an index with a list", request: Request{Device: "1", Fallback: "cuda,cpu"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{`list "cuda,cpu" (from option), device "1" (from option)`, "cuda: no libcuda.so.1", "cpu: it has no devices"},
		},
		{
			about: "a device, and a list of none", request: Request{Device: "0", Fallback: "cpu,reference"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{"cpu: it has no devices", "reference: it has no devices"},
		},
		{
			about: "malformed, and no GPU here", request: Request{Device: "nonsense"}, on: map[string]Provider{"cpu": can("cpu")}, code: status.InvalidArgument,
			words: []string{`device "nonsense" (from option) is none`},
		},
		{
			about: "an index is no software", request: Request{Device: "0"}, on: onlySoft, code: status.DeviceUnavailable,
			words: []string{`vulkan: its device 0 (llvmpipe) is software`, `ask for backend "vulkan", or for device "vulkan:0"`, "cpu: it has no devices"},
		},
		{about: "an index is no software behind a card either", request: Request{Device: "1"}, on: machine(nil), code: status.DeviceUnavailable, words: []string{"llvmpipe"}},
		{about: "a list does not make it so", request: Request{Device: "0", Fallback: "vulkan"}, on: onlySoft, code: status.DeviceUnavailable, words: []string{"is software"}},
		{about: "software by its whole name", request: Request{Device: "vulkan:0"}, on: onlySoft, want: "vulkan:0"},
		{about: "software by API and index", request: Request{Backend: "vulkan", Device: "0"}, on: onlySoft, want: "vulkan:0"},
		{
			about: "named, and not proven", request: Request{Device: "vulkan:0"}, on: broken, code: status.DeviceUnavailable,
			words: []string{"aborted at its first kernel", "cpu: it has no devices"},
		},
		{about: "a card through the next API", request: Request{Device: "65:00.0"}, on: machine(func(m map[string]Provider) { m["cuda"] = unproven(gpu(card0), "broken") }), want: "vulkan:0"},
		{
			about: "a list that fails, from a variable", env: env("QWEN3_TTS_BACKEND_FALLBACK", "cuda,metal"), on: machine(nil), code: status.DeviceUnavailable,
			words: []string{`list "cuda,metal" (from QWEN3_TTS_BACKEND_FALLBACK)`},
		},
		{about: "too many threads", request: Request{Threads: 513}, on: machine(nil), code: status.InvalidArgument, words: []string{"threads is 513, want 1 to 512"}},
		{about: "as many as there may be", request: Request{Backend: "cpu", Threads: 512}, on: machine(nil), want: "cpu"},
		{
			about: "unknown", request: Request{Backend: "npu"}, on: machine(nil), code: status.InvalidArgument,
			words: []string{`unknown backend "npu" (from option)`, "auto, cpu, cuda, vulkan, metal, reference"},
		},
		{
			about: "auto in a list", request: Request{Fallback: "cpu,auto"}, on: machine(nil), code: status.InvalidArgument,
			words: []string{`unknown backend "auto"`, "known: cpu, cuda"},
		},
		{
			about: "nothing but commas", env: env("QWEN3_TTS_BACKEND_FALLBACK", " , ,"), on: machine(nil), code: status.InvalidArgument,
			words: []string{"names no backend", "QWEN3_TTS_BACKEND_FALLBACK"},
		},
		{
			about: "a list's end", request: Request{Fallback: "cuda,metal"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{"cuda: no libcuda.so.1", "metal: not part of this build"},
		},
		{
			about: "explicit is never another", request: Request{Backend: "cpu"}, on: bare, code: status.DeviceUnavailable,
			words: []string{"no plugin in /x"},
		},
		{
			about: "explicit and not proven", request: Request{Backend: "vulkan"}, on: broken, code: status.DeviceUnavailable,
			words: []string{"aborted at its first kernel"},
		},
		{
			about: "beyond the last", request: Request{Backend: "vulkan", Device: "2"}, on: machine(nil), code: status.InvalidArgument,
			words: []string{"device index 2", "vulkan has 2 devices (index 0 to 1)"},
		},
		{
			about: "beyond the last in auto", request: Request{Device: "2"}, on: twoCards, code: status.InvalidArgument,
			words: []string{"cuda has 2 devices"},
		},
		{about: "negative", request: Request{Device: "-1"}, on: twoCards, code: status.InvalidArgument, words: []string{`device "-1" (from option)`}},
		{about: "no number", env: env("QTSACCEL_GPU_DEVICE", "first"), on: twoCards, code: status.InvalidArgument, words: []string{`"first" (from QTSACCEL_GPU_DEVICE)`}},
		{
			about: "no such PCI id", request: Request{Backend: "vulkan", Device: "0000:70:00.0"}, on: machine(nil), code: status.DeviceUnavailable,
			words: []string{`no device "0000:70:00.0" among vulkan:0 (card, 0000:65:00.0, `},
		},
		{about: "a mode of the probe", request: Request{Probe: "Require "}, on: machine(nil), want: "vulkan:0"},
		{
			about: "unknown mode of the probe", env: env("QTSACCEL_PROBE", "never"), on: machine(nil), code: status.InvalidArgument,
			words: []string{`unknown mode "never" of the probe (from QTSACCEL_PROBE)`, "require, auto, off"},
		},
		{about: "threads", request: Request{Threads: -2}, on: machine(nil), code: status.InvalidArgument, words: []string{"threads is -2"}},
		{
			about: "another failure ends the search", on: machine(func(m map[string]Provider) {
				m["vulkan"] = cannot(status.OutOfMemory, "5 bytes wanted")
			}), code: status.OutOfMemory, words: []string{"5 bytes wanted"},
		},
	} {
		t.Run(c.about, func(t *testing.T) {
			if c.env == nil {
				c.env = env()
			}
			b, report, err := Choose(c.request, c.env, c.on)
			require.Equal(t, c.code, status.Of(err), "%v", err)
			if err != nil {
				for _, w := range c.words {
					require.ErrorContains(t, err, w)
				}
				return
			}
			require.Equal(t, c.want, b.Info().Name)
			if c.source != "" {
				require.Equal(t, c.source, report.Source)
			}
		})
	}
}

func TestDefaultChain(t *testing.T) {
	require.Equal(t, []string{"metal", "vulkan", "cpu"}, defaultChain("darwin"))
	require.Equal(t, []string{"cuda", "vulkan", "cpu"}, defaultChain("linux"))
}

func TestReport(t *testing.T) {
	_, report, err := Choose(Request{Fallback: "cpu,reference"}, env(), map[string]Provider{
		"cpu": cannot(status.DeviceUnavailable, "no plugin in /x"), "reference": can("reference"),
	})
	require.NoError(t, err)
	text := report.Text()
	for _, w := range []string{
		"requested: auto (default)", "cpu: no plugin in /x", "reference: taken",
		"a test's", "searched:  /a, /b", "threads:   3", "note:      hello",
	} {
		require.Contains(t, text, w)
	}
	machine, err := json.Marshal(report)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(machine, &back))
	require.Equal(t, *report, back)
}

func TestPluginDir(t *testing.T) {
	var got Request
	on := map[string]Provider{"cpu": {Open: func(r Request, _ Device) (backend.Backend, error) {
		got = r
		return fake{name: "cpu"}, nil
	}}}
	_, _, err := Choose(Request{Backend: "cpu"}, env("QTSACCEL_PLUGIN_DIR", " /plugins "), on)
	require.NoError(t, err)
	require.Equal(t, "/plugins", got.PluginDir)
	_, _, err = Choose(Request{Backend: "cpu", PluginDir: "/mine"}, env("QTSACCEL_PLUGIN_DIR", "/plugins"), on)
	require.NoError(t, err)
	require.Equal(t, "/mine", got.PluginDir)
}

func TestOneCardThroughTwoAPIsIsListedOnce(t *testing.T) {
	mig := Device{API: "cuda", Index: 2, Kind: Discrete, PCI: card0.PCI, UUID: "ffffffff-89ab-cdef-0123-456789abcdef"}
	seen := vcard0
	seen.MemoryFree = 5 // CUDA's driver does not tell without being used
	cards := Cards([]Device{card0, card1, mig, seen, soft})
	require.Len(t, cards, 4)
	require.EqualValues(t, 5, cards[0].MemoryFree)
	require.Equal(t, "cuda:0", cards[0].String())
	require.Equal(t, []Device{seen}, cards[0].Also)
	require.Empty(t, cards[1].Also)
	require.Empty(t, cards[2].Also, "parts of one card are not one device")
	require.Equal(t, "llvmpipe", cards[3].Name)
}

func TestWantsDebug(t *testing.T) {
	for _, no := range []string{"", " ", "0", "off", " OFF ", "false", "False", "no", "\tNo"} {
		require.False(t, WantsDebug(env("QTSACCEL_DEBUG_BACKEND", no)), "%q", no)
		require.False(t, WantsDebug(env("QWEN3_TTS_DEBUG_BACKEND", no)), "%q", no)
	}
	for _, yes := range []string{"1", "on", "true", "yes", "2"} {
		require.True(t, WantsDebug(env("QTSACCEL_DEBUG_BACKEND", yes)), "%q", yes)
		require.True(t, WantsDebug(env("QWEN3_TTS_DEBUG_BACKEND", yes)), "%q", yes)
	}
	require.False(t, WantsDebug(env("QTSACCEL_DEBUG_BACKEND", "0", "QWEN3_TTS_DEBUG_BACKEND", "1")), "the newer name decides")
	require.True(t, WantsDebug(env("QTSACCEL_DEBUG_BACKEND", " ", "QWEN3_TTS_DEBUG_BACKEND", "1")), "blank is unset")
}
