// Package choice decides which backend a host gets, and keeps the story of the
// decision for whoever asks.
package choice

import (
	"strings"

	"qtsaccel/core/backend"
	"qtsaccel/core/status"
)

// Request is what the host asks for; zero values leave it to the environment and
// the defaults.
type Request struct {
	Backend   string // "auto", "cpu", "cuda", "vulkan", "metal", "reference"
	PluginDir string // "": beside the library
	Threads   int    // 0: what affinity and cgroup allow
}

// Maker makes a backend, or says why it cannot be had here.
type Maker func(Request) (backend.Backend, error)

// names are the backends that can be asked for, as messages list them.
var names = []string{"auto", "cpu", "cuda", "vulkan", "metal", "reference"}

// autoOrder is what auto tries. A GPU's driver can take the process down at its
// first call, so none is taken unasked before it is proven in a child process.
var autoOrder = []string{"cpu", "reference"}

// Choose makes the backend that the request, else the environment, else the
// default names. getenv reads a variable, "" if unset. The report is complete
// also where the choice fails, and then part of the error's text.
func Choose(r Request, getenv func(string) string, makers map[string]Maker) (backend.Backend, *Report, error) {
	report := &Report{}
	if r.Threads < 0 {
		return nil, report, status.Errorf(status.InvalidArgument, "threads is %d, want 1 or more, or 0 for the default", r.Threads)
	}
	report.Requested, report.Source = wanted(r, getenv)
	if r.PluginDir == "" {
		r.PluginDir = strings.TrimSpace(getenv("QTSACCEL_PLUGIN_DIR"))
	}
	chain := []string{report.Requested}
	if report.Requested == "auto" {
		chain = autoOrder
	} else if !known(report.Requested) {
		return nil, report, status.Errorf(status.InvalidArgument, "unknown backend %q (from %s); known: %s",
			report.Requested, report.Source, strings.Join(names, ", "))
	}
	for _, name := range chain {
		b, err := makers[name](r)
		if err == nil {
			report.Tried = append(report.Tried, Attempt{Name: name, Taken: true})
			report.Backend = b.Info()
			return b, report, nil
		}
		report.Tried = append(report.Tried, Attempt{Name: name, Reason: err.Error()})
		// An argument that is wrong is wrong for every backend.
		if code := status.Of(err); code != status.DeviceUnavailable && code != status.VersionMismatch {
			return nil, report, status.Wrapf(err, "backend %q", name)
		}
	}
	reasons := make([]string, len(report.Tried))
	for i, a := range report.Tried {
		reasons[i] = a.Name + ": " + a.Reason
	}
	return nil, report, status.Errorf(status.DeviceUnavailable, "no backend for %q (from %s): %s",
		report.Requested, report.Source, strings.Join(reasons, "; "))
}

// wanted gives the backend's name and where it was asked for. A blank variable
// counts as unset.
func wanted(r Request, getenv func(string) string) (name, source string) {
	for _, s := range []struct{ value, source string }{
		{r.Backend, "option"},
		{getenv("QTSACCEL_BACKEND"), "QTSACCEL_BACKEND"},
		{getenv("QWEN3_TTS_BACKEND"), "QWEN3_TTS_BACKEND"},
	} {
		if v := strings.ToLower(strings.TrimSpace(s.value)); v != "" {
			return v, s.source
		}
	}
	return "auto", "default"
}

func known(name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
