package markdown

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	text := `# A ` + "`x`" + ` of b, c!

Words.

<!-- given: int x;
int y; -->
<!-- runs -->
` + "```c\na\n\n  b\n```" + `

- An item:

  <!-- prints -->
  ` + "```text\n  c\n  ```" + `

<!-- for no block -->

Words, [a link](b.md#c) and ![a picture](x.png).

    indented
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.md"), []byte(text), 0o600))
	pages, err := Read(dir, "p.md")
	require.NoError(t, err)
	p := pages[0]
	require.Equal(t, []Block{
		{Page: p, Line: 9, Lang: "c", Text: "a\n\n  b\n", Notes: map[string]string{"given": "int x;\nint y;", "runs": ""}},
		{Page: p, Line: 18, Lang: "text", Text: "c\n", Notes: map[string]string{"prints": ""}},
		{Page: p, Line: 25, Text: "indented\n"},
	}, p.Blocks)
	require.Equal(t, []Link{{23, "b.md#c"}, {23, "x.png"}}, p.Links)
	require.Equal(t, []Heading{{1, "A `x` of b, c!"}}, p.Headings)
	require.Equal(t, "a-x-of-b-c", p.Headings[0].Anchor())
	require.Equal(t, "p.md:9", p.Blocks[0].Where())
	require.True(t, p.Blocks[0].Has("runs"))
	require.False(t, p.Blocks[0].Has("prints"))
}
