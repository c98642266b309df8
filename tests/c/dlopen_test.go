package c

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The library finds its plugins beside itself, however it was found, and stays
// loaded when it is closed.
func TestOpenedByPath(t *testing.T) {
	program := compile(t, "dlopen", nil)
	lib := product.in(t)

	// plugin runs the program in a folder and gives the file that was loaded.
	plugin := func(t *testing.T, dir, backend, library string) string {
		t.Helper()
		var report struct {
			Backend struct{ Name, Plugin string }
		}
		require.NoError(t, json.Unmarshal([]byte(run(t, dir, backend, program, library)), &report))
		require.Equal(t, backend, report.Backend.Name)
		return report.Backend.Plugin
	}
	beside := func(t *testing.T, folder, plugin string) {
		t.Helper()
		at, err := filepath.EvalSymlinks(filepath.Join(folder, "qtsaccel"))
		require.NoError(t, err)
		require.Equal(t, at, filepath.Dir(plugin))
	}

	t.Run("reference", func(t *testing.T) {
		require.Empty(t, plugin(t, "", "reference", filepath.Join(lib, "libqtsaccel.so")))
	})
	t.Run("from another folder", func(t *testing.T) {
		beside(t, lib, plugin(t, t.TempDir(), "cpu", filepath.Join(lib, "libqtsaccel.so")))
	})
	t.Run("by a relative path", func(t *testing.T) {
		beside(t, lib, plugin(t, lib, "cpu", "./libqtsaccel.so"))
	})
	t.Run("through a link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "accel.so")
		require.NoError(t, os.Symlink(filepath.Join(lib, "libqtsaccel.so"), link))
		beside(t, lib, plugin(t, t.TempDir(), "cpu", link))
	})
	t.Run("copied", func(t *testing.T) {
		folder := t.TempDir()
		out, err := exec.Command("cp", "-rL", filepath.Join(lib, "libqtsaccel.so"), filepath.Join(lib, "qtsaccel"), folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		beside(t, folder, plugin(t, "", "cpu", filepath.Join(folder, "libqtsaccel.so")))
	})
}
