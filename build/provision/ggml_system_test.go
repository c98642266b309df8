package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installGGML makes a prefix that looks like an installed ggml, with its backend
// in a folder of its own.
func installGGML(t *testing.T, version, backendText string) string {
	t.Helper()
	for _, tool := range []string{"cc", "pkg-config"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool)
		}
	}
	prefix := t.TempDir()
	lib := filepath.Join(prefix, "lib", "some-triplet")
	backends := filepath.Join(lib, "ggml", "backends0")
	include := filepath.Join(prefix, "include")
	for _, d := range []string{filepath.Join(lib, "pkgconfig"), backends, include} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []string{"ggml.h", "ggml-backend.h", "ggml-cpu.h", "gguf.h"} {
		write(filepath.Join(include, h), "")
	}
	write(filepath.Join(lib, "pkgconfig", "ggml.pc"),
		"prefix="+prefix+"\nlibdir="+lib+"\nincludedir="+include+"\nName: ggml\nDescription: x\nVersion: "+version+"\n")
	compile := func(out, text string, args ...string) {
		src := filepath.Join(t.TempDir(), "x.c")
		write(src, text)
		args = append([]string{"-shared", "-fPIC", "-o", out, src}, args...)
		if msg, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, msg)
		}
	}
	compile(filepath.Join(lib, "libggml-base.so.0.99.0"), "int ggml_base;", "-Wl,-soname,libggml-base.so.0")
	for _, link := range []string{"libggml-base.so", "libggml-base.so.0"} {
		if err := os.Symlink("libggml-base.so.0.99.0", filepath.Join(lib, link)); err != nil {
			t.Fatal(err)
		}
	}
	compile(filepath.Join(backends, "libggml-cpu-some.so"), backendText, "-L"+lib, "-lggml-base")
	return prefix
}

func systemProject(t *testing.T, prefix string) *project {
	t.Helper()
	host := hostProject(t)
	if !host.host.renames() {
		t.Skip("libraries are renamed on Linux only")
	}
	env := map[string]string{"GGML_DIR": prefix}
	return &project{root: t.TempDir(), pins: host.pins, host: host.host, env: func(k string) string { return env[k] }}
}

const someBackend = "extern int ggml_base; void *ggml_backend_init(void) { return &ggml_base; }"

func TestSystemGGML(t *testing.T) {
	p := systemProject(t, installGGML(t, "0.99.0", someBackend))
	if err := provisionGGML(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	text := readText(t, p.dist(versionFile))
	for _, part := range []string{"version: 0.99.0\n", "\n  libqtsg-base.so\n", "\n  libqtsg-cpu-some.so\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("VERSION lacks %q:\n%s", part, text)
		}
	}
	st, err := os.Stat(p.dist(ggmlStamp))
	if err != nil {
		t.Fatal(err)
	}
	if err := provisionGGML(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(p.dist(ggmlStamp)); err != nil || !os.SameFile(st, again) {
		t.Errorf("a second run did the work again (%v)", err)
	}
}

func TestSystemGGMLRefusals(t *testing.T) {
	tests := []struct {
		name, version, backend, want string
	}{
		{"too old", "0.20.9", someBackend, "0.20.9; 0.21 or newer"},
		{"not loadable", "0.99.0", "extern int ggml_base; void *f(void) { return &ggml_base; }", "the base and a backend are needed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := systemProject(t, installGGML(t, tt.version, tt.backend))
			if err := provisionGGML(t.Context(), p); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	p := systemProject(t, t.TempDir())
	if err := provisionGGML(t.Context(), p); err == nil || !strings.Contains(err.Error(), "pkgconfig") {
		t.Errorf("an empty prefix gives %v", err)
	}
}

func TestRouteChoice(t *testing.T) {
	for name, tt := range map[string]struct{ ggml, dir, want string }{
		"unknown":       {"other", "", "known are"},
		"contradictory": {"prebuilt", "/opt", "contradict"},
	} {
		p := hostProject(t)
		p.env = func(k string) string { return map[string]string{"GGML": tt.ggml, "GGML_DIR": tt.dir}[k] }
		if _, err := p.chooseRoute(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	p := hostProject(t)
	p.host = platform{"plan9", "386"}
	p.env = func(string) string { return "" }
	if _, err := p.chooseRoute(t.Context()); err == nil || !strings.Contains(err.Error(), "GGML=system") {
		t.Errorf("a platform without prebuilt libraries gives %v", err)
	}
}

func TestAtLeast(t *testing.T) {
	for _, tt := range []struct {
		version string
		want    bool
	}{{"0.21.0", true}, {"0.21", true}, {"0.27.0", true}, {"1.0", true}, {"0.9.7", false}, {"0.20.99", false}, {"0.21.0-rc1", true}, {"", false}} {
		if got := atLeast(tt.version, "0.21"); got != tt.want {
			t.Errorf("%q: %v", tt.version, got)
		}
	}
}

func TestSourceOptions(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string // the options in words, or the error
	}{
		{map[string]string{}, "CPU"},
		{map[string]string{"GGML_CUDA": "1", "CUDA_ARCHS": "80;90"}, "CUDA 80;90"},
		{map[string]string{"GGML_VULKAN": "on"}, "Vulkan"},
		{map[string]string{"CUDA_ARCHS": "90"}, "without GGML_CUDA"},
		{map[string]string{"GGML_CUDA": "perhaps"}, "1 or 0"},
		{map[string]string{"GGML_CUDA": "1", "CUDA_ARCHS": "90 -D X"}, "CUDA_ARCHS"},
	} {
		p := &project{env: func(k string) string { return tt.env[k] }}
		o, err := p.sourceOptions()
		got := o.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %q, want %q", tt.env, got, tt.want)
		}
	}
}
