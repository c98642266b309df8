package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"qtsaccel/backends/environment"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
)

// places are the options that say where plugins are and how far they are trusted.
type places struct{ request choice.Request }

func (p *places) register(f *pflag.FlagSet) {
	f.StringVar(&p.request.PluginDir, "plugin-dir", "",
		"the `FOLDER` with ggml's libraries (default $QTSACCEL_PLUGIN_DIR, beside the tool, or ../lib/qtsaccel)")
}

// open gives the backends and the request, with the folder in which an installation
// has the plugins.
func (p *places) open() (*providers.Set, choice.Request) {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	r := p.request
	if r.PluginDir == "" && environment.Get("QTSACCEL_PLUGIN_DIR") == "" && self != "" {
		r.PluginDir = beside(self)
	}
	return providers.New(environment.Get, self), r
}

// beside is the first folder near the tool that has ggml, the last if none has.
func beside(self string) string {
	if target, err := filepath.EvalSymlinks(self); err == nil {
		self = target
	}
	bin := filepath.Dir(self)
	if _, err := os.Stat(filepath.Join(bin, library.PluginFile("base"))); err == nil {
		return bin
	}
	return filepath.Join(bin, "..", "lib", "qtsaccel")
}
