package c

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWeights(t *testing.T) {
	program := compile(t, "weights", &product)
	more := malformed(t)
	onEachBackend(t, func(t *testing.T, backend string) {
		folder := filepath.Join(t.TempDir(), "mit Leerzeichen, größer")
		require.NoError(t, os.Mkdir(folder, 0o755))
		run(t, "", backend, program, append([]string{folder}, more...)...)
	})
}

func TestWeightsUpload(t *testing.T) {
	program := compile(t, "weights_upload", &product)
	onEachBackend(t, func(t *testing.T, backend string) { run(t, "", backend, program, t.TempDir()) })
}

func TestWeightsMetadata(t *testing.T) {
	run(t, "", "reference", compile(t, "weights_metadata", &product), t.TempDir())
}

func TestWeightsInParts(t *testing.T) {
	run(t, "", "cpu", compile(t, "weights_parts", &product), t.TempDir())
}

// malformed gives the safetensors project's own files, each behind the status that
// it must have.
func malformed(t *testing.T) (args []string) {
	t.Helper()
	data := os.Getenv("QTSACCEL_SHARED_DATA")
	if data == "" {
		t.Log("QTSACCEL_SHARED_DATA is not set: the safetensors project's files are left out")
		return nil
	}
	folder := filepath.Join(data, "safetensors-malformed")
	text, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	require.NoError(t, err)
	var files []struct{ File, Expect string }
	require.NoError(t, json.Unmarshal(text, &files))
	require.NotEmpty(t, files)
	for _, f := range files {
		status := "CORRUPT"
		if f.Expect == "OK" {
			status = "OK"
		}
		args = append(args, status, filepath.Join(folder, f.File))
	}
	return args
}
