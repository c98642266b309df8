// Package librarytest finds ggml's libraries for tests.
package librarytest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Dir is where `make ggml` puts ggml's libraries, dist/lib/qtsaccel of the tree, or what
// QTSACCEL_PLUGIN_DIR names.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("QTSACCEL_PLUGIN_DIR")
	if dir == "" {
		root, err := os.Getwd()
		require.NoError(t, err)
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			require.NotEqual(t, root, filepath.Dir(root), "there is no go.mod above the test")
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "dist", "lib", "qtsaccel")
	}
	_, err := os.Stat(dir)
	require.NoError(t, err, "run `make ggml` first")
	return dir
}
