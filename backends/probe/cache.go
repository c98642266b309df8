package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"qtsaccel/core/status"
)

// The cache is a folder with one file for each API and plugin. Whatever is wrong
// with it, it is as if it were empty: a probe costs time, no more.

// cacheForm is the number of the form that cache files have.
const cacheForm = 1

// doubt is how long a verdict against a device stands: what was in its way, such as
// full memory, may have passed.
const doubt = 10 * time.Minute

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
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CacheDir is the folder of the cache, "" where there is none to be had.
func CacheDir(getenv func(string) string) string {
	dir := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "qtsaccel", "probe")
}

// ClearCache forgets every verdict that was kept. A cache that is not there is clear.
func ClearCache(getenv func(string) string) error {
	dir := CacheDir(getenv)
	if dir == "" {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return status.Errorf(status.IO, "cache %s: %w", dir, err)
	}
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// cacheFile is the subject's file in the cache.
func (s *subject) cacheFile(dir string) string {
	text := []string{s.api, strconv.FormatBool(s.software)}
	for _, f := range s.files {
		text = append(text, f.Path)
	}
	sum := sha256.Sum256([]byte(strings.Join(text, "\x00")))
	return filepath.Join(dir, s.api+"-"+hex.EncodeToString(sum[:8])+".json")
}

// load finds the verdict about a subject; nil if there is none, or no longer.
func load(dir string, s *subject) *Verdict {
	if dir == "" {
		return nil
	}
	data, err := os.ReadFile(s.cacheFile(dir))
	if err != nil {
		return nil
	}
	var r record
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
	return age >= 0 && (age < doubt || v.allProven())
}

// store keeps a verdict. Readers see the old file or the whole new one.
func store(dir string, s *subject, v *Verdict) {
	if dir == "" {
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
	data, err := json.MarshalIndent(&r, "", "  ")
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return
	}
	_, err = file.Write(append(data, '\n'))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), s.cacheFile(dir))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}
