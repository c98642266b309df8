// Package library is ggml as a library: it opens the base library and the plugins from a
// folder, fills the table of functions (table.h) by which the C++ of other packages calls
// them, keeps failed assertions and exceptions from ending the process (guard.h), and
// passes ggml's log on. It knows no tensor of a graph, no backend and no run.
package library

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../../dist/ggml/include
#cgo CFLAGS: -O2 -Wall
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra
#include "library.h"
*/
import "C"

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// Library is ggml, loaded into the process from a folder of its libraries. There
// is at most one, and it stays loaded: its threads and drivers cannot be unloaded
// safely.
type Library struct {
	Dir     string // the folder, absolute, links resolved
	Version string // ggml's own, "0.25.1"
	// Searched are the folders that were looked in, as they were given; the last
	// one is this library's.
	Searched []string

	mu      sync.Mutex
	plugins map[string]*Plugin // entered ones, by device kind
}

// Plugin is a shared library with a kind of device in it.
type Plugin struct {
	Path string
	ptr  *C.struct_shim_plugin
}

// Handle is the plugin's struct shim_plugin, for C.
func (p *Plugin) Handle() unsafe.Pointer { return unsafe.Pointer(p.ptr) }

var (
	loadedMu sync.Mutex
	loaded   *Library
)

// Open loads ggml from the first of the folders that has it, or gives the one that
// is loaded already. DEVICE_UNAVAILABLE names every path looked at; VERSION_MISMATCH:
// not a ggml that this package was built for; INVALID_STATE: the process has
// loaded ggml from a folder that is not among these.
func Open(dirs []string) (*Library, error) {
	loadedMu.Lock()
	defer loadedMu.Unlock()
	var looked []string
	for i, dir := range dirs {
		path := filepath.Join(dir, libraryFile("base"))
		target, err := filepath.EvalSymlinks(path)
		if err == nil {
			target, err = filepath.Abs(target)
		}
		if err != nil {
			looked = append(looked, path)
			continue
		}
		if loaded == nil {
			l, err := load(filepath.Dir(target))
			if err != nil {
				return nil, err
			}
			l.Searched = slices.Clone(dirs[:i+1])
			loaded = l
		}
		if filepath.Dir(target) != loaded.Dir {
			return nil, status.Errorf(status.InvalidState, "ggml is already loaded from %s, so it cannot be loaded from %s",
				loaded.Dir, dir)
		}
		return loaded, nil
	}
	return nil, NotThere(looked)
}

// NotThere is the error for a base library that is at none of the paths.
func NotThere(paths []string) error {
	const help = "name the folder that has it by the option plugin_dir or by QTSACCEL_PLUGIN_DIR"
	if len(paths) == 0 {
		return status.Errorf(status.DeviceUnavailable, "ggml cannot be loaded: no folder to look in is known; %s", help)
	}
	return status.Errorf(status.DeviceUnavailable, "ggml cannot be loaded: there is no %s; %s", strings.Join(paths, ", no "), help)
}

func load(dir string) (*Library, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.shim_terminate_keep()
	defer C.shim_terminate_restore()

	path := filepath.Join(dir, libraryFile("base"))
	if err := checkPluginFile(path); err != nil {
		return nil, err
	}
	base, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, status.Errorf(status.DeviceUnavailable, "ggml cannot be loaded: %w", err)
	}
	if err := resolve(base, path, C.SHIM_IN_BASE); err != nil {
		return nil, err
	}
	if C.shim_library_init() != 0 {
		return nil, LastFailure(path)
	}
	cpu, err := bestCPU(dir)
	if err != nil {
		return nil, err
	}
	l := &Library{
		Dir: dir, Version: C.GoString(C.shim_library_version()),
		plugins: map[string]*Plugin{"cpu": cpu},
	}
	return l, nil
}

// resolve fills the part of the shim's table that a library holds.
func resolve(handle uintptr, path string, where C.int32_t) error {
	for i := range C.shim_symbol_count() {
		in, optional := C.shim_symbol_where(i), false
		if in == C.SHIM_IN_BASE_OR_ABSENT {
			in, optional = C.SHIM_IN_BASE, true
		}
		if in != where {
			continue
		}
		name := symbolName(C.GoString(C.shim_symbol_name(i)))
		address, err := purego.Dlsym(handle, name)
		if err != nil && !optional {
			return status.Errorf(status.VersionMismatch, "%s has no function %s: it is not the ggml that this library was built for",
				path, name)
		}
		C.shim_symbol_set(i, C.uintptr_t(address))
	}
	return nil
}

// cpuVariants are the builds of the CPU plugin for x86-64, the one that asks most
// of the processor first. A variant's score counts the features that it uses, so
// the first that the processor has is the best.
var cpuVariants = []string{
	"sapphirerapids", "zen4", "cooperlake", "icelake", "cascadelake", "cannonlake", "skylakex",
	"alderlake", "haswell", "piledriver", "ivybridge", "sandybridge", "sse42", "x64",
}

