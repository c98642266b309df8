package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"qtsaccel/backends/environment"
	"qtsaccel/core/osfile"
)

// machineState sums up what a verdict depends on besides the plugin, without
// calling a driver: the kernel's drivers, the libraries installed, Vulkan's
// manifests, the cards, and the variables that drivers and ggml look at. root is
// the machine's file system, environment that of the process.
func machineState(root fs.FS, environment []string) string {
	var state []string
	add := func(format string, args ...any) { state = append(state, fmt.Sprintf(format, args...)) }
	text := func(name string) {
		if data, err := fs.ReadFile(root, name); err == nil {
			add("%s: %s", name, strings.TrimSpace(string(data)))
		}
	}
	file := func(name string) {
		if info, err := fs.Stat(root, name); err == nil {
			add("%s: %d bytes, %d", name, info.Size(), info.ModTime().UnixNano())
		}
	}

	text("proc/sys/kernel/osrelease")
	for _, module := range []string{"nvidia", "amdgpu", "i915", "xe", "nouveau"} {
		text("sys/module/" + module + "/version")
		text("sys/module/" + module + "/srcversion")
	}
	// Whatever installs a library has this file written anew.
	file("etc/ld.so.cache")
	vars := relevant(environment)
	for dir := range strings.SplitSeq(vars["LD_LIBRARY_PATH"], ":") {
		if strings.HasPrefix(dir, "/") {
			file(path.Join(dir[1:], "libcuda.so.1"))
			file(path.Join(dir[1:], "libvulkan.so.1"))
		}
	}
	for _, dir := range manifestDirs(vars) {
		for _, kind := range []string{"icd.d", "implicit_layer.d"} {
			for _, name := range glob(root, path.Join(dir, "vulkan", kind, "*.json")) {
				file(name)
			}
		}
	}
	for _, class := range glob(root, "sys/bus/pci/devices/*/class") {
		// 03: display controllers.
		if data, err := fs.ReadFile(root, class); err == nil && strings.HasPrefix(string(data), "0x03") {
			text(path.Join(path.Dir(class), "vendor"))
			text(path.Join(path.Dir(class), "device"))
		}
	}
	for _, pattern := range []string{"dev/dri/*", "dev/nvidia*", "dev/dxg"} {
		for _, name := range glob(root, pattern) {
			add("%s", name)
		}
	}
	for _, v := range environment {
		if strings.HasPrefix(v, limitPrefix) {
			add("%s", v)
		}
	}
	for name, value := range vars {
		add("%s=%s", name, value)
	}
	slices.Sort(state)
	sum := sha256.Sum256([]byte(strings.Join(state, "\n")))
	return hex.EncodeToString(sum[:])
}

// limitPrefix begins what [limits] gives, as no variable does.
const limitPrefix = "=limit "

// relevantPrefixes begin the names of variables that drivers, Vulkan's loader and
// ggml look at; relevantNames are others.
var (
	relevantPrefixes = []string{
		"CUDA_", "NVIDIA_", "__NV", "VK_", "GGML_", "MESA_", "LP_", "GALLIUM_", "DRI_", "LIBGL_", "RADV_", "AMD_", "ANV_", "INTEL_",
	}
	relevantNames = []string{
		"LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME",
	}
)

func relevant(environment []string) map[string]string {
	vars := map[string]string{}
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(relevantNames, name) ||
			slices.ContainsFunc(relevantPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			vars[name] = value
		}
	}
	return vars
}

// manifestDirs are the folders in which Vulkan's loader looks for drivers, without
// the slash in front (LoaderDriverInterface.md of the loader).
func manifestDirs(vars map[string]string) []string {
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	list := strings.Join([]string{
		or(vars["XDG_CONFIG_HOME"], vars["HOME"]+"/.config"), or(vars["XDG_CONFIG_DIRS"], "/etc/xdg"), "/etc",
		or(vars["XDG_DATA_HOME"], vars["HOME"]+"/.local/share"), or(vars["XDG_DATA_DIRS"], "/usr/local/share:/usr/share"),
	}, ":")
	var dirs []string
	for dir := range strings.SplitSeq(list, ":") {
		if strings.HasPrefix(dir, "/") {
			dirs = append(dirs, path.Clean(dir)[1:])
		}
	}
	return dirs
}

// glob gives the names that match; the pattern is right.
func glob(root fs.FS, pattern string) []string {
	names, err := fs.Glob(root, pattern)
	if err != nil {
		return nil
	}
	return names
}

// machine is the state of this machine and of what this process may use of it: what was
// found within some limits says nothing about a process with others.
func machine() string {
	return machineState(osfile.Root{}, append(environment.All(), limits()...))
}
