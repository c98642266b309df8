package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// header is what the generator needs of the C header. The header's form is
// disciplined, so that no C parser is needed: every function begins with
// QTSA_API and ends with a semicolon, every handle is
// `typedef struct qtsa_x_s *qtsa_x;`.
type header struct {
	functions  []function
	handles    map[string]bool
	enumerated []enumerator // in the header's order
	types      *types
}

type function struct {
	result, name string
	params       []param
}

type param struct {
	typ  string // "const char *", "qtsa_plan", "size_t"
	name string
}

type enumerator struct {
	name  string
	value int64
}

var (
	commentForm    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	directiveForm  = regexp.MustCompile(`(?m)^#.*$`)
	spaceForm      = regexp.MustCompile(`\s+`)
	functionForm   = regexp.MustCompile(`QTSA_API ([^;]*?)(\w+) ?\(([^;]*)\) ?;`)
	paramForm      = regexp.MustCompile(`^(.*[ *])(\w+)$`)
	handleForm     = regexp.MustCompile(`typedef struct (qtsa_\w+)_s \*(qtsa_\w+);`)
	enumForm       = regexp.MustCompile(`enum \{([^}]*)\};`)
	enumeratorForm = regexp.MustCompile(`^(QTSA_\w+) = (-?\d+)$`)
)

func parse(text string) (*header, error) {
	types, err := parseTypes(text)
	if err != nil {
		return nil, err
	}
	text = commentForm.ReplaceAllString(text, " ")
	text = directiveForm.ReplaceAllString(text, " ")
	text = spaceForm.ReplaceAllString(text, " ")

	h := &header{handles: map[string]bool{}, types: types}
	for _, m := range handleForm.FindAllStringSubmatch(text, -1) {
		if m[1] != m[2] {
			return nil, fmt.Errorf("handle %s points to struct %s_s", m[2], m[1])
		}
		h.handles[m[1]] = true
	}
	for _, m := range enumForm.FindAllStringSubmatch(text, -1) {
		for line := range strings.SplitSeq(m[1], ",") {
			e := enumeratorForm.FindStringSubmatch(strings.TrimSpace(line))
			if e == nil {
				return nil, fmt.Errorf("enumerator %q has not the form NAME = number", line)
			}
			value, err := strconv.ParseInt(e[2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("enumerator %s: %w", e[1], err)
			}
			h.enumerated = append(h.enumerated, enumerator{e[1], value})
		}
	}
	for _, m := range functionForm.FindAllStringSubmatch(text, -1) {
		params, err := parseParams(m[2], m[3])
		if err != nil {
			return nil, err
		}
		h.functions = append(h.functions, function{result: strings.TrimSpace(m[1]), name: m[2], params: params})
	}
	// All uses of the macro are functions, or one escaped the pattern.
	if n := strings.Count(text, "QTSA_API "); n != len(h.functions) || n == 0 {
		return nil, fmt.Errorf("QTSA_API stands %d times, but %d functions were read", n, len(h.functions))
	}
	return h, h.check()
}

// parseParams reads what stands between a function's parentheses.
func parseParams(function, text string) ([]param, error) {
	if text == "void" {
		return nil, nil
	}
	var params []param
	for p := range strings.SplitSeq(text, ",") {
		m := paramForm.FindStringSubmatch(strings.TrimSpace(p))
		if m == nil {
			return nil, fmt.Errorf("%s: parameter %q has no name", function, p)
		}
		params = append(params, param{typ: strings.TrimSpace(m[1]), name: m[2]})
	}
	return params, nil
}

// check holds the functions to the header's own rules about parameters.
func (h *header) check() error {
	for _, f := range h.functions {
		for i, p := range f.params {
			switch {
			case p.out() && !strings.HasSuffix(p.typ, "*"):
				return fmt.Errorf("%s: %s is no pointer", f.name, p.name)
			case !p.out() && i > 0 && f.params[i-1].out():
				return fmt.Errorf("%s: %s stands behind an out parameter", f.name, p.name)
			case !p.out() && h.handles[p.target()]:
				return fmt.Errorf("%s: %s points to a handle", f.name, p.name)
			}
		}
		if f.result != "qtsa_status" && len(f.params) > 0 && f.params[len(f.params)-1].out() {
			return errors.New(f.name + " has an out parameter and gives no status")
		}
	}
	return nil
}

// out says whether the parameter is one that the function fills.
func (p param) out() bool { return strings.HasPrefix(p.name, "out_") }

// target is the type that the parameter points to, "" for none.
func (p param) target() string {
	t, ok := strings.CutSuffix(p.typ, "*")
	if !ok {
		return ""
	}
	return strings.TrimSpace(t)
}

// declaration writes a type and a name as C does.
func declaration(typ, name string) string {
	if strings.HasSuffix(typ, "*") {
		return typ + name
	}
	return typ + " " + name
}
