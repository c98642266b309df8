package ggml

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/status"
)

func requireStatus(t *testing.T, code status.Code, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, status.Of(err), err.Error())
	for _, w := range words {
		require.Contains(t, err.Error(), w)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	l := openLibrary(t)
	_, err := New(l, Options{Device: "abacus"})
	requireStatus(t, status.InvalidArgument, err, "abacus", "cpu, cuda, vulkan, metal")
	_, err = New(l, Options{Device: "cpu", Index: 3})
	requireStatus(t, status.DeviceUnavailable, err, "cpu device 3", "finds 1")
	_, err = New(l, Options{Device: "cpu", Threads: 513})
	requireStatus(t, status.InvalidArgument, err, "513")
	if _, err := os.Stat(filepath.Join(l.Dir, library.PluginFile("metal"))); err != nil {
		_, err = New(l, Options{Device: "metal"})
		requireStatus(t, status.DeviceUnavailable, err, filepath.Join(l.Dir, library.PluginFile("metal")))
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
