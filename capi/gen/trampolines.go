package main

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

const notice = "/* Made by capi/gen from include/qtsaccel.h; do not edit. */\n/* clang-format off */\n"

// trampolines writes the C functions of the header. Functions that give no
// status cannot be refused and are written by hand.
func trampolines(h *header) []byte {
	var b bytes.Buffer
	b.WriteString(notice + `
/*
 * Each function of the header refuses in a forked child and in a callback, sets its
 * out parameters to zero, and calls its Go export. Handles, and what a callback gets as user, go
 * to Go as integers, since as pointers their values would upset its runtime. Each
 * export is declared again here, behind cgo's own declaration, so that the
 * compiler compares the two.
 */
#include <string.h>

#include "_cgo_export.h"
#include "entry.h"
`)
	for _, f := range h.functions {
		if f.result == "qtsa_status" {
			h.trampoline(&b, f)
		}
	}
	return b.Bytes()
}

func (h *header) trampoline(b *bytes.Buffer, f function) {
	var public, export, args []string
	for _, p := range f.params {
		public = append(public, declaration(p.typ, p.name))
		switch {
		case h.handles[p.typ]:
			export = append(export, declaration("uintptr_t", p.name))
			args = append(args, "(uintptr_t)"+p.name)
		case h.handles[p.target()]:
			export = append(export, declaration("uintptr_t *", p.name))
			args = append(args, "&"+made(p))
		case p.typ == "void *" && p.name == "user": // may be any value, no address
			export = append(export, declaration("uintptr_t", p.name))
			args = append(args, "(uintptr_t)"+p.name)
		case p.typ == "const void *": // cgo knows one void pointer only
			export = append(export, declaration("void *", p.name))
			args = append(args, "(void *)"+p.name)
		default:
			export = append(export, declaration(p.typ, p.name))
			args = append(args, p.name)
		}
	}
	fmt.Fprintf(b, "\nextern qtsa_status go_%s(%s);\n\n", f.name, list(export))
	fmt.Fprintf(b, "qtsa_status %s(%s) {\n", f.name, list(public))
	for _, p := range f.params {
		if p.out() {
			fmt.Fprintf(b, "    if (%s)\n        memset(%s, 0, sizeof *%s);\n", p.name, p.name, p.name)
		}
	}
	b.WriteString("    if (capi_forked)\n        return QTSA_ERR_FORKED;\n")
	b.WriteString("    if (capi_callbacks)\n        return capi_refuse_in_callback();\n")
	var makes []param
	for _, p := range f.params {
		if p.out() {
			fmt.Fprintf(b, "    if (!%s)\n        return capi_refuse_null(\"%s\");\n", p.name, p.name)
			if h.handles[p.target()] {
				makes = append(makes, p)
			}
		}
	}
	call := fmt.Sprintf("go_%s(%s)", f.name, strings.Join(args, ", "))
	if len(makes) == 0 {
		fmt.Fprintf(b, "    return %s;\n}\n", call)
		return
	}
	for _, p := range makes {
		fmt.Fprintf(b, "    uintptr_t %s = 0;\n", made(p))
	}
	fmt.Fprintf(b, "    qtsa_status status = %s;\n", call)
	for _, p := range makes {
		fmt.Fprintf(b, "    if (status == QTSA_OK)\n        *%s = (%s)%s;\n", p.name, p.target(), made(p))
	}
	b.WriteString("    return status;\n}\n")
}

// made is the local variable that a new handle comes back in.
func made(p param) string { return "made_" + strings.TrimPrefix(p.name, "out_") }

func list(params []string) string {
	if len(params) == 0 {
		return "void"
	}
	return strings.Join(params, ", ")
}

// constTypes writes a name for every const type that a parameter points to.
// With `typedef const char const_char` a Go export's parameter *C.const_char is
// const char * in the declaration that cgo makes of it.
func constTypes(h *header) []byte {
	seen := map[string]bool{"void": true}
	var lines []string
	for _, f := range h.functions {
		for _, p := range f.params {
			t, ok := strings.CutPrefix(p.target(), "const ")
			if !ok || seen[t] || f.result != "qtsa_status" {
				continue
			}
			seen[t] = true
			lines = append(lines, fmt.Sprintf("typedef const %s const_%s;\n", t, strings.TrimPrefix(t, "qtsa_")))
		}
	}
	sort.Strings(lines)
	return []byte(notice + `
/* cgo has no const; these names carry it into the declarations of Go exports. */
#ifndef QTSACCEL_CAPI_CONST_TYPES_H
#define QTSACCEL_CAPI_CONST_TYPES_H

#include "qtsaccel.h"

` + strings.Join(lines, "") + "\n#endif\n")
}
