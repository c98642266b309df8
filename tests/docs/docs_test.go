// Package docs tests what the documentation says: every block of code in it is compiled
// or run, every link leads somewhere, every message quoted is one that the library gives.
//
// The blocks of a page are taken in order, in a folder of the page's own. What a block
// is follows from its language, and from notes before it, which readers do not see:
//
//	<!-- file: NAME -->   It is written to this file, which later commands may use.
//	<!-- runs -->         Commands that are run. Of a console, what they print is compared.
//	<!-- prints -->       What the block before prints: text as it is, JSON by its keys.
//	<!-- given: CODE -->  A fragment of a function, in front of which CODE stands.
//	<!-- at file scope --> A fragment of a file.
//
// In expected output "…" stands for anything in a line, and a line "…" for any lines.
//
//	c, cpp         A whole program (with main) is compiled and run, a fragment compiled.
//	python         Run, all of a page in one interpreter, with dist/venv.
//	swift          Compiled, and run if whole, by `make test-swift` (see extract/).
//	sh, console    Parsed, and held to targets, commands and files that there are.
//	cmake          Configured, by `make test-install`.
//	go, diff       Laid over the tree (file: or the diff's own), for the commands behind.
//	json, text     Parsed; nothing.
//
// A block in any other language fails.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// pages reads all of the documentation.
func pages(t *testing.T) []*markdown.Page {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"README.md", "docs/*.md", "bindings/*/README.md", "examples/README.md"} {
		found, err := filepath.Glob(filepath.Join(root(t), pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, f := range found {
			path, err := filepath.Rel(root(t), f)
			require.NoError(t, err)
			paths = append(paths, path)
		}
	}
	all, err := markdown.Read(root(t), paths...)
	require.NoError(t, err)
	return all
}

func TestBlocks(t *testing.T) {
	build(t)
	for _, p := range pages(t) {
		if len(p.Blocks) == 0 {
			continue
		}
		t.Run(p.Path, func(t *testing.T) {
			s := &scene{t: t, dir: t.TempDir(), over: overlay{dir: t.TempDir()}}
			t.Cleanup(s.end)
			for i := range p.Blocks {
				s.play(&p.Blocks[i])
			}
		})
	}
}

// scene is a page as its blocks are gone through.
type scene struct {
	t       *testing.T
	dir     string
	printed *string // by the block before; nil where none was run
	swift   bool    // the block before is one that `make test-swift` runs
	python  *python // once there was a block of it
	over    overlay
}

func (s *scene) play(b *markdown.Block) {
	expected := b.Has("prints")
	if !expected {
		s.printed, s.swift = nil, b.Lang == "swift"
	}
	if !known(b) {
		s.t.Errorf("%s: no test knows the language %q", b.Where(), b.Lang)
		return
	}
	s.t.Run(b.Where(), func(t *testing.T) {
		switch file := b.Notes["file"]; {
		case expected && s.swift:
			t.Skip("make test-swift compares it")
		case expected:
			require.NotNil(t, s.printed, "no block before it was run")
			requirePrinted(t, b, *s.printed)
		case b.Lang == "go" || b.Lang == "diff":
			s.over.add(t, b)
		case file != "":
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, file), []byte(b.Text), 0o600))
		case b.Lang == "c" || b.Lang == "cpp":
			s.printed = native(t, s.dir, b)
		case b.Lang == "python":
			s.printed = s.interpret(t, b)
		case b.Lang == "sh" || b.Lang == "console":
			s.shell(t, b)
		case b.Lang == "json":
			requireJSON(t, b)
		}
	})
}

// known says whether a block's language is one that the tests know.
func known(b *markdown.Block) bool {
	return slices.Contains([]string{"c", "cpp", "python", "swift", "cmake", "json", "text", "sh", "console", "go", "diff"}, b.Lang)
}

func TestOtherLanguagesAreRefused(t *testing.T) {
	require.True(t, known(&markdown.Block{Lang: "c"}))
	for _, lang := range []string{"", "rust", "bash", "C"} {
		require.False(t, known(&markdown.Block{Lang: lang}), lang)
	}
}

func (s *scene) end() {
	if s.python != nil {
		s.python.end(s.t)
	}
	s.over.end(s.t)
}

var built = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("make", "-s", "-C", "../..", "lib", "bin").CombinedOutput()
})

// build makes the library and the tool.
func build(t *testing.T) {
	t.Helper()
	out, err := built()
	require.NoError(t, err, "make lib bin: %s", out)
	// Seen by the test cache, which knows nothing of what programs load.
	for _, file := range []string{"lib/libqtsaccel.so", "bin/qtsaccel"} {
		_, err := os.Stat(filepath.Join(root(t), "dist", file))
		require.NoError(t, err)
	}
}

// environment is that of what is run: none of the tester's own settings, the tool and
// Python's packages at hand, and a CPU as the backend.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") && !strings.HasPrefix(v, "MAKE") {
			env = append(env, v)
		}
	}
	dist := filepath.Join(root(t), "dist")
	return append(append(env,
		"PATH="+strings.Join([]string{filepath.Join(dist, "venv", "bin"), filepath.Join(dist, "bin"), os.Getenv("PATH")}, ":"),
		"QTSACCEL="+root(t), "QTSACCEL_BACKEND=cpu", "QTSACCEL_LIBRARY="+filepath.Join(dist, "lib", "libqtsaccel.so.0"),
		"PYTHONPATH="+filepath.Join(root(t), "bindings", "python"), "PYTHONDONTWRITEBYTECODE=1"), more...)
}

// output runs a command that must succeed and gives what it prints.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q\n%s", name, args, out)
	return string(out)
}
