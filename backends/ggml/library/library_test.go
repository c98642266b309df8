package library

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library/librarytest"
	"qtsaccel/core/status"
	"qtsaccel/core/status/statustest"
)

func openLibrary(t testing.TB) *Library {
	l, err := Open([]string{librarytest.Dir(t)})
	require.NoError(t, err)
	return l
}

func TestOpenNamesEveryPlace(t *testing.T) {
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	_, err := Open([]string{one, two})
	statustest.Require(t, status.DeviceUnavailable, err, filepath.Join(one, libraryFile("base")), filepath.Join(two, libraryFile("base")))
	_, err = Open(nil)
	statustest.Require(t, status.DeviceUnavailable, err, "no folder")
}

func TestOpenIsOnce(t *testing.T) {
	l := openLibrary(t)
	require.Regexp(t, `^\d+\.\d+`, l.Version)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(l.Dir, link))
	again, err := Open([]string{"/nowhere", link})
	require.NoError(t, err)
	require.Same(t, l, again)

	other := t.TempDir()
	copyFile(t, filepath.Join(l.Dir, libraryFile("base")), filepath.Join(other, libraryFile("base")))
	_, err = Open([]string{other})
	statustest.Require(t, status.InvalidState, err, l.Dir, other)
}

func copyFile(t *testing.T, from, to string) {
	in, err := os.Open(from)
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// TestOpenForeign loads what is no ggml, each in a process of its own, since one
// has room for one library only.
func TestOpenForeign(t *testing.T) {
	const folder = "QTSACCEL_TEST_FOREIGN"
	if dir := os.Getenv(folder); dir != "" {
		_, err := Open([]string{dir})
		require.Error(t, err)
		_, _ = os.Stdout.WriteString(status.Of(err).String() + ": " + err.Error() + "\n")
		return
	}
	open := func(dir string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOpenForeign$")
		cmd.Env = append(os.Environ(), folder+"="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	ggml := librarytest.Dir(t)

	garbage := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(garbage, libraryFile("base")), []byte("not a library"), 0o644))
	said := open(garbage)
	require.Contains(t, said, "DEVICE_UNAVAILABLE: plugin ")
	require.Contains(t, said, "cannot be loaded: it is no ELF file")

	// A plugin is a library, but not the base library.
	plugins, err := cpuPlugins(ggml)
	require.NoError(t, err)
	foreign := t.TempDir()
	copyFile(t, plugins[0], filepath.Join(foreign, libraryFile("base")))
	said = open(foreign)
	require.True(t, strings.HasPrefix(said, "VERSION_MISMATCH: ") || strings.HasPrefix(said, "DEVICE_UNAVAILABLE: "), said)

	alone := t.TempDir()
	copyFile(t, filepath.Join(ggml, libraryFile("base")), filepath.Join(alone, libraryFile("base")))
	require.Contains(t, open(alone), "DEVICE_UNAVAILABLE: there is no CPU plugin "+alone)
}

func TestSelfDirs(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	require.Contains(t, SelfDirs(), filepath.Dir(self))
	for _, d := range DefaultPluginDirs() {
		require.True(t, filepath.IsAbs(d), d)
		require.Equal(t, "qtsaccel", filepath.Base(d))
	}
}

func TestLogSink(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	sink := purego.NewCallback(func(level int32, text *byte, user uintptr) {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
			n++
		}
		lines = append(lines, fmt.Sprintf("%d %s %d", level, unsafe.String(text, n), user))
	})
	Log(3, "nobody listens")
	SetLogSink(*(*unsafe.Pointer)(unsafe.Pointer(&sink)), 7)
	defer SetLogSink(nil, 0)
	Log(3, "somebody does")
	SetLogSink(nil, 0)
	Log(3, "nobody again")
	require.Equal(t, []string{"3 somebody does 7"}, lines)
}

// BenchmarkOpen is loading ggml and its best CPU plugin: in a new process each
// time, which reports how long it took.
func BenchmarkOpen(b *testing.B) {
	const asked = "QTSACCEL_TEST_OPEN"
	if dir := os.Getenv(asked); dir != "" {
		begun := time.Now()
		_, err := Open([]string{dir})
		require.NoError(b, err)
		_, _ = os.Stdout.WriteString("took " + time.Since(begun).String() + "\n")
		os.Exit(0)
	}
	var total time.Duration
	for range b.N {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkOpen$")
		cmd.Env = append(os.Environ(), asked+"="+librarytest.Dir(b))
		out, err := cmd.Output()
		require.NoError(b, err)
		_, text, _ := strings.Cut(string(out), "took ")
		text, _, _ = strings.Cut(text, "\n")
		took, err := time.ParseDuration(text)
		require.NoError(b, err, string(out))
		total += took
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/open")
}
