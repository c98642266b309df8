package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParsePins(t *testing.T) {
	p, err := parsePins("# comment\n\nA_NPM = @scope/name@1.2.3\nA_HASH = sha512-+/ab==\n")
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := p.npm("A")
	if err != nil {
		t.Fatal(err)
	}
	if pkg.spec != "@scope/name@1.2.3" || pkg.hash != "sha512-+/ab==" || pkg.file() != "scope-name-1.2.3.tgz" {
		t.Errorf("got %+v, file %s", pkg, pkg.file())
	}
	if _, err := p.npm("B"); err == nil || !strings.Contains(err.Error(), "B_NPM") {
		t.Errorf("a missing pin gives %v", err)
	}
	for _, text := range []string{"A", "A=1", "A = ", "A = 1 2", "A = $(B)", "A = 1\nA = 2", "A := 1"} {
		if _, err := parsePins(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

// TestPinFile holds that every pin that is used is there, in the right form.
func TestPinFile(t *testing.T) {
	p := hostProject(t)
	for _, prefix := range []string{"GGML_SOURCE", "OTHER_GGML", "ESRGAN", "ONNXRUNTIME"} {
		if _, err := p.pins.npm(prefix); err != nil {
			t.Error(err)
		}
	}
	for key, value := range p.pins {
		prefix, isHash := strings.CutSuffix(key, "_HASH")
		if _, isNPM := p.pins[prefix+"_NPM"]; !isHash || !isNPM {
			continue
		}
		if !strings.HasPrefix(value, "sha512-") || len(value) != len("sha512-")+88 {
			t.Errorf("%s = %s is not an integrity of npm's", key, value)
		}
	}
}

func TestVerifyIntegrity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some.tgz")
	if err := os.WriteFile(path, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	const abc = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
	if err := verifyIntegrity(path, abc); err != nil {
		t.Error(err)
	}
	err := verifyIntegrity(path, "sha512-other")
	if err == nil {
		t.Fatal("another file passed")
	}
	for _, part := range []string{path, "sha512-other", abc} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %s:\n%v", part, err)
		}
	}
}

// TestDownloadOffline has no npm at all, which fails as a lost network does.
func TestDownloadOffline(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := &project{root: t.TempDir()}
	_, err := p.download(t.Context(), npmPackage{"@scope/name@1.0.0", "sha512-x"})
	if err == nil {
		t.Fatal("downloaded without npm")
	}
	for _, part := range []string{"@scope/name@1.0.0", p.dist("download", "scope-name-1.0.0.tgz"), "npm"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %s:\n%v", part, err)
		}
	}
	// A copy that was put there is checked like any other.
	if err := os.WriteFile(p.dist("download", "scope-name-1.0.0.tgz"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.download(t.Context(), npmPackage{"@scope/name@1.0.0", "sha512-x"}); err == nil || !strings.Contains(err.Error(), "is not the file") {
		t.Errorf("a wrong copy gives %v", err)
	}
}

func TestUnpackTar(t *testing.T) {
	archive := func(names ...string) *bytes.Buffer {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, n := range names {
			if err := w.WriteHeader(&tar.Header{Name: n, Typeflag: tar.TypeReg, Size: 1, Mode: 0o600}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	dir := t.TempDir()
	all := func(name string) string { return name }
	if err := unpackTar(archive("a", "b/c"), dir, all); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b", "c")); err != nil {
		t.Error(err)
	}
	if err := unpackTar(archive("../out"), dir, all); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a path out of the folder gives %v", err)
	}
	if err := unpackTar(archive("a"), dir, func(string) string { return "" }); err == nil {
		t.Error("an archive without the files looked for passed")
	}
	whole := archive("a").Bytes()
	if err := unpackTar(bytes.NewReader(whole[:512]), dir, all); err == nil {
		t.Error("a truncated archive passed")
	}
}

func TestStamp(t *testing.T) {
	p := &project{root: t.TempDir()}
	if err := os.MkdirAll(p.dist("result"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := p.dist("result", "a file")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	s := newStamp("stamp", "from", "this")
	if s.current(p) {
		t.Error("current before it was written")
	}
	if err := s.write(p, "result"); err != nil {
		t.Fatal(err)
	}
	if !s.current(p) {
		t.Error("not current after it was written")
	}
	if newStamp("stamp", "from", "that").current(p) || newStamp("stamp", "fromthis").current(p) {
		t.Error("current for something else")
	}
	write("longer")
	if s.current(p) {
		t.Error("current though a file changed")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if s.current(p) {
		t.Error("current though a file is gone")
	}
	if err := s.clear(p); err != nil {
		t.Error(err)
	}
	if err := s.clear(p); err != nil {
		t.Error(err)
	}
}
