// Package choice decides which backend a host gets, and keeps the story of the
// decision for whoever asks.
package choice

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"qtsaccel/core/backend"
	"qtsaccel/core/status"
)

// Request is what the host asks for; zero values leave it to the environment and
// the defaults.
type Request struct {
	Backend   string // "auto" or a backend's name
	Fallback  string // what auto tries, comma-separated
	Device    string // of a GPU: index, PCI id or UUID
	PluginDir string // "": beside the library
	// PluginDirSource is where PluginDir comes from: "option", or a variable's name;
	// [WithEnvironment] sets it.
	PluginDirSource string
	Threads         int  // 0: what affinity and cgroup allow
	NoRepack        bool // weights of the CPU's products stay as they are stored

	// Debug receives a line for each step of the choice and of what the backend
	// does afterwards, from any goroutine; nil: nobody wants to know.
	Debug func(line string)
	Probe string // "require", "auto" or "off": whether GPUs pass a self-test first
	// WeightsBudget is how many bytes of the device weights may take; 0: what it has.
	WeightsBudget int64
}

// The modes of the probe.
const (
	ProbeRequire = "require" // what cannot pass the self-test is not used
	ProbeAuto    = "auto"    // where none can be made at all, it is used, with a note
	ProbeOff     = "off"
)

// Provider is one backend as the choice sees it. A backend that cannot be had
// here is an error of code DEVICE_UNAVAILABLE or VERSION_MISMATCH, whose text is
// the reason; any other error ends the choice.
type Provider struct {
	// Devices lists the devices of a GPU's API; nil where there is nothing to
	// choose from.
	Devices func(Request) ([]Device, error)
	// Prove makes sure that the device can be trusted with the host's process, and
	// gives a note on how; nil where no self-test is needed.
	Prove func(Request, Device) (note string, err error)
	// Open makes the backend on the device, the zero Device where Devices is nil.
	Open func(Request, Device) (backend.Backend, error)
}

// auto stands for the first of a chain that can be had.
const auto = "auto"

// names are the backends that can be asked for, as messages list them.
var names = []string{"cpu", "cuda", "vulkan", "metal", "reference"}

func isGPU(name string) bool { return name == "cuda" || name == "vulkan" || name == "metal" }

// defaultChain is what auto tries where no list is given. The reference is not in it:
// thousands of times slower, it is no substitute that anybody wants unknowingly.
func defaultChain(goos string) []string {
	if goos == "darwin" {
		return []string{"metal", "vulkan", "cpu"}
	}
	return []string{"cuda", "vulkan", "cpu"}
}

// Choose makes the backend that the request, else the environment, else the
// default names. getenv reads a variable, "" if unset.
func Choose(r Request, getenv func(string) string, providers map[string]Provider) (backend.Backend, *Report, error) {
	s, err := resolve(r, getenv)
	if err != nil {
		return nil, nil, err
	}
	report := &Report{Requested: s.request.Backend, Source: s.source}
	for _, name := range s.chain {
		p, ok := providers[name]
		if !ok {
			report.skip(name, "not part of this build")
			continue
		}
		var device Device
		var note string
		switch {
		case p.Devices != nil:
			if device, note, err = find(name, p, s); err != nil {
				if !unavailable(err) {
					return nil, nil, err
				}
				report.skip(name, err.Error())
				continue
			}
		case s.selected != nil:
			// Whoever names a device does not mean what has none.
			report.skip(name, "it has no devices to choose from")
			continue
		}
		b, err := p.Open(s.request, device)
		if err == nil {
			report.Tried = append(report.Tried, Attempt{Name: name, Taken: true, Note: note})
			report.Backend = b.Info()
			if p.Devices != nil {
				report.Device = &device
			}
			return b, report, nil
		}
		if !unavailable(err) {
			return nil, nil, status.Wrapf(err, "backend %q", name)
		}
		report.skip(name, err.Error())
	}
	return nil, nil, status.Errorf(status.DeviceUnavailable, "%s: %s", s.wanted(), report.reasons())
}

// wanted says what cannot be had, and who asked for it.
func (s *settings) wanted() string {
	w := fmt.Sprintf("no backend for %q (from %s)", s.request.Backend, s.source)
	if s.request.Fallback != "" {
		w += fmt.Sprintf(", list %q (from %s)", s.request.Fallback, s.fallbackSource)
	}
	if s.selected != nil {
		w += fmt.Sprintf(", device %q (from %s)", s.request.Device, s.deviceSource)
	}
	return w
}

// find gives the device to open, which passed its self-test, and a note on that.
func find(name string, p Provider, s *settings) (device Device, note string, err error) {
	devices, err := p.Devices(s.request)
	if err != nil {
		return Device{}, "", err
	}
	device, err = pick(name, devices, s.selected, s.named)
	if err != nil || p.Prove == nil {
		return device, "", err
	}
	note, err = p.Prove(s.request, device)
	return device, note, err
}

