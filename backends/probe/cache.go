package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"qtsaccel/core/cache"
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// The cache is a folder with one file for each API and plugin. Whatever is wrong
// with it, it is as if it were empty: a probe costs time, no more.

// cacheForm is the number of the form that cache files have.
const cacheForm = 2

// How long a verdict against a device stands: a driver may be mended in minutes, a
// shortage over in seconds, which is as long as many backends made at once share what
// was found.
const (
	longDoubt  = 10 * time.Minute
	shortDoubt = 5 * time.Second
)

func (v *Verdict) doubt() time.Duration {
	if v.Passing {
		return shortDoubt
	}
	return longDoubt
}

// record is the content of a cache file.
type record struct {
	Form    int           `json:"form"`
	Machine string        `json:"machine"`
	Files   []fileVersion `json:"files"`
	Verdict *Verdict      `json:"verdict"`
}

// fileVersion tells one version of a file from another.
type fileVersion struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256,omitempty"`
}

func versionOf(path string) (fileVersion, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{Path: path, Size: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// same says whether the file is the one that was recorded. Its content is only read
// where its time has changed.
func (f fileVersion) same(recorded fileVersion) bool {
	if f.Path != recorded.Path || f.Size != recorded.Size {
		return false
	}
	if f.Modified.Equal(recorded.Modified) {
		return true
	}
	sum, err := sumOf(f.Path)
	return err == nil && sum == recorded.SHA256
}

func sumOf(path string) (string, error) {
	f, err := osfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, math.MaxInt64)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CacheDir is the folder of the cache, "" where there is none to be had.
func CacheDir(getenv func(string) string) string {
	return cache.Dir(getenv, "probe")
}

// ClearCache forgets every verdict that was kept. A cache that is not there is clear.
func ClearCache(getenv func(string) string) error {
	dir := CacheDir(getenv)
	if dir == "" {
		return nil
	}
	names, err := osfile.Names(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status.Errorf(status.IO, "cache: %w", err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return status.Errorf(status.IO, "cache: %w", err)
		}
	}
	return nil
}

// subject is what a verdict is about.
type subject struct {
	api      string
	software bool // software devices are computed on, too
	machine  string
	files    []fileVersion // the plugin and ggml's base; none: the driver only
}

// cacheFile is the name of the subject's file in the cache.
func (s *subject) cacheFile() string {
	text := []string{s.api, strconv.FormatBool(s.software)}
	for _, f := range s.files {
		text = append(text, f.Path)
	}
	sum := sha256.Sum256([]byte(strings.Join(text, "\x00")))
	return s.api + "-" + hex.EncodeToString(sum[:8]) + ".json"
}

// load finds the verdict about a subject; nil if there is none, or no longer.
func load(dir string, s *subject) *Verdict {
	var r record
	data := cache.Load(dir, s.cacheFile())
	if json.Unmarshal(data, &r) != nil || r.Verdict == nil || r.Verdict.API != s.api || r.Verdict.Software != s.software ||
		r.Form != cacheForm || r.Machine != s.machine || len(r.Files) != len(s.files) {
		return nil
	}
	for i, f := range s.files {
		if !f.same(r.Files[i]) {
			return nil
		}
	}
	if !r.Verdict.stands(time.Now()) {
		return nil
	}
	r.Verdict.Remembered = true
	return r.Verdict
}

// stands says whether a verdict is still to be relied on.
func (v *Verdict) stands(now time.Time) bool {
	age := now.Sub(v.At)
	return age >= 0 && (age < v.doubt() || v.allProven())
}

// store keeps a verdict.
func store(dir string, s *subject, v *Verdict) {
	if v.Passing { // of no use to other processes
		return
	}
	r := record{Form: cacheForm, Machine: s.machine, Verdict: v}
	for _, f := range s.files {
		var err error
		if f.SHA256, err = sumOf(f.Path); err != nil {
			return
		}
		r.Files = append(r.Files, f)
	}
	if data, err := json.MarshalIndent(&r, "", "  "); err == nil {
		cache.Store(dir, s.cacheFile(), append(data, '\n'))
	}
}
