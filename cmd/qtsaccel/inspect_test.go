package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/modelfile"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// model writes a GGUF file with two tensors.
func model(t *testing.T) string {
	t.Helper()
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("a.weight", tensor.Type{DType: tensor.Q8_0, Shape: tensor.Shape{3, 64}}))
	require.NoError(t, w.Declare("b\x1b[31m", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2}}))
	require.NoError(t, w.Set("a.weight", make([]byte, 204)))
	require.NoError(t, w.Set("b\x1b[31m", make([]byte, 8)))
	path := filepath.Join(t.TempDir(), "mit Leerzeichen, größer.gguf")
	require.NoError(t, modelfile.Save(w, path, nil, nil))
	return path
}

func TestInspectAsTable(t *testing.T) {
	path := model(t)
	var out strings.Builder
	require.NoError(t, dispatch([]string{"inspect", path}, &out))
	for _, words := range []string{path, "general.quantization_version  u32   2", "a.weight  ", "q8_0   [3, 64]  204", `b\x1b[31m`, "2 tensors, 194 elements, 212 bytes"} {
		require.Contains(t, out.String(), words)
	}
	require.NotContains(t, out.String(), "\x1b", "a name must not reach the terminal as it is")
}

func TestInspectAsJSON(t *testing.T) {
	path := model(t)
	for _, args := range [][]string{{"inspect", "--json", path}, {"inspect", path, "--json"}} {
		var out strings.Builder
		require.NoError(t, dispatch(args, &out))
		var c modelfile.Contents
		require.NoError(t, json.Unmarshal([]byte(out.String()), &c))
		want, err := modelfile.Inspect(path)
		require.NoError(t, err)
		require.Equal(t, *want, c)
	}
}

func TestWrongInspections(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	require.NoError(t, os.WriteFile(text, []byte("not a model"), 0o600))
	for _, c := range []struct {
		args []string
		code status.Code
	}{
		{nil, status.InvalidArgument},
		{[]string{text, "more"}, status.InvalidArgument},
		{[]string{"--nonsense", text}, status.InvalidArgument},
		{[]string{text}, status.Corrupt},
		{[]string{folder}, status.IO},
	} {
		var out strings.Builder
		err := dispatch(append([]string{"inspect"}, c.args...), &out)
		require.Equal(t, c.code, status.Of(err), "%v: %v", c.args, err)
		require.Empty(t, out.String())
	}
}

// Whoever asks for help or the version gets it, and status 0.
func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--help"}, []string{"devices ", "inspect ", "probe ", "completion "}},
		{[]string{"inspect", "--help"}, []string{"qtsaccel inspect FILE", "--json"}},
		{[]string{"probe", "-h"}, []string{"--api API", "--clear"}},
		{[]string{"--version"}, []string{"qtsaccel " + libraryVersion()}},
		{[]string{"completion", "bash"}, []string{"__start_qtsaccel"}},
	} {
		var out strings.Builder
		require.NoError(t, dispatch(c.args, &out))
		for _, w := range c.words {
			require.Contains(t, out.String(), w)
		}
		require.NotContains(t, out.String(), "lines-fd", "what is the library's own is nobody's")
	}
	require.ErrorContains(t, dispatch([]string{"inspekt"}, &strings.Builder{}), `unknown command "inspekt" for "qtsaccel"; did you mean inspect; see`)
}