// unavailable says whether auto goes on to the next backend.
func unavailable(err error) bool {
	code := status.Of(err)
	return code == status.DeviceUnavailable || code == status.VersionMismatch
}

// precedence gives the host's option or, where it is blank, the first variable that
// is not, and which of them it was.
func precedence(getenv func(string) string) func(option string, variables ...string) (value, source string) {
	return func(option string, variables ...string) (value, source string) {
		if v := strings.TrimSpace(option); v != "" {
			return v, "option"
		}
		for _, name := range variables {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v, name
			}
		}
		return "", "default"
	}
}

// WithEnvironment applies the environment and the defaults to those fields that
// count whatever the backend: the plugins' folder and the probe's mode.
func WithEnvironment(r Request, getenv func(string) string) (Request, error) {
	first := precedence(getenv)
	if r.PluginDirSource == "" { // not applied before
		r.PluginDir, r.PluginDirSource = first(r.PluginDir, "QTSACCEL_PLUGIN_DIR")
	}
	mode, source := first(r.Probe, "QTSACCEL_PROBE")
	r.Probe = strings.ToLower(mode)
	switch r.Probe {
	case "":
		r.Probe = ProbeAuto
	case ProbeRequire, ProbeAuto, ProbeOff:
	default:
		return r, status.Errorf(status.InvalidArgument, "unknown mode %q of the probe (from %s); known: %s, %s, %s",
			r.Probe, source, ProbeRequire, ProbeAuto, ProbeOff)
	}
	return r, nil
}

// WantsDebug says whether the environment asks for debug lines: a variable does unless
// it is blank or says no. The first that is not blank decides.
func WantsDebug(getenv func(string) string) bool {
	value, _ := precedence(getenv)("", "QTSACCEL_DEBUG_BACKEND", "QWEN3_TTS_DEBUG_BACKEND")
	switch strings.ToLower(value) {
	case "", "0", "off", "false", "no":
		return false
	}
	return true
}

// settings is a request with the environment and the defaults applied.
type settings struct {
	request        Request
	source         string // of the backend's name
	fallbackSource string
	deviceSource   string
	chain          []string
	named          bool      // the backend was asked for by name
	selected       *selector // nil: no device was
}

// resolve applies the precedence: per field, the host's option beats the
// environment, which beats the default. A blank value counts as unset.
func resolve(r Request, getenv func(string) string) (*settings, error) {
	if err := backend.CheckThreads(r.Threads, "what affinity and cgroup allow"); err != nil {
		return nil, err
	}
	option := strings.TrimSpace(r.Device) != ""
	r, err := WithEnvironment(r, getenv)
	if err != nil {
		return nil, err
	}
	s := &settings{request: r}
	first := precedence(getenv)
	s.request.Backend, s.source = first(r.Backend, "QTSACCEL_BACKEND", "QWEN3_TTS_BACKEND")
	s.request.Device, s.deviceSource = first(r.Device, "QTSACCEL_GPU_DEVICE", "QWEN3_TTS_GPU_DEVICE")
	s.request.Backend = strings.ToLower(s.request.Backend)
	if s.request.Backend == "" {
		s.request.Backend = auto
	}
	if s.request.Backend != auto {
		if err := known(s.request.Backend, s.source, append([]string{auto}, names...)); err != nil {
			return nil, err
		}
		s.chain, s.named = []string{s.request.Backend}, true
		if isGPU(s.request.Backend) {
			return s, s.parseDevice()
		}
		// The variable is about GPUs, and set for whole desks of programs; the option
		// is about this backend.
		if option {
			return nil, status.Errorf(status.InvalidArgument, "device %q (from option) is asked for, but backend %q (from %s) has no devices to choose from",
				s.request.Device, s.request.Backend, s.source)
		}
		return s, nil
	}
	if err := s.parseDevice(); err != nil {
		return nil, err
	}
	// A list is read only here: an explicit choice never falls back.
	list, source := first(r.Fallback, "QTSACCEL_BACKEND_FALLBACK", "QWEN3_TTS_BACKEND_FALLBACK")
	if list == "" {
		s.chain = defaultChain(runtime.GOOS)
		return s, nil
	}
	s.request.Fallback, s.fallbackSource = list, source
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || slices.Contains(s.chain, name) {
			continue
		}
		if err := known(name, source, names); err != nil {
			return nil, err
		}
		s.chain = append(s.chain, name)
	}
	if len(s.chain) == 0 {
		return nil, status.Errorf(status.InvalidArgument, "fallback list %q (from %s) names no backend; known: %s",
			list, source, strings.Join(names, ", "))
	}
	return s, nil
}

// parseDevice reads how the device is named, if one is.
func (s *settings) parseDevice() (err error) {
	if s.request.Device != "" {
		s.selected, err = parseSelector(s.request.Device, s.deviceSource)
	}
	return err
}

func known(name, source string, among []string) error {
	if slices.Contains(among, name) {
		return nil
	}
	return status.Errorf(status.InvalidArgument, "unknown backend %q (from %s); known: %s",
		name, source, strings.Join(among, ", "))
}