// bestCPU enters the CPU plugin with the highest score of those in the folder.
func bestCPU(dir string) (*Plugin, error) {
	paths, err := cpuPlugins(dir)
	if err != nil {
		return nil, err
	}
	rank := func(path string) int {
		return slices.IndexFunc(cpuVariants, func(v string) bool { return filepath.Base(path) == libraryFile("cpu-"+v) })
	}
	// Unknown names rank as -1 and are all asked.
	slices.SortFunc(paths, func(a, b string) int { return rank(a) - rank(b) })

	var best uintptr
	var bestPath string
	var bestScore C.int32_t
	var reasons []string
	for _, path := range paths {
		err := checkPluginFile(path)
		if status.Of(err) == status.IO {
			return nil, err // which says nothing of the plugin
		}
		var handle uintptr
		if err == nil {
			handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		}
		if err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		// A build for one machine only has no score; it is as good as the least.
		score := C.int32_t(1)
		if address, err := purego.Dlsym(handle, symbolName("ggml_backend_score")); err == nil {
			score = C.shim_plugin_score(C.uintptr_t(address))
		}
		if score <= bestScore {
			reasons = append(reasons, path+": not for this processor")
			_ = purego.Dlclose(handle) // it was only asked
			continue
		}
		if best != 0 {
			_ = purego.Dlclose(best)
		}
		best, bestPath, bestScore = handle, path, score
		if rank(path) >= 0 {
			break
		}
	}
	if best == 0 {
		return nil, status.Errorf(status.DeviceUnavailable, "no CPU plugin can be used: %s", strings.Join(reasons, "; "))
	}
	if err := resolve(best, bestPath, C.SHIM_IN_CPU); err != nil {
		return nil, err
	}
	return enter(best, bestPath)
}

// cpuPlugins lists the folder's builds of the CPU plugin.
func cpuPlugins(dir string) ([]string, error) {
	prefix, suffix, _ := strings.Cut(libraryFile("cpu*"), "*")
	names, err := osfile.Names(dir)
	if err != nil {
		return nil, pluginError(filepath.Join(dir, prefix+"*"+suffix), err)
	}
	var paths []string
	for _, n := range names {
		if strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) {
			paths = append(paths, filepath.Join(dir, n))
		}
	}
	if len(paths) == 0 {
		return nil, status.Errorf(status.DeviceUnavailable, "there is no CPU plugin %s", filepath.Join(dir, prefix+"*"+suffix))
	}
	return paths, nil
}

// enter calls a plugin's ggml_backend_init.
func enter(handle uintptr, path string) (*Plugin, error) {
	init, err := purego.Dlsym(handle, symbolName("ggml_backend_init"))
	if err != nil {
		return nil, status.Errorf(status.VersionMismatch, "%s is no ggml plugin: %w", path, err)
	}
	p := &Plugin{Path: path}
	if C.shim_plugin_enter(C.uintptr_t(init), &p.ptr) != 0 {
		return nil, LastFailure(path)
	}
	return p, nil
}

// Plugin gives the plugin for a kind of device, entered.
func (l *Library) Plugin(kind string) (*Plugin, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.plugins[kind]; p != nil {
		return p, nil
	}
	path := filepath.Join(l.Dir, libraryFile(kind))
	if _, err := os.Stat(path); err != nil {
		return nil, status.Errorf(status.DeviceUnavailable, "there is no plugin %s", path)
	}
	if err := checkPluginFile(path); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.shim_terminate_keep()
	defer C.shim_terminate_restore()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, status.Errorf(status.DeviceUnavailable, "plugin %s cannot be loaded: %w", path, err)
	}
	p, err := enter(handle, path)
	if err != nil {
		return nil, err
	}
	if got, want := C.shim_plugin_api(p.ptr), C.shim_plugin_api(l.plugins["cpu"].ptr); got != want {
		return nil, status.Errorf(status.VersionMismatch, "plugin %s is made for version %d of ggml's plugin interface, %s for %d",
			path, got, l.plugins["cpu"].Path, want)
	}
	l.plugins[kind] = p
	return p, nil
}

// LastFailure is the failure of the call of C before, on the same thread: callers have
// locked themselves to it.
func LastFailure(what string) error {
	return status.Errorf(status.Code(C.shim_failure_code()), "%s: %s", what, C.GoString(C.shim_failure_text()))
}

// libraryFile is the file name of one of ggml's libraries. On Linux the copies
// carry names and symbols of their own, so that another ggml in the process is
// another library (see build/provision).
func libraryFile(part string) string {
	if runtime.GOOS == "darwin" {
		if part == "base" {
			return "libggml-base.dylib"
		}
		return "libggml-" + part + ".so"
	}
	return "libqtsg-" + part + ".so"
}

func symbolName(name string) string {
	if runtime.GOOS == "darwin" {
		return name
	}
	return "qtsg" + strings.ReplaceAll(strings.TrimPrefix(name, "ggml"), "quantize", "qts_tize")
}
