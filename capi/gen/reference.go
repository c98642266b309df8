package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// writeReference renders the header for the documentation's generator, Sphinx: a page
// of reStructuredText per section, and index.rst with what counts for all.
func writeReference(header, folder string) error {
	text, err := os.ReadFile(header)
	if err != nil {
		return err
	}
	pages, err := reference(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", header, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reference gives the pages by name.
func reference(text string) (map[string]string, error) {
	h, err := parse(text)
	if err != nil {
		return nil, err
	}
	all, err := sections(text)
	if err != nil {
		return nil, err
	}
	r := &renderer{roles: roles(h)}
	pages := map[string]string{}
	var index strings.Builder
	index.WriteString(r.introduction(all[0]))
	for _, s := range all[1:] {
		name := strings.ReplaceAll(strings.ToLower(s.title), " ", "-")
		pages[name+".rst"] = heading(s.title, '=') + r.items(s.items, "")
		index.WriteString("   " + name + "\n")
	}
	pages["index.rst"] = index.String()
	return pages, nil
}

type renderer struct {
	roles map[string]string // of names of the header: ":c:func:" and so on
}

// roles says what each name of the header is.
func roles(h *header) map[string]string {
	found := map[string]string{}
	for _, f := range h.functions {
		found[f.name] = "func"
	}
	for name := range h.handles {
		found[name] = "type"
	}
	for _, a := range h.types.aliases {
		found[a.name] = "type"
	}
	for _, c := range h.types.callbacks {
		found[c.name] = "type"
	}
	for _, s := range h.types.structs {
		found[s.name] = "struct"
	}
	for _, e := range h.enumerated {
		found[e.name] = "enumerator"
		if short, ok := strings.CutPrefix(e.name, "QTSA_ERR_"); ok {
			found[short] = "enumerator"
		}
	}
	for _, c := range h.types.constants {
		found[c.name] = "macro"
	}
	return found
}

// topicForm is how a topic of the opening comment begins: in capitals.
var topicForm = regexp.MustCompile(`^([A-Z]{2}[A-Z ]*)(\.? )(.*)$`)

// introduction renders the header's opening comment and the list of the sections.
func (r *renderer) introduction(s section) string {
	var b strings.Builder
	b.WriteString(heading("The C API", '='))
	b.WriteString("Rendered from ``include/qtsaccel.h``, which is the specification.\n\n")
	for _, p := range s.items[0].comment {
		if m := topicForm.FindStringSubmatch(p); m != nil {
			b.WriteString(heading(m[1][:1]+strings.ToLower(m[1][1:]), '-'))
			if p = m[3]; m[2] == " " { // the topic is the sentence's subject
				p = m[1][:1] + strings.ToLower(m[1][1:]) + " " + p
			}
		}
		b.WriteString(r.paragraph(p, ""))
	}
	b.WriteString(heading("Version", '-') + r.items(s.items[1:], ""))
	b.WriteString(heading("Sections", '-') + ".. toctree::\n   :maxdepth: 2\n\n")
	return b.String()
}

func heading(title string, under byte) string {
	return title + "\n" + strings.Repeat(string(under), len(title)) + "\n\n"
}

func (r *renderer) items(all []item, indent string) string {
	var b strings.Builder
	for _, it := range all {
		inner := indent
		if signatures, kind := it.signatures(); kind != "" {
			inner += "   "
			lead := indent + ".. c:" + kind + ":: "
			b.WriteString(lead + strings.Join(signatures, "\n"+strings.Repeat(" ", len(lead))) + "\n\n")
		}
		for _, c := range it.code {
			if m := defineForm.FindStringSubmatch(c); m != nil {
				b.WriteString(inner + "Defined as ``" + m[2] + "``.\n\n")
			}
		}
		for _, p := range it.comment {
			b.WriteString(r.paragraph(p, inner))
		}
		b.WriteString(r.items(it.members, inner))
	}
	return b.String()
}

var (
	enumeratorItem = regexp.MustCompile(`^QTSA_\w+ = -?\d+$`)
	apiPrefix      = regexp.MustCompile(`^(QTSA_API|static inline) `)
	handleItem     = regexp.MustCompile(`^typedef struct \w+ \*(\w+)$`)
)

// signatures gives the declarations as Sphinx wants them, all of one kind; an enum,
// which has no name of its own, has none.
func (it item) signatures() (list []string, kind string) {
	for _, c := range it.code {
		switch {
		case c == "enum":
			return nil, ""
		case strings.HasPrefix(c, "#define "):
			kind, c = "macro", strings.Fields(c)[1]
		case enumeratorItem.MatchString(c):
			kind = "enumerator"
		case apiPrefix.MatchString(c):
			kind, c = "function", apiPrefix.ReplaceAllString(c, "")
		case handleItem.MatchString(c):
			kind, c = "type", handleItem.FindStringSubmatch(c)[1]
		case strings.HasPrefix(c, "typedef "):
			kind, c = "type", strings.TrimPrefix(c, "typedef ")
		case strings.HasPrefix(c, "struct "):
			kind, c = "struct", strings.TrimPrefix(c, "struct ")
		default:
			kind = "member"
		}
		list = append(list, c)
	}
	return list, kind
}

var (
	nameForm    = regexp.MustCompile(`\bqtsa_\w+(?:\(\))?|\bQTSA_\w+\*?|\bQTSACCEL_\w+|\b[A-Z][A-Z_]+\b`)
	specialForm = regexp.MustCompile("[\\\\*`|_]")
)

// paragraph renders one paragraph, or an example, with the header's names as links.
func (r *renderer) paragraph(p, indent string) string {
	if indented(p) {
		return indent + ".. code-block:: c\n\n" + indent + strings.ReplaceAll(p, "\n", "\n"+indent) + "\n\n"
	}
	var b strings.Builder
	at := 0
	for _, m := range nameForm.FindAllStringIndex(p, -1) {
		word := p[m[0]:m[1]]
		name := strings.TrimSuffix(word, "()")
		role, known := r.roles[name]
		if !known && !strings.HasPrefix(name, "QTSA") && !strings.HasPrefix(name, "qtsa") {
			continue
		}
		b.WriteString(specialForm.ReplaceAllString(p[at:m[0]], `\$0`))
		switch at = m[1]; {
		case !known:
			b.WriteString("``" + word + "``")
		case r.roles["QTSA_ERR_"+name] != "":
			b.WriteString(":c:enumerator:`" + name + " <QTSA_ERR_" + name + ">`")
		default:
			b.WriteString(":c:" + role + ":`" + name + "`")
		}
		if at < len(p) && !strings.ContainsRune(" .,;:)", rune(p[at])) {
			b.WriteString(`\ `)
		}
	}
	b.WriteString(specialForm.ReplaceAllString(p[at:], `\$0`))
	return indent + b.String() + "\n\n"
}
