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

#include "qtsaccel.h"

/* Does not compile where it does not hold, in any version of C and C++. */
#define LAYOUT(holds) extern char layout_is_right[(sizeof(void *) != 8 || (holds)) ? 1 : -1]

`)
	for _, s := range h.types.structs {
		at, size, err := h.offsets(s)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "LAYOUT(sizeof(%s) == %d);\n", s.name, size)
		for i, f := range s.fields {
			fmt.Fprintf(&b, "LAYOUT(offsetof(%s, %s) == %d);\n", s.name, f.name, at[i])
		}
	}
	b.WriteString("\n#endif\n")
	return b.Bytes(), nil
}
