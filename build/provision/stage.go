package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qtsaccel/build/provision/elfrename"
)

// Where ggml is put, from dist/.
const (
	includeDir  = "ggml/include"
	versionFile = "ggml/VERSION"
	libraryDir  = "lib/qtsaccel"
	licenceFile = "licenses/ggml.txt"
)

// stage is a folder beside the results in which they are made, so that each is
// put in place by one rename.
type stage struct {
	dir   string
	p     *project
	names map[string]elfrename.Names // of the libraries that were renamed
}

func (p *project) newStage() (*stage, error) {
	if err := os.MkdirAll(p.dist(), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.dist(), stageTemp)
	if err != nil {
		return nil, err
	}
	s := &stage{dir, p, make(map[string]elfrename.Names)}
	for _, d := range []string{includeDir, libraryDir, filepath.Dir(licenceFile)} {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	return s, nil
}

// path returns a path in the stage.
func (s *stage) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

func (s *stage) remove() error { return os.RemoveAll(s.dir) }

// install puts results, files or folders named from dist/, in place of older ones.
func (s *stage) install(results ...string) error {
	for _, r := range results {
		to := s.p.dist(r)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		// A folder cannot be renamed over another that is not empty.
		old := s.path(".old", r)
		if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
			return err
		}
		if err := os.Rename(to, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(s.path(r), to); err != nil {
			return err
		}
	}
	return nil
}

// stamp remembers what a result was made from, and which files it has.
type stamp struct {
	path string // from dist/
	key  string
}

// newStamp returns the stamp at a path whose key is made of everything that the
// result depends on.
func newStamp(path string, from ...string) stamp {
	h := sha256.Sum256([]byte(strings.Join(from, "\x00")))
	return stamp{path, hex.EncodeToString(h[:])}
}

// current says whether the result is there, made from the same things, with
// every file it was made with.
func (s stamp) current(p *project) bool {
	text, err := os.ReadFile(p.dist(s.path))
	if err != nil {
		return false
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if lines[0] != s.key {
		return false
	}
	for _, line := range lines[1:] {
		size, name, _ := strings.Cut(line, " ")
		info, err := os.Stat(p.dist(name))
		if err != nil || fmt.Sprint(info.Size()) != size {
			return false
		}
	}
	return true
}

// clear makes the result count as not there, before it is touched.
func (s stamp) clear(p *project) error {
	err := os.Remove(p.dist(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write records the result: files and folders, named from dist/.
func (s stamp) write(p *project, results ...string) error {
	lines := []string{s.key}
	for _, r := range results {
		err := filepath.WalkDir(p.dist(r), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(p.dist(), path)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%d %s", info.Size(), filepath.ToSlash(name)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(lines[1:])
	return writeAtomic(p.dist(s.path), []byte(strings.Join(lines, "\n")+"\n"))
}

// writeAtomic writes a file so that it is there whole or not at all.
func writeAtomic(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
