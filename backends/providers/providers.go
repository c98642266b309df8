// Package providers puts the backends of this build together as the choice sees
// them: ggml's, each GPU proven by the probe before its plugin is loaded, and the
// reference.
package providers

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"qtsaccel/backends/fallback"
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// Set is the backends of this build. It remembers what probes have found, so a
// process keeps one.
type Set struct {
	getenv func(string) string
	prober *probe.Prober
	gpus   []*gpu
}

// New makes the set. getenv reads a variable of the process's environment, "" if
// unset; self is the path of the running program where that is the tool, which can
// then probe, "" otherwise.
func New(getenv func(string) string, self string) *Set {
	s := &Set{getenv: getenv, prober: &probe.Prober{Getenv: getenv, Self: self}}
	for _, api := range []string{"cuda", "vulkan"} {
		s.gpus = append(s.gpus, &gpu{api: api, set: s})
	}
	return s
}

// All gives the backends by the names that hosts ask for.
func (s *Set) All() map[string]choice.Provider {
	all := map[string]choice.Provider{
		"cpu":       {Open: openCPU},
		"metal":     metalProvider(runtime.GOOS, listed),
		"reference": {Open: openReference},
	}
	for _, g := range s.gpus {
		all[g.api] = choice.Provider{Devices: g.devices, Prove: g.prove, Open: g.open}
	}
	return all
}

func openReference(r choice.Request, _ choice.Device) (backend.Backend, error) {
	return reference.NewWithin(r.WeightsBudget), nil
}

// openCPU opens the CPU with the reference as its fallback, for operators that it has
// neither a kernel nor a decomposition for.
func openCPU(r choice.Request, _ choice.Device) (backend.Backend, error) {
	l, err := openLibrary(r)
	if err != nil {
		return nil, err
	}
	cpu, err := ggml.New(l, ggml.Options{Device: "cpu", Threads: r.Threads, NoRepack: r.NoRepack, WeightsBudget: r.WeightsBudget})
	if err != nil {
		return nil, err
	}
	return fallback.New(cpu, reference.New()), nil
}

// openDevice opens a GPU with the CPU as its fallback, for the operators that it lacks.
func openDevice(l *library.Library, api string, index int, r choice.Request) (backend.Backend, error) {
	device, err := ggml.New(l, ggml.Options{Device: api, Index: index, Threads: r.Threads, WeightsBudget: r.WeightsBudget})
	if err != nil {
		return nil, err
	}
	r.WeightsBudget = 0 // it is the device's
	cpu, err := openCPU(r, choice.Device{})
	if err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return fallback.New(device, cpu), nil
}

// openLibrary loads ggml from the request's folder.
func openLibrary(r choice.Request) (*library.Library, error) {
	l, err := library.Open(pluginDirs(r))
	return l, fromSource(r, err)
}

// fromSource says in an error about a folder of plugins who named the folder.
func fromSource(r choice.Request, err error) error {
	if r.PluginDir == "" {
		return err
	}
	return status.Wrapf(err, "plugins of %q (from %s)", r.PluginDir, r.PluginDirSource)
}

func pluginDirs(r choice.Request) []string {
	if r.PluginDir != "" {
		return []string{r.PluginDir}
	}
	return library.DefaultPluginDirs()
}

// pluginDir is the folder that [library] would load from: the first with ggml's
// base library, which may be a link.
func pluginDir(r choice.Request) (string, error) {
	var looked []string
	for _, dir := range pluginDirs(r) {
		path := filepath.Join(dir, library.PluginFile("base"))
		if target, err := filepath.EvalSymlinks(path); err == nil {
			if target, err = filepath.Abs(target); err == nil {
				return filepath.Dir(target), nil
			}
		}
		looked = append(looked, path)
	}
	return "", fromSource(r, library.NotThere(looked))
}

// checkPlugin says whether the folder has the plugin of an API.
func checkPlugin(dir, api string) error {
	path := filepath.Join(dir, library.PluginFile(api))
	if _, err := os.Stat(path); err != nil {
		return status.Errorf(status.DeviceUnavailable, "there is no plugin %s", path)
	}
	return nil
}
