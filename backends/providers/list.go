package providers

import (
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe"
	"qtsaccel/core/choice"
)

// List finds every device, those too that cannot be used, with what is in the way.
func (s *Set) List(r choice.Request) (*Listing, error) {
	r, err := choice.WithEnvironment(r, s.getenv)
	if err != nil {
		return nil, err
	}
	list := &Listing{Absent: []Absence{}}
	var devices []choice.Device
	for _, g := range s.gpus {
		found, note, err := g.survey(r)
		if err != nil {
			list.Absent = append(list.Absent, Absence{g.api, err.Error()})
			continue
		}
		if note != "" {
			list.Notes = append(list.Notes, g.api+": "+note)
		}
		devices = append(devices, found...)
	}
	for _, other := range []struct {
		api  string
		find func(choice.Request) ([]choice.Device, error)
	}{{"metal", s.All()["metal"].Devices}, {"cpu", cpuDevice}} {
		found, err := other.find(r)
		if err != nil {
			list.Absent = append(list.Absent, Absence{other.api, err.Error()})
		}
		devices = append(devices, found...)
	}
	list.Cards = choice.Cards(devices)
	return list, nil
}

// survey lists the devices that the driver shows, with or without a plugin for them.
func (g *gpu) survey(r choice.Request) (devices []choice.Device, note string, err error) {
	dir, missing := pluginDir(r)
	if missing == nil {
		missing = checkPlugin(dir, g.api)
	}
	if missing != nil {
		dir = ""
	}
	v, note, err := g.verdict(r, dir, false)
	if err != nil {
		return nil, "", err
	}
	if devices, err = v.Devices(); err != nil {
		return nil, "", err
	}
	if v.Probed {
		note = "" // each device tells
	}
	for i, d := range devices {
		if missing != nil {
			devices[i].Problem = missing.Error()
		} else if v.Probed && d.Kind != choice.Software { // of that, only if it is asked for
			devices[i].Problem = problem(v, d)
		}
	}
	return devices, note, nil
}

func problem(v *probe.Verdict, d choice.Device) string {
	if err := v.Check(d); err != nil {
		return err.Error()
	}
	return ""
}

// cpuDevice is the processor, as ggml describes it.
func cpuDevice(r choice.Request) ([]choice.Device, error) {
	l, err := openLibrary(r)
	if err != nil {
		return nil, err
	}
	b, err := ggml.New(l, ggml.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	d := choice.Device{API: "cpu", Name: b.Info().Description, Kind: choice.CPU}
	d.MemoryTotal, d.MemoryFree, err = b.Memory()
	if closing := b.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	return []choice.Device{d}, nil
}

// Probe has an API's devices proven anew, whatever was found before.
func (s *Set) Probe(r choice.Request, api string, software bool) (*probe.Verdict, error) {
	r, err := choice.WithEnvironment(r, s.getenv)
	if err != nil {
		return nil, err
	}
	dir, missing := pluginDir(r)
	if missing == nil {
		missing = checkPlugin(dir, api)
	}
	if missing != nil {
		dir = ""
	}
	v, err := s.prober.Verdict(probe.Question{API: api, Dir: dir, Software: software, Fresh: true})
	if err == nil && missing != nil && len(v.Findings) > 0 {
		v.Reason = missing.Error()
	}
	return v, err
}

// Library loads ggml as backends do.
func (s *Set) Library(r choice.Request) (*library.Library, error) {
	r, err := choice.WithEnvironment(r, s.getenv)
	if err != nil {
		return nil, err
	}
	return openLibrary(r)
}
