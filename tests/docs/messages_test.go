package docs

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// Messages that it takes a broken device to see: these words of them are in the
// sources.
var inSources = map[string]string{
	"there is no plugin …": "there is no plugin %s",
	"only a software device (…), which is taken only if … is asked for by name": "only a software device (%s), which is taken only if %s is asked for by name",
	"its device … is software, which an index alone does not choose: …":         "is software, which an index alone does not choose: ask for",
	"… is not trusted: …":                                                                            "%v (%s) is not trusted: %s",
	"the backend has neither a kernel nor a decomposition for …":                                     "the backend has neither a kernel nor a decomposition for %s",
	"the device failed to compute the graph":                                                         "the device failed to compute the graph",
	"the session has failed before and must be made anew":                                            "has failed before and must be made anew",
	"ggml's … counts rows, and the elements of a row, up to 2^31 - 1":                                "counts rows, and the elements of a row, up to 2^31 - 1",
	"plugin … cannot be loaded: the file was cut short: it ends before its segments and sections do": "the file was cut short: it ends before its segments and sections do",
}

// The headings of docs/troubleshooting.md are messages that testdata/messages.py
// provokes, and each that it provokes has a heading.
func TestMessages(t *testing.T) {
	python := needPython(t)
	build(t)
	page, err := markdown.Read(root(t), filepath.Join("docs", "troubleshooting.md"))
	require.NoError(t, err)
	var quoted []string
	for _, h := range page[0].Headings {
		if message, ok := strings.CutPrefix(h.Text, "`"); ok {
			quoted = append(quoted, strings.TrimSuffix(message, "`"))
		}
	}
	require.Greater(t, len(quoted), 30)

	cmd := exec.CommandContext(t.Context(), python, filepath.Join(root(t), "tests", "docs", "testdata", "messages.py"))
	cmd.Env = environment(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	var told []string
	require.NoError(t, json.Unmarshal(out, &told))

	for _, q := range quoted {
		if words, ok := inSources[q]; ok {
			found := output(t, root(t), nil, "grep", "-rlF", "--include=*.go", "--include=*.cpp", words, "core", "backends")
			require.NotEmpty(t, found, "%s", q)
			continue
		}
		require.True(t, anyMatches([]string{q}, told...), "nothing is told %q any more; now:\n%s", q, strings.Join(told, "\n"))
	}
	for _, m := range told {
		require.True(t, anyMatches(quoted, m), "docs/troubleshooting.md says nothing of %q", m)
	}
	for q := range inSources {
		require.Contains(t, quoted, q)
	}
}

func anyMatches(expected []string, texts ...string) bool {
	for _, e := range expected {
		for _, text := range texts {
			if matches(e, text) {
				return true
			}
		}
	}
	return false
}
