// Package cache keeps small results between processes, in files of the user's cache
// folder. Whatever is wrong with a file, it is as if it were not there: what is kept
// costs time to find out anew, no more.
package cache

import (
	"io"
	"os"
	"path/filepath"
	"runtime"

	"qtsaccel/core/osfile"
)

// maxBytes bounds a file: what is kept is some thousand bytes.
const maxBytes = 1 << 20

// Dir gives the folder for one kind of results, "" where there is none to be had.
// getenv reads a variable of the environment, "" if unset: a process that must not
// trust its environment has no cache.
func Dir(getenv func(string) string, kind string) string {
	dir := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		if dir = getenv("HOME"); !filepath.IsAbs(dir) {
			return ""
		}
		if runtime.GOOS == "darwin" {
			dir = filepath.Join(dir, "Library", "Caches")
		} else {
			dir = filepath.Join(dir, ".cache")
		}
	}
	return filepath.Join(dir, "qtsaccel", kind)
}

// Load reads what is kept under a name in a folder of [Dir]'s; nil where there is
// nothing, or something else than a small file.
func Load(dir, name string) []byte {
	if dir == "" {
		return nil
	}
	data, err := osfile.Read(filepath.Join(dir, name), maxBytes)
	if err != nil {
		return nil
	}
	return data
}

// Store keeps data under a name, if it can; nobody depends on it.
func Store(dir, name string, data []byte) {
	if dir == "" || len(data) > maxBytes || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = osfile.Replace(filepath.Join(dir, name), 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
