package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"qtsaccel/backends/fallback"
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/kernels"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/engine"
)

// Target is a device that cases are tried on.
type Target struct {
	Name    string
	backend *engine.Backend
	bits    int // of the factors of products
	host    *host
}

// hostBytes are what all buffers of a case may take.
const hostBytes = 256 << 20

// openTarget opens a device by what the command line calls it:
//
//	cpu              as hosts have it
//	cpu:haswell      ggml's plugin for that processor
//	cpu@1            our own kernels for processors of kind 1 at most
//	reference        plain Go
//	vulkan:0 cuda:0  a device with the CPU for what it lacks
//
// repack=off behind a comma keeps weights as they are stored.
func openTarget(spec, pluginDir string, threads int) (*Target, error) {
	name, repack := strings.CutSuffix(spec, ",repack=off")
	name, limit, limited := strings.Cut(name, "@")
	if limited {
		level, err := strconv.Atoi(limit)
		if err != nil {
			return nil, fmt.Errorf("device %q: what follows @ is a number", spec)
		}
		if !kernels.Limit(kernels.Processor(level)) {
			return nil, fmt.Errorf("device %q: this processor has less", spec)
		}
	}
	var bits int
	open := func(choice.Request, choice.Device) (backend.Backend, error) {
		impl, err := openBackend(name, pluginDir, threads, repack)
		if err == nil {
			bits = impl.Info().ProductBits
		}
		return impl, err
	}
	getenv := func(string) string { return "" }
	b, err := engine.Open(choice.Request{Backend: "cpu"}, getenv, map[string]choice.Provider{"cpu": {Open: open}})
	if err != nil {
		return nil, err
	}
	h, err := newHost(hostBytes)
	if err != nil {
		return nil, err
	}
	return &Target{Name: spec, backend: b, bits: bits, host: h}, nil
}

func openBackend(name, pluginDir string, threads int, noRepack bool) (backend.Backend, error) {
	api, rest, _ := strings.Cut(name, ":")
	if api == "reference" {
		return reference.New(), nil
	}
	o := ggml.Options{Device: api, Threads: threads, NoRepack: noRepack}
	if api == "cpu" {
		l, err := library.Open([]string{pluginDir})
		if err != nil {
			return nil, err
		}
		return ggml.New(l, o)
	}
	if rest != "" {
		var err error
		if o.Index, err = strconv.Atoi(rest); err != nil {
			return nil, fmt.Errorf("device %q: its number is missing", name)
		}
	}
	l, err := library.Open([]string{pluginDir})
	if err != nil {
		return nil, err
	}
	device, err := ggml.New(l, o)
	if err != nil {
		return nil, err
	}
	cpu, err := ggml.New(l, ggml.Options{Device: "cpu", Threads: threads})
	if err != nil {
		return nil, err
	}
	return fallback.New(device, cpu), nil
}

// variantDir makes a folder that has no other plugin for the CPU than the one that a
// device names, for children to load ggml from; any other device gets pluginDir. The
// folder is the caller's to remove.
func variantDir(spec, pluginDir string) (dir string, own bool, err error) {
	name, _, _ := strings.Cut(strings.TrimSuffix(spec, ",repack=off"), "@")
	variant, ok := strings.CutPrefix(name, "cpu:")
	if !ok {
		return pluginDir, false, nil
	}
	if dir, err = os.MkdirTemp("", "fuzzgraphs-"+variant+"-"); err != nil {
		return "", false, err
	}
	for _, part := range []string{"base", "cpu-" + variant} {
		if err := copyFile(filepath.Join(pluginDir, library.PluginFile(part)), filepath.Join(dir, library.PluginFile(part))); err != nil {
			return dir, true, err
		}
	}
	return dir, true, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
