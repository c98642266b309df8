package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

// Links within the tree lead to files, and to headings that there are.
func TestLinks(t *testing.T) {
	count := 0
	for _, p := range pages(t) {
		for _, l := range p.Links {
			if strings.Contains(l.To, "://") {
				continue
			}
			count++
			path, anchor, _ := strings.Cut(l.To, "#")
			file := p.Path
			if path != "" {
				file = filepath.Join(filepath.Dir(p.Path), path)
			}
			_, err := os.Stat(filepath.Join(root(t), file))
			require.NoError(t, err, "%s:%d: %s", p.Path, l.Line, l.To)
			if anchor == "" {
				continue
			}
			require.Equal(t, ".md", filepath.Ext(file), "%s:%d: %s", p.Path, l.Line, l.To)
			target, err := markdown.Read(root(t), file)
			require.NoError(t, err)
			var anchors []string
			for _, h := range target[0].Headings {
				anchors = append(anchors, h.Anchor())
			}
			require.Contains(t, anchors, anchor, "%s:%d: %s", p.Path, l.Line, l.To)
		}
	}
	require.Greater(t, count, 100)
}
