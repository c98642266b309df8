package ggml

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/status"
	"qtsaccel/core/status/statustest"
)

func TestNewNamesWhatIsMissing(t *testing.T) {
	l := openLibrary(t)
	_, err := New(l, Options{Device: "abacus"})
	statustest.Require(t, status.InvalidArgument, err, "abacus", "cpu, cuda, vulkan, metal")
	_, err = New(l, Options{Device: "cpu", Index: 3})
	statustest.Require(t, status.DeviceUnavailable, err, "cpu device 3", "finds 1")
	_, err = New(l, Options{Device: "cpu", Threads: 513})
	statustest.Require(t, status.InvalidArgument, err, "513")
	if _, err := os.Stat(filepath.Join(l.Dir, library.PluginFile("metal"))); err != nil {
		_, err = New(l, Options{Device: "metal"})
		statustest.Require(t, status.DeviceUnavailable, err, filepath.Join(l.Dir, library.PluginFile("metal")))
	}
}

func TestInfo(t *testing.T) {
	b := cpuBackend(t, 0)
	i := b.Info()
	require.Equal(t, "cpu", i.Name)
	require.NotEmpty(t, i.Description)
	require.Equal(t, "ggml "+openLibrary(t).Version, i.Library)
	require.FileExists(t, i.Plugin)
	require.Equal(t, "qtsaccel", filepath.Base(i.Searched[len(i.Searched)-1]))
	require.Equal(t, DefaultThreads(), i.Threads)
	require.LessOrEqual(t, i.Threads, runtime.NumCPU())
}
