package main

import (
	"bytes"
	"fmt"
	"strings"
)

// everyFunction writes tests/c/programs/every_function.h: a call of each function that
// gives a status, for tests of what all of them refuse alike.
func everyFunction(h *header) []byte {
	var b bytes.Buffer
	b.WriteString(notice + `
/* Calls every function that gives a status, with the model's handles and otherwise with
 * nothing, and tells each status. For where all of them refuse. */
#ifndef TESTS_EVERY_FUNCTION_H
#define TESTS_EVERY_FUNCTION_H

#include "model.h"

static inline void every_function(const model *m, void (*told)(qtsa_status status, const char *function)) {
`)
	for _, f := range h.functions {
		if f.result != "qtsa_status" {
			continue
		}
		var outs, args []string
		for _, p := range f.params {
			switch {
			case p.out():
				outs = append(outs, declaration(p.target(), p.name)+";")
				args = append(args, "&"+p.name)
			case h.handles[p.typ] && p.typ != "qtsa_matrix":
				args = append(args, "m->"+strings.TrimPrefix(p.typ, "qtsa_"))
			case strings.HasSuffix(p.typ, "*") || h.handles[p.typ] || strings.HasSuffix(p.typ, "_callback"):
				args = append(args, "NULL")
			default:
				args = append(args, "0")
			}
		}
		call := fmt.Sprintf("told(%s(%s), \"%s\");", f.name, strings.Join(args, ", "), f.name)
		if len(outs) > 0 {
			call = "{ " + strings.Join(outs, " ") + " " + call + " }"
		}
		fmt.Fprintf(&b, "    %s\n", call)
	}
	b.WriteString("}\n\n#endif\n")
	return b.Bytes()
}
