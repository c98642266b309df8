package main

import (
	"bytes"
	"fmt"
)

// layout writes tests/c/programs/layout.h: what the structs of the header look like in
// memory, as compilers of C and C++ confirm. The bindings and core count on it.
func layout(h *header) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(notice + `
/* Where the fields of the header's structs lie, where pointers have 64 bits. */
#ifndef TESTS_LAYOUT_H
#define TESTS_LAYOUT_H

#include <assert.h>

#include "qtsaccel.h"

`)
	for _, s := range h.types.structs {
		at, size, err := h.offsets(s)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "static_assert(sizeof(void *) != 8 || sizeof(%s) == %d, \"size of %s\");\n", s.name, size, s.name)
		for i, f := range s.fields {
			fmt.Fprintf(&b, "static_assert(sizeof(void *) != 8 || offsetof(%s, %s) == %d, \"%s.%s\");\n", s.name, f.name, at[i], s.name, f.name)
		}
	}
	b.WriteString("\n#endif\n")
	return b.Bytes(), nil
}
