package c

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWeights(t *testing.T) {
	program := compile(t, "weights", &product)
	onEachBackend(t, func(t *testing.T, backend string) {
		folder := filepath.Join(t.TempDir(), "mit Leerzeichen, größer")
		require.NoError(t, os.Mkdir(folder, 0o755))
		run(t, "", backend, program, folder)
	})
}
