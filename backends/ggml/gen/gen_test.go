package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGenerated: what is committed is what the list makes.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, generate("../ops.list", dir))
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, made)
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join("..", f.Name()))
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "%s is stale: go generate ./backends/ggml", f.Name())
	}
}

func TestListIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		"add(x, y) = add(x, y)\n":      "line 1",
		"add(x)\nadd(y)\n":             "line 2",
		"add(x, double y) = add(c, x)": `no kind of parameters "double"`,
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, why)
	}
}
