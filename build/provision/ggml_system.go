package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qtsaccel/build/provision/elfrename"
)

// installedGGML is a ggml that pkg-config found.
type installedGGML struct {
	version, prefix, libDir, includeDir string
}

// systemRoute takes an installed ggml: the one under a prefix, or where prefix is
// empty, the system's.
func (p *project) systemRoute(ctx context.Context, prefix string) (ggmlRoute, error) {
	g, err := p.findInstalled(ctx, prefix)
	if err != nil {
		return ggmlRoute{}, err
	}
	lowest, err := p.pins.get("GGML_SYSTEM_MIN")
	if err != nil {
		return ggmlRoute{}, err
	}
	if !atLeast(g.version, lowest) {
		return ggmlRoute{}, fmt.Errorf("the ggml installed in %s is %s; %s or newer is needed", g.prefix, g.version, lowest)
	}
	headers, err := g.headers()
	if err != nil {
		return ggmlRoute{}, err
	}
	libs, err := g.libraries(p.host, p.env("GGML_BACKEND_DIR"))
	if err != nil {
		return ggmlRoute{}, err
	}
	from, err := fingerprints(append(slices.Clone(headers), libs...))
	if err != nil {
		return ggmlRoute{}, err
	}
	return ggmlRoute{
		name:    "installed in " + g.prefix,
		version: g.version,
		from:    from,
		fill: func(_ context.Context, s *stage) error {
			for _, h := range headers {
				if err := copyFile(s.path(includeDir, filepath.Base(h)), h); err != nil {
					return err
				}
			}
			if err := g.copyLicence(s.path(licenceFile)); err != nil {
				return err
			}
			return s.installSystemLibraries(libs)
		},
	}, nil
}

// findInstalled asks pkg-config.
func (p *project) findInstalled(ctx context.Context, prefix string) (installedGGML, error) {
	var g installedGGML
	if _, err := exec.LookPath("pkg-config"); err != nil {
		return g, errors.New("pkg-config is not installed; it is how an installed ggml is found")
	}
	env := os.Environ()
	where := "on this system"
	if prefix != "" {
		// Only that prefix, however its libraries' folder is called.
		var dirs []string
		for _, pattern := range []string{"lib/pkgconfig", "lib64/pkgconfig", "lib/*/pkgconfig", "share/pkgconfig"} {
			found, err := filepath.Glob(filepath.Join(prefix, pattern))
			if err != nil {
				return g, fmt.Errorf("GGML_DIR=%s: %w", prefix, err)
			}
			dirs = append(dirs, found...)
		}
		if len(dirs) == 0 {
			return g, fmt.Errorf("GGML_DIR=%s has no lib/pkgconfig", prefix)
		}
		env = append(env, "PKG_CONFIG_LIBDIR="+strings.Join(dirs, ":"), "PKG_CONFIG_PATH=")
		where = "in " + prefix
	}
	for _, q := range []struct {
		arg string
		out *string
	}{
		{"--modversion", &g.version},
		{"--variable=prefix", &g.prefix},
		{"--variable=libdir", &g.libDir},
		{"--variable=includedir", &g.includeDir},
	} {
		cmd := exec.CommandContext(ctx, "pkg-config", q.arg, "ggml")
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			return g, fmt.Errorf("pkg-config finds no ggml %s: install its development files (Debian: libggml-dev, Homebrew: ggml)", where)
		}
		if *q.out = strings.TrimSpace(string(out)); *q.out == "" {
			return g, fmt.Errorf("pkg-config %s ggml says nothing", q.arg)
		}
	}
	return g, nil
}

// headers returns ggml's header files.
func (g installedGGML) headers() ([]string, error) {
	var headers []string
	for _, pattern := range []string{"ggml*.h", "gguf.h"} {
		found, err := filepath.Glob(filepath.Join(g.includeDir, pattern))
		if err != nil {
			return nil, err
		}
		headers = append(headers, found...)
	}
	for _, needed := range []string{"ggml.h", "ggml-backend.h", "ggml-cpu.h", "gguf.h"} {
		if !slices.Contains(headers, filepath.Join(g.includeDir, needed)) {
			return nil, fmt.Errorf("the ggml installed in %s has no %s in %s", g.prefix, needed, g.includeDir)
		}
	}
	return headers, nil
}

