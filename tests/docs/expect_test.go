package docs

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// matches says whether a text is as expected.
func matches(expected, text string) bool {
	var form strings.Builder
	for line := range strings.Lines(strings.TrimRight(expected, "\n") + "\n") {
		if line = strings.TrimRight(line, "\n"); line == "…" {
			form.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		form.WriteString(strings.Join(parts, `.*`) + ` *\n`)
	}
	return regexp.MustCompile(`\A` + form.String() + `\z`).MatchString(strings.TrimRight(text, "\n") + "\n")
}

func requirePrinted(t *testing.T, b *markdown.Block, printed string) {
	t.Helper()
	if b.Lang == "json" {
		var got any
		require.NoError(t, json.Unmarshal([]byte(printed), &got), "%s", printed)
		requireKeys(t, "", requireJSON(t, b), got)
		return
	}
	require.True(t, matches(b.Text, printed), "expected\n%s\nprinted\n%s", b.Text, printed)
}

func requireJSON(t *testing.T, b *markdown.Block) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(b.Text), &v), b.Where())
	return v
}

// requireKeys wants each key that is shown to be there, with a value of its kind.
func requireKeys(t *testing.T, at string, shown, got any) {
	t.Helper()
	require.IsType(t, shown, got, "%s", at)
	switch shown := shown.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for key, value := range shown {
			require.Contains(t, object, key, "%s", at)
			requireKeys(t, at+"."+key, value, object[key])
		}
	case []any:
		list, _ := got.([]any)
		if len(shown) > 0 {
			require.NotEmpty(t, list, "%s", at)
			requireKeys(t, at+"[0]", shown[0], list[0])
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		expected, text string
		want           bool
	}{
		{"a\nb\n", "a\nb", true},
		{"a\nb\n", "a\nb\nc\n", false},
		{"a … c", "a b c", true},
		{"a … c", "a b\nc", false},
		{"a\n…\nz", "a\nb\nc\nz\n", true},
		{"a.b", "axb", false},
	} {
		require.Equal(t, c.want, matches(c.expected, c.text), "%q %q", c.expected, c.text)
	}
}
