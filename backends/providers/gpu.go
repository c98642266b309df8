package providers

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"qtsaccel/backends/driver"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// gpu is an API whose devices are proven in a child process.
type gpu struct {
	api string
	set *Set

	mu      sync.Mutex // held while the plugin is loaded
	entered bool
}

// look finds out about the API's devices; the note says how much that is worth.
// Software devices are proven only where one is asked for: that takes a while.
func (g *gpu) look(r choice.Request, software bool) (*probe.Verdict, string, error) {
	dir, err := pluginDir(r)
	if err != nil {
		return nil, "", err
	}
	if err := checkPlugin(dir, g.api); err != nil {
		return nil, "", err
	}
	return g.verdict(r, dir, software)
}

// verdict is look without a plugin, too: dir may be "".
func (g *gpu) verdict(r choice.Request, dir string, software bool) (*probe.Verdict, string, error) {
	if r.Probe == choice.ProbeOff {
		return probe.Inspect(g.api, g.set.getenv), "not proven: the probe is off", nil
	}
	v, err := g.set.prober.Verdict(probe.Question{API: g.api, Dir: dir, Software: software})
	if errors.Is(err, probe.ErrCannotProbe) && r.Probe == choice.ProbeAuto {
		return probe.Inspect(g.api, g.set.getenv), "not proven: " + err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	return v, "proven in a child process at " + v.At.Local().Format(time.DateTime), nil
}

func (g *gpu) devices(r choice.Request) ([]choice.Device, error) {
	v, _, err := g.look(r, false)
	if err != nil {
		return nil, err
	}
	return v.Devices()
}

func (g *gpu) prove(r choice.Request, d choice.Device) (string, error) {
	v, note, err := g.look(r, d.Kind == choice.Software)
	if err != nil || !v.Probed {
		return note, err
	}
	return note, v.Check(d)
}

func (g *gpu) open(r choice.Request, d choice.Device) (backend.Backend, error) {
	v, _, err := g.look(r, d.Kind == choice.Software)
	if err != nil {
		return nil, err
	}
	l, err := openLibrary(r)
	if err != nil {
		return nil, err
	}
	index, err := g.enter(l, v, d)
	if err != nil {
		return nil, err
	}
	return openDevice(l, g.api, index, r)
}

// enter loads the plugin, if it is not, and finds the device among those that it
// lists.
func (g *gpu) enter(l *library.Library, v *probe.Verdict, d choice.Device) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	naming := ""
	if v.NeedsNaming(d.Index) {
		var err error
		if _, naming, err = probe.Visible(v.Driver, g.set.getenv(probe.VisibleVariable)); err != nil {
			return 0, err
		}
	}
	if g.api == "cuda" && !g.entered {
		// A driver too old for it still computes: its waits spin.
		_ = driver.LetWaitsSleep(d.Index)
	}
	list := l.Devices
	if naming != "" && !g.entered && g.set.getenv(probe.VisibleVariable) == "" {
		list = named(l, naming)
	}
	listed, err := list(g.api)
	if err != nil {
		return 0, err
	}
	g.entered = true
	if index := v.PluginIndex(listed, d.Index); index >= 0 {
		return index, nil
	}
	why := "the plugin does not list it"
	if naming != "" {
		why += fmt.Sprintf(": it was loaded for hardware only and cannot be loaded twice; take this device first, or set %s=%s before",
			probe.VisibleVariable, naming)
	}
	return 0, status.Errorf(status.DeviceUnavailable, "%v (%s): %s", d, d.Name, why)
}

// named lists devices with the variable set that names them, which the plugin reads
// once, when it is loaded. The variable is gone again afterwards: it would reach the
// host's children.
func named(l *library.Library, naming string) func(api string) ([]library.Device, error) {
	return func(api string) ([]library.Device, error) {
		if err := os.Setenv(probe.VisibleVariable, naming); err != nil {
			return nil, status.Errorf(status.Internal, "environment: %w", err)
		}
		listed, err := l.Devices(api)
		if unset := os.Unsetenv(probe.VisibleVariable); err == nil && unset != nil {
			err = status.Errorf(status.Internal, "environment: %w", unset)
		}
		return listed, err
	}
}
