package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const pythonNotice = "# Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.\n"

// pythonTypes are C's types as ctypes knows them.
var pythonTypes = map[string]string{
	"void": "None", "void *": "c_void_p", "const void *": "c_void_p", "char *": "c_char_p", "const char *": "c_char_p",
	"size_t": "c_size_t", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
	"double": "c_double", "float": "c_float", "uint8_t": "c_uint8", "int8_t": "c_int8",
	"char": "c_char",
}

// pythonName is a name of the header without its prefix, as a class.
func pythonName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "qtsa_"), "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// pythonType is a type of the header as ctypes knows it.
func (h *header) pythonType(typ string) (string, error) {
	if p, ok := pythonTypes[typ]; ok {
		return p, nil
	}
	if h.handles[typ] {
		return "c_void_p", nil
	}
	for _, a := range h.types.aliases {
		if a.name == typ {
			return h.pythonType(a.typ)
		}
	}
	for _, s := range h.types.structs {
		if s.name == typ {
			return pythonName(typ), nil
		}
	}
	for _, c := range h.types.callbacks {
		if c.name == typ {
			return pythonName(typ), nil
		}
	}
	if target, ok := strings.CutSuffix(typ, "*"); ok {
		target = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(target), "const")) // that of a pointer itself
		if p, ok := pythonTypes[target]; ok {
			return "POINTER(" + p + ")", nil
		}
		p, err := h.pythonType(strings.TrimPrefix(target, "const "))
		return "POINTER(" + p + ")", err
	}
	return "", fmt.Errorf("ctypes has nothing for %q", typ)
}

// pythonBindings writes _bindings.py: values, structs and functions.
func pythonBindings(h *header) ([]byte, error) {
	var b bytes.Buffer
	h.pythonValues(&b)
	if err := h.pythonCallbacks(&b); err != nil {
		return nil, err
	}
	for _, s := range h.types.structs {
		fmt.Fprintf(&b, "\n\nclass %s(Structure):\n    _fields_: ClassVar[list[Any]] = [\n", pythonName(s.name))
		for _, f := range s.fields {
			p, err := h.pythonType(f.typ)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", s.name, f.name, err)
			}
			if f.count > 0 {
				p = fmt.Sprintf("%s * %d", p, f.count)
			}
			fmt.Fprintf(&b, "        (\"%s\", %s),\n", f.name, p)
		}
		b.WriteString("    ]\n")
	}
	pythonOperators(&b)
	b.WriteString(`

class Api:
    """The functions of a library that is loaded; a missing one is an AttributeError."""

    def __init__(self, library: CDLL) -> None:
        def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
            f = getattr(library, name)
            f.restype, f.argtypes = result, parameters
            return f  # type: ignore[no-any-return]

`)
	for _, f := range h.functions {
		result, err := h.pythonType(f.result)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		args := []string{`"` + f.name + `"`, result}
		for _, p := range f.params {
			t, err := h.pythonType(p.typ)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			args = append(args, t)
		}
		fmt.Fprintf(&b, "        self.%s = function(%s)\n", strings.TrimPrefix(f.name, "qtsa_"), strings.Join(args, ", "))
	}
	return append(pythonImports(b.String()), b.Bytes()...), nil
}

var ctypesForm = regexp.MustCompile(`\b(?:c_(?:(?:char|void)_p|char|double|float|size_t|u?int\d+)|POINTER|Structure|CDLL|CFUNCTYPE)\b`)

// pythonImports is the head of _bindings.py: of ctypes, what the rest uses.
func pythonImports(body string) []byte {
	used := ctypesForm.FindAllString(body, -1)
	slices.Sort(used)
	used = slices.Compact(used)
	return []byte(pythonNotice + `"""The C API for ctypes, name by name: the header has the words."""

from __future__ import annotations

import enum
from collections.abc import Callable
from ctypes import (
    ` + strings.Join(used, ",\n    ") + `,
)
from typing import Any, ClassVar
`)
}

// pythonValues writes the numbers that have names: statuses and element types as
// enumerations, the others as they are.
func (h *header) pythonValues(b *bytes.Buffer) {
	b.WriteString("\n")
	for _, c := range h.types.constants {
		fmt.Fprintf(b, "%s = %d\n", strings.TrimPrefix(c.name, "QTSA_"), c.value)
	}
	enums := []struct{ class, prefix, words string }{
		{"Status", "QTSA_ERR_", "The result of a call."},
		{"DType", "QTSA_DTYPE_", "The type of a tensor's elements."},
	}
	for _, e := range h.enumerated {
		if e.name != "QTSA_OK" && !strings.HasPrefix(e.name, enums[0].prefix) && !strings.HasPrefix(e.name, enums[1].prefix) {
			fmt.Fprintf(b, "%s = %d\n", strings.TrimPrefix(e.name, "QTSA_"), e.value)
		}
	}
	for _, c := range enums {
		fmt.Fprintf(b, "\n\nclass %s(enum.IntEnum):\n    \"\"\"%s\"\"\"\n\n", c.class, c.words)
		if c.class == "Status" {
			b.WriteString("    OK = 0\n")
		}
		for _, e := range h.enumerated {
			if name, ok := strings.CutPrefix(e.name, c.prefix); ok {
				fmt.Fprintf(b, "    %s = %d\n", name, e.value)
			}
		}
	}
	b.WriteString("\n")
}

func (h *header) pythonCallbacks(b *bytes.Buffer) error {
	for _, c := range h.types.callbacks {
		result, err := h.pythonType(c.result)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		args := []string{result}
		for _, p := range c.params {
			t, err := h.pythonType(p.typ)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			args = append(args, t)
		}
		fmt.Fprintf(b, "\n%s = CFUNCTYPE(%s)\n", pythonName(c.name), strings.Join(args, ", "))
	}
	return nil
}
