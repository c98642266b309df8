package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGenerated: what is committed is what the list makes.
func TestGenerated(t *testing.T) {
	text, err := os.ReadFile("../ops.list")
	require.NoError(t, err)
	ops, err := parse(string(text))
	require.NoError(t, err)
	for name, want := range files(ops) {
		have, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, want, string(have), "%s is stale: go generate ./backends/ggml", name)
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
