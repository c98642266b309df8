package main

import (
	"fmt"
	"regexp"
	"strings"
)

// op is one line of the list, with the comment that stands before it.
type op struct {
	comment  []string
	name     string
	params   []param
	function string // of ggml; "": written by hand
	call     string // of the function, with its arguments
}

type param struct {
	kind kind
	name string
}

// kind is a type of parameters: what it is in C, in Go, and how Go passes it. %s is the
// parameter's name.
type kind struct{ c, goType, pass string }

var kinds = map[string]kind{
	"tensor":   {"shim_tensor %s", "node", "%s.t"},
	"int32":    {"int32_t %s", "C.int32_t", "%s"},
	"float":    {"float %s", "float64", "C.float(%s)"},
	"bool":     {"bool %s", "bool", "C.bool(%s)"},
	"size":     {"size_t %s", "int64", "C.size_t(%s)"},
	"dtype":    {"int32_t %s", "tensor.DType", "dtypes[%s]"},
	"shape":    {"const int64_t %s[4]", "tensor.Shape", "&%sExtents[0]"},
	"int64[4]": {"const int64_t %s[4]", "*[4]C.int64_t", "&%s[0]"},
	"int32[4]": {"const int32_t %s[4]", "*[4]C.int32_t", "&%s[0]"},
	"int32[2]": {"const int32_t %s[2]", "*[2]C.int32_t", "&%s[0]"},
	"size[4]":  {"const size_t %s[4]", "*[4]C.size_t", "&%s[0]"},
}

var line = regexp.MustCompile(`^(\w+)\(([^)]*)\)(?: = ((\w+)\(c, .*\)))?$`)

func parse(text string) ([]op, error) {
	var ops []op
	var comment []string
	seen := map[string]bool{}
	for i, s := range strings.Split(text, "\n") {
		switch {
		case s == "":
			comment = nil
			continue
		case strings.HasPrefix(s, "#"):
			comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(s, "#"), " "))
			continue
		}
		m := line.FindStringSubmatch(s)
		if m == nil || seen[m[1]] {
			return nil, fmt.Errorf("line %d is no new operator: %s", i+1, s)
		}
		seen[m[1]] = true
		o := op{comment: comment, name: m[1], call: m[3], function: m[4]}
		comment = nil
		for p := range strings.SplitSeq(m[2], ", ") {
			k, name, typed := strings.Cut(p, " ")
			if !typed {
				k, name = "tensor", p
			}
			if _, ok := kinds[k]; !ok {
				return nil, fmt.Errorf("line %d: there is no kind of parameters %q", i+1, k)
			}
			o.params = append(o.params, param{kinds[k], name})
		}
		ops = append(ops, o)
	}
	return ops, nil
}
