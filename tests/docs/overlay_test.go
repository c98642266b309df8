package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// overlay is what a page adds to the tree: Go takes the files as if they were there.
type overlay struct {
	dir     string
	files   map[string]string // paths in the tree to those of what stands for them
	folders []string          // made for them
}

var diffForm = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)

// add lays a file, or a file as a diff changes it, over the tree.
func (o *overlay) add(t *testing.T, b *markdown.Block) {
	t.Helper()
	if o.files == nil {
		o.files = map[string]string{}
	}
	path, text := b.Notes["file"], b.Text
	if b.Lang == "diff" {
		m := diffForm.FindStringSubmatch(b.Text)
		require.NotNil(t, m, "%s: no line +++ b/FILE", b.Where())
		path = m[1]
		before, err := os.ReadFile(filepath.Join(root(t), path))
		require.NoError(t, err)
		text = string(before)
	}
	require.NotEmpty(t, path, "%s: a note must say which file it is", b.Where())
	at := filepath.Join(o.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	if b.Lang == "diff" {
		// The lines around may have moved.
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--recount", "-C1", "-")
		cmd.Dir, cmd.Stdin = o.dir, strings.NewReader(b.Text)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", b.Where(), out)
	}
	o.files[filepath.Join(root(t), path)] = at
	// A package's tests are run in its folder, which must be there.
	if folder := filepath.Dir(filepath.Join(root(t), path)); os.Mkdir(folder, 0o755) == nil {
		o.folders = append(o.folders, folder)
	}
}

// end removes the folders that were made.
func (o *overlay) end(t *testing.T) {
	t.Helper()
	for _, folder := range o.folders {
		require.NoError(t, os.Remove(folder))
	}
}

// has says whether something at a path, or below it, comes from the page.
func (o *overlay) has(path string) bool {
	for file := range o.files {
		if file == path || strings.HasPrefix(file, path+"/") {
			return true
		}
	}
	return false
}

// setting is the variable that has Go take the files.
func (o *overlay) setting(t *testing.T) string {
	t.Helper()
	if o.files == nil {
		return "GOFLAGS=" + os.Getenv("GOFLAGS")
	}
	list, err := json.Marshal(map[string]any{"Replace": o.files})
	require.NoError(t, err)
	path := filepath.Join(o.dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, list, 0o600))
	return "GOFLAGS=-overlay=" + path + " " + os.Getenv("GOFLAGS")
}
