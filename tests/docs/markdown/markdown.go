// Package markdown takes the documentation apart for its tests: code blocks with what
// is noted before them, links and headings.
package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Page is one file.
type Page struct {
	Path     string
	Blocks   []Block
	Links    []Link
	Headings []Heading
}

// Block is a block of code.
type Block struct {
	Page *Page
	Line int    // of its first line
	Lang string // "" where none is said
	Text string
	// Notes are the comments right before it, "<!-- key: value -->", by key.
	Notes map[string]string
}

// Where says where the block is, for messages.
func (b *Block) Where() string { return fmt.Sprintf("%s:%d", b.Page.Path, b.Line) }

// Has says whether there is a note.
func (b *Block) Has(note string) bool {
	_, ok := b.Notes[note]
	return ok
}

// Link leads from one page to another, or to a file.
type Link struct {
	Line int
	To   string
}

// Heading is a title, as it is written.
type Heading struct {
	Level int
	Text  string
}

// Anchor is what links to the heading have behind "#".
func (h Heading) Anchor() string {
	plain := regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`).ReplaceAllString(strings.ToLower(h.Text), "")
	return strings.ReplaceAll(plain, " ", "-")
}

// Read reads pages by their paths from root.
func Read(root string, paths ...string) ([]*Page, error) {
	var pages []*Page
	for _, path := range paths {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		p := &Page{Path: path}
		if err := p.parse(source); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func (p *Page) parse(source []byte) error {
	document := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	line := func(at int) int { return 1 + strings.Count(string(source[:at]), "\n") }
	return ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			b := Block{Page: p, Lang: string(n.Language(source)), Text: lines(n, source), Notes: notes(n, source)}
			if n.Lines().Len() > 0 {
				b.Line = line(n.Lines().At(0).Start)
			}
			p.Blocks = append(p.Blocks, b)
		case *ast.CodeBlock:
			p.Blocks = append(p.Blocks, Block{Page: p, Line: line(n.Lines().At(0).Start), Text: lines(n, source)})
		case *ast.Heading:
			p.Headings = append(p.Headings, Heading{n.Level, lines(n, source)})
		case *ast.Link:
			p.Links = append(p.Links, Link{line(start(n)), string(n.Destination)})
		case *ast.Image:
			p.Links = append(p.Links, Link{line(start(n)), string(n.Destination)})
		}
		return ast.WalkContinue, nil
	})
}

// start is where the block that an inline node is in begins.
func start(n ast.Node) int {
	for n.Type() == ast.TypeInline {
		n = n.Parent()
	}
	if n.Lines().Len() > 0 {
		return n.Lines().At(0).Start
	}
	return 0
}

func lines(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(source))
	}
	return b.String()
}

var noteForm = regexp.MustCompile(`(?s)^<!--\s*([a-z ]+?)\s*(?::\s*(.*?))?\s*-->\s*$`)

// notes reads the comments right before a block.
func notes(n ast.Node, source []byte) map[string]string {
	found := map[string]string{}
	for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
		comment, ok := before.(*ast.HTMLBlock)
		if !ok {
			break
		}
		words := lines(comment, source)
		if comment.HasClosure() {
			words += string(comment.ClosureLine.Value(source))
		}
		m := noteForm.FindStringSubmatch(words)
		if m == nil {
			break
		}
		found[m[1]] = m[2]
	}
	return found
}