// libraries returns the base and the backends, each under one of its names.
// Where backends lie is up to who packaged them: beside the base, in a folder of
// their own below it (Debian), in libexec (Homebrew), or beside the programs
// (upstream's default).
func (g installedGGML) libraries(host platform, backendDir string) ([]string, error) {
	dirs := []string{g.libDir}
	if backendDir != "" {
		dirs = append(dirs, backendDir)
	} else {
		for _, pattern := range []string{
			filepath.Join(g.libDir, "ggml"),
			filepath.Join(g.libDir, "ggml", "backends*"),
			filepath.Join(g.prefix, "libexec"),
			filepath.Join(g.prefix, "libexec", "ggml"),
			filepath.Join(g.prefix, "bin"),
		} {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, found...)
		}
	}

	var libs []string
	seen := make(map[string]bool)
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "libggml-*"))
		if err != nil {
			return nil, err
		}
		slices.Sort(found) // the unversioned name first
		for _, lib := range found {
			name := unversioned(filepath.Base(lib))
			if seen[name] || !slices.Contains(host.librarySuffixes(), filepath.Ext(name)) {
				continue
			}
			seen[name] = true
			libs = append(libs, lib)
		}
	}
	if len(libs) == 0 {
		return nil, fmt.Errorf("the ggml installed in %s has no libraries in %s", g.prefix, strings.Join(dirs, ", "))
	}
	return libs, nil
}

var versionInName = regexp.MustCompile(`^(lib[^.]*(?:\.[0-9]_[0-9])?)(?:\.[0-9]+)*\.(dylib|so)(?:\.[0-9]+)*$`)

// unversioned returns the name of a library without its version:
// libggml-base.so.0 and libggml-base.0.dylib both lose the 0.
func unversioned(name string) string {
	if m := versionInName.FindStringSubmatch(name); m != nil {
		return m[1] + "." + m[2]
	}
	return name
}

// installSystemLibraries puts an installed ggml's libraries into a stage. Only
// backends that can be loaded one by one are of use.
func (s *stage) installSystemLibraries(libs []string) error {
	var passed []string
	for _, lib := range libs {
		if !s.p.host.renames() {
			// Left where they are, since they find each other by their paths.
			if err := os.Symlink(lib, s.path(libraryDir, unversioned(filepath.Base(lib)))); err != nil {
				return err
			}
			continue
		}
		if !strings.HasPrefix(filepath.Base(lib), "libggml-base.") {
			loadable, err := isBackend(lib)
			if err != nil {
				return err
			}
			if !loadable {
				passed = append(passed, lib)
				continue
			}
		}
		if err := s.installLibrary(lib); err != nil {
			return err
		}
	}
	if len(passed) > 0 {
		s.p.say("left out, since built without GGML_BACKEND_DL: %s", strings.Join(passed, ", "))
	}
	return nil
}

// isBackend says whether a library can be entered as a backend.
func isBackend(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	names, err := elfrename.Read(data)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	return slices.Contains(names.Defined, "ggml_backend_init"), nil
}

// copyLicence copies the licence that came with an installed ggml.
func (g installedGGML) copyLicence(to string) error {
	for _, pattern := range []string{"share/doc/libggml*/copyright", "share/licenses/*ggml*/LICENSE*", "LICENSE*"} {
		found, err := filepath.Glob(filepath.Join(g.prefix, pattern))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return copyFile(to, found[0])
		}
	}
	text := fmt.Sprintf("ggml is under the MIT licence, copyright the ggml authors.\nIts text was not found beside the ggml installed in %s.\n", g.prefix)
	return os.WriteFile(to, []byte(text), 0o644)
}

// fingerprints tells files apart from changed ones, without reading them.
func fingerprints(paths []string) ([]string, error) {
	prints := make([]string, 0, len(paths))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		prints = append(prints, fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano()))
	}
	return prints, nil
}

// copyFile copies a file's contents.
func copyFile(to, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeFrom(to, f, 0o644)
}

// atLeast compares dotted versions; what follows a part's digits is ignored.
func atLeast(version, lowest string) bool {
	a, b := versionParts(version), versionParts(lowest)
	return slices.Compare(a, b) >= 0
}

func versionParts(v string) []int {
	var parts []int
	for part := range strings.SplitSeq(v, ".") {
		digits := strings.IndexFunc(part+"x", func(r rune) bool { return r < '0' || r > '9' })
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		parts = append(parts, n)
	}
	return parts
}
