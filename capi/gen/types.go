package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// types is what the header says besides its functions, for the bindings: structs
// with their fields, names for number types and callbacks, numbers given a name.
type types struct {
	aliases   []alias
	callbacks []function
	structs   []structure
	constants []enumerator
}

// alias is a name for one of C's own types.
type alias struct{ name, typ string }

// structure is a struct that hosts fill or read.
type structure struct {
	name   string
	fields []field
}

// field is one member; count is 0 where it is no array.
type field struct {
	param
	count int64
}

var (
	aliasForm    = regexp.MustCompile(`typedef (\w+) (qtsa_\w+);`)
	callbackForm = regexp.MustCompile(`typedef (\w+) \(\*(qtsa_\w+)\)\(([^)]*)\);`)
	structForm   = regexp.MustCompile(`typedef struct (qtsa_\w+) \{([^}]*)\} (qtsa_\w+);`)
	arrayForm    = regexp.MustCompile(`^(.*)\[(\w+)\]$`)
	constantForm = regexp.MustCompile(`(?m)^#define (QTSA_\w+) (?:\(\(\w+\)\()?(-?\d+)\)?\)?\s*$`)
)

// parseTypes reads the header's types; text still has its directives.
func parseTypes(text string) (*types, error) {
	text = commentForm.ReplaceAllString(text, " ")
	t := &types{}
	values := map[string]int64{}
	for _, m := range constantForm.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[1], err)
		}
		t.constants = append(t.constants, enumerator{m[1], value})
		values[m[1]] = value
	}
	text = spaceForm.ReplaceAllString(directiveForm.ReplaceAllString(text, " "), " ")
	for _, m := range aliasForm.FindAllStringSubmatch(text, -1) {
		t.aliases = append(t.aliases, alias{m[2], m[1]})
	}
	for _, m := range callbackForm.FindAllStringSubmatch(text, -1) {
		params, err := parseParams(m[2], m[3])
		if err != nil {
			return nil, err
		}
		t.callbacks = append(t.callbacks, function{result: m[1], name: m[2], params: params})
	}
	for _, m := range structForm.FindAllStringSubmatch(text, -1) {
		if m[1] != m[3] {
			return nil, fmt.Errorf("struct %s is called %s", m[1], m[3])
		}
		s := structure{name: m[1]}
		for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(m[2]), ";"), ";") {
			f, err := parseField(strings.TrimSpace(part), values)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			s.fields = append(s.fields, f)
		}
		t.structs = append(t.structs, s)
	}
	return t, nil
}

func parseField(text string, values map[string]int64) (field, error) {
	var f field
	if m := arrayForm.FindStringSubmatch(text); m != nil {
		n, ok := values[m[2]]
		if !ok {
			var err error
			if n, err = strconv.ParseInt(m[2], 10, 64); err != nil {
				return f, fmt.Errorf("the length of %q is no number", text)
			}
		}
		f.count, text = n, m[1]
	}
	m := paramForm.FindStringSubmatch(text)
	if m == nil {
		return f, fmt.Errorf("field %q has no name", text)
	}
	f.param = param{typ: strings.TrimSpace(m[1]), name: m[2]}
	return f, nil
}

// size gives what a type takes in memory where pointers have 64 bits, and the
// address that it wants to lie at a multiple of.
func (h *header) size(typ string) (int64, error) {
	if strings.HasSuffix(typ, "*") || h.handles[typ] {
		return 8, nil
	}
	for _, c := range h.types.callbacks {
		if c.name == typ {
			return 8, nil
		}
	}
	for _, a := range h.types.aliases {
		if a.name == typ {
			return h.size(a.typ)
		}
	}
	switch typ {
	case "size_t", "int64_t", "uint64_t", "double":
		return 8, nil
	case "int32_t", "uint32_t", "float":
		return 4, nil
	case "uint8_t", "int8_t", "char":
		return 1, nil
	}
	return 0, fmt.Errorf("the size of %q is not known", typ)
}

// offsets gives where the fields of a struct begin, and its size.
func (h *header) offsets(s structure) (at []int64, size int64, err error) {
	align := int64(1)
	for _, f := range s.fields {
		n, err := h.size(f.typ)
		if err != nil {
			return nil, 0, fmt.Errorf("%s.%s: %w", s.name, f.name, err)
		}
		size = (size + n - 1) / n * n
		at = append(at, size)
		size += n * max(f.count, 1)
		align = max(align, n)
	}
	return at, (size + align - 1) / align * align, nil
}
