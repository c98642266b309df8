package main

import (
	"runtime"
	"strings"
)

// platform is what libraries are made for, in Go's words.
type platform struct{ os, arch string }

func hostPlatform() platform { return platform{runtime.GOOS, runtime.GOARCH} }

func (p platform) String() string { return p.os + "/" + p.arch }

// pinPrefix is the start of the pins of this platform's prebuilt ggml.
func (p platform) pinPrefix() string {
	return p.systemPrefix() + "_" + strings.ToUpper(p.arch)
}

// systemPrefix is the start of pins that hold for the whole operating system.
func (p platform) systemPrefix() string { return "GGML_" + strings.ToUpper(p.os) }

// librarySuffixes are the endings of ggml's libraries. On macOS its build makes
// the base a .dylib and leaves the plugins .so.
func (p platform) librarySuffixes() []string {
	if p.os == "darwin" {
		return []string{".dylib", ".so"}
	}
	return []string{".so"}
}

// renames says whether our copies of ggml need their own symbol names. ELF binds
// symbols by name across the process; macOS records for each the library too.
func (p platform) renames() bool { return p.os == "linux" }
