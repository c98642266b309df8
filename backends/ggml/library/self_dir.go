package library

// #include "library.h"
import "C"

import "path/filepath"

// pluginFolder is the folder of ggml's libraries beside our own.
const pluginFolder = "qtsaccel"

// SelfDirs gives the folder of the shared library (or program) that this code is
// in: where the loader found it and, if that is another, where links lead to.
func SelfDirs() []string {
	var dirs []string
	for _, d := range []string{C.GoString(C.shim_self_dir()), C.GoString(C.shim_self_real_dir())} {
		if d != "" && (len(dirs) == 0 || dirs[0] != d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// DefaultPluginDirs gives the folders in which ggml's libraries are looked for
// unless the host says otherwise: the folder "qtsaccel" beside our own library.
func DefaultPluginDirs() []string {
	dirs := SelfDirs()
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], pluginFolder)
	}
	return dirs
}
