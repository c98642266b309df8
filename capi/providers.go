package main

import (
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
)

// providers are the backends of this build, by the names that hosts ask for.
var providers = map[string]choice.Provider{
	"cpu":       {Open: openCPU},
	"reference": {Open: openReference},
}

func openCPU(r choice.Request, _ choice.Device) (backend.Backend, error) {
	folders := ggml.DefaultPluginDirs()
	if r.PluginDir != "" {
		folders = []string{r.PluginDir}
	}
	library, err := ggml.Open(folders)
	if err != nil {
		return nil, err
	}
	return ggml.New(library, ggml.Options{Device: "cpu", Threads: r.Threads})
}

func openReference(choice.Request, choice.Device) (backend.Backend, error) {
	return reference.New(), nil
}
