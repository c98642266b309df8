package ggml

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the packages that this one stands on, and what each may know of the others.
var rooms = map[string][]string{
	"backends/kernels":      nil,
	"backends/ggml/library": nil,
	"backends/ggml/device":  {"backends/ggml/library"},
	"backends/ggml":         {"backends/ggml/library", "backends/ggml/device", "backends/kernels"},
}

var include = regexp.MustCompile(`(?m)^\s*#\s*include "([^"]+/[^"]+)"`)

// TestRoomsKnowOnlyThoseBelow: neither an import nor an #include points upwards.
func TestRoomsKnowOnlyThoseBelow(t *testing.T) {
	root := filepath.Join("..", "..")
	arrows := 0
	for room, below := range rooms {
		files, err := os.ReadDir(filepath.Join(root, room))
		require.NoError(t, err)
		for _, f := range files {
			name := f.Name()
			if f.IsDir() || strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, room, name))
			require.NoError(t, err)
			var known []string
			for _, m := range include.FindAllStringSubmatch(string(text), -1) {
				known = append(known, path.Dir(path.Join(room, m[1])))
			}
			if strings.HasSuffix(name, ".go") {
				parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
				require.NoError(t, err)
				for _, i := range parsed.Imports {
					of, err := strconv.Unquote(i.Path.Value)
					require.NoError(t, err)
					if at, ok := strings.CutPrefix(of, "qtsaccel/"); ok && strings.HasPrefix(at, "backends/") {
						known = append(known, at)
					}
				}
			}
			for _, k := range known {
				require.Contains(t, below, k, "%s/%s knows %s", room, name, k)
				arrows++
			}
		}
	}
	require.Positive(t, arrows)
}
