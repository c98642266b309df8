package main

import (
	"fmt"
	"regexp"
	"strings"
)

// section is a part of the header under a title, with its items in order.
type section struct {
	title string // "" for what stands before the first title
	items []item
}

// item is what one comment is about: declarations, or the members of a struct or enum
// that have it in common.
type item struct {
	comment []string // paragraphs and examples, see [paragraphs]
	code    []string // declarations without their semicolons, on one line each
	members []item   // of a struct or enum, whose code is then its name or ""
}

var (
	titleForm     = regexp.MustCompile(`(?m)^/\* -+ (.+) -- \*/$`)
	cPlusPlusForm = regexp.MustCompile(`(?s)#ifdef __cplusplus.*?#endif`)
	apiForm       = regexp.MustCompile(`(?s)#if defined\(_WIN32\).*?#endif`)
	defineForm    = regexp.MustCompile(`^#define (\w+) (.+)$`)
	bodyForm      = regexp.MustCompile(`(?s)^(typedef struct \w+|enum) \{(.*)\}`)
)

// sections reads the header for people: what stands where, under which comment.
func sections(text string) ([]section, error) {
	text = cPlusPlusForm.ReplaceAllString(text, "")
	text = apiForm.ReplaceAllString(text, "")
	var all []section
	titles := titleForm.FindAllStringSubmatchIndex(text, -1)
	from, title := 0, ""
	for i := 0; i <= len(titles); i++ {
		end := len(text)
		if i < len(titles) {
			end = titles[i][0]
		}
		items, err := items(text[from:end], ";")
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", title, err)
		}
		all = append(all, section{title, items})
		if i < len(titles) {
			from, title = titles[i][1], text[titles[i][2]:titles[i][3]]
		}
	}
	return all, nil
}

// items reads comments and the declarations behind them, which end with one of the
// characters of ends. A comment on the line where a declaration ends is that one's own;
// any other is about all declarations up to the next comment or empty line.
func items(text, ends string) ([]item, error) {
	var all []item
	open := false // whether the last item goes on
	for {
		rest := strings.TrimLeft(text, " \n")
		if rest == "" {
			return all, nil
		}
		lines := strings.Count(text[:len(text)-len(rest)], "\n")
		text = rest
		if strings.HasPrefix(text, "/*") {
			end := strings.Index(text, "*/")
			if end < 0 {
				return nil, fmt.Errorf("the comment %.40q does not end", text)
			}
			words := paragraphs(text[:end+2])
			text = text[end+2:]
			if lines == 0 && len(all) > 0 {
				all, open = trailing(all, words)
			} else {
				all, open = append(all, item{comment: words}), true
			}
			continue
		}
		declaration, after, err := cut(text, ends)
		if err != nil {
			return nil, err
		}
		text = after
		if declaration == "" {
			open = false
			continue
		}
		m := bodyForm.FindStringSubmatch(declaration)
		if !open || (m != nil || lines > 1) && len(all[len(all)-1].code) > 0 {
			all = append(all, item{})
		}
		last := &all[len(all)-1]
		open = true
		if m != nil {
			if last.members, err = items(m[2], ";,"); err != nil {
				return nil, err
			}
			declaration, open = strings.TrimPrefix(m[1], "typedef "), false
		}
		last.code = append(last.code, declaration)
	}
}

// trailing gives the last declaration of the last item a comment of its own.
func trailing(all []item, words []string) ([]item, bool) {
	last := &all[len(all)-1]
	n := len(last.code) - 1
	own := item{comment: words, code: []string{last.code[n]}, members: last.members}
	if n == 0 {
		own.comment = append(last.comment, words...)
		*last = own
		return all, false
	}
	last.code = last.code[:n]
	return append(all, own), false
}

// cut takes the first declaration off a text; "" stands for a directive that is none.
func cut(text, ends string) (declaration, rest string, err error) {
	if strings.HasPrefix(text, "#") {
		line, rest, _ := strings.Cut(text, "\n")
		line, _, _ = strings.Cut(line, "/*")
		if m := defineForm.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			return strings.TrimSpace(line), "\n" + rest, nil
		}
		return "", "\n" + rest, nil
	}
	depth := 0
	for i, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 && strings.HasPrefix(text, "static inline") {
				head, _, _ := strings.Cut(text, " {")
				return oneLine(head), text[i+1:], nil
			}
		case depth == 0 && strings.HasPrefix(text[i:], "/*"): // behind the last value of an enum
			return oneLine(text[:i]), text[i:], nil
		case depth == 0 && strings.ContainsRune(ends, c):
			declaration = text[:i]
			if !bodyForm.MatchString(declaration) {
				declaration = oneLine(declaration)
			}
			return declaration, text[i+1:], nil
		}
	}
	if depth == 0 && strings.Contains(ends, ",") { // the last value of an enum
		return oneLine(text), "", nil
	}
	return "", "", fmt.Errorf("%.60q does not end", text)
}

func oneLine(s string) string { return strings.TrimSpace(spaceForm.ReplaceAllString(s, " ")) }

// paragraphs takes a comment apart. A paragraph is one line; an example keeps its
// lines, each indented by four spaces.
func paragraphs(comment string) []string {
	comment = strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	var all []string
	var now []string
	flush := func() {
		if len(now) == 0 {
			return
		}
		text, last := oneLine(strings.Join(now, " ")), len(all)-1
		if indented(now[0]) {
			text = strings.Join(now, "\n")
		}
		if last >= 0 && indented(all[last]) && indented(now[0]) {
			all[last] += "\n\n" + text
		} else {
			all = append(all, text)
		}
		now = nil
	}
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimRight(line, " ")
		if star := strings.TrimLeft(line, " "); strings.HasPrefix(star, "*") {
			line = strings.TrimPrefix(star[1:], " ")
		} else {
			line = star
		}
		if line == "" {
			flush()
			continue
		}
		if len(now) > 0 && indented(line) != indented(now[0]) {
			flush()
		}
		now = append(now, line)
	}
	flush()
	return all
}

func indented(s string) bool { return strings.HasPrefix(s, "    ") }
