package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

const abiNotice = `# What programs that are compiled against include/qtsaccel.h rely on, where pointers
# have 64 bits: each line must stay true, and new ones may come. A test holds the header
# to it; "make abi" writes it anew, which after a release may only add lines.
`

// abi lists what compiled programs rely on: functions with their types, values, and
// where the fields of structs are. Fields called reserved may be given a meaning, and
// structs that say their own size may grow.
func abi(h *header) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(abiNotice)
	for _, f := range h.functions {
		fmt.Fprintf(&b, "function %s %s(%s)\n", f.result, f.name, signature(f.params))
	}
	for _, c := range h.types.callbacks {
		fmt.Fprintf(&b, "callback %s %s(%s)\n", c.result, c.name, signature(c.params))
	}
	for _, a := range h.types.aliases {
		fmt.Fprintf(&b, "type %s %s\n", a.name, a.typ)
	}
	for _, e := range h.enumerated {
		fmt.Fprintf(&b, "value %s %d\n", e.name, e.value)
	}
	for _, c := range h.types.constants {
		if !strings.HasPrefix(c.name, "QTSA_VERSION_") {
			fmt.Fprintf(&b, "value %s %d\n", c.name, c.value)
		}
	}
	for _, s := range h.types.structs {
		at, size, err := h.offsets(s)
		if err != nil {
			return nil, err
		}
		for i, f := range s.fields {
			if !strings.HasPrefix(f.name, "reserved") {
				fmt.Fprintf(&b, "field %s.%s %s[%d] at %d\n", s.name, f.name, f.typ, max(f.count, 1), at[i])
			}
		}
		if s.fields[0].name != "struct_size" {
			fmt.Fprintf(&b, "size %s %d\n", s.name, size)
		}
	}
	return b.Bytes(), nil
}

func signature(params []param) string {
	var types []string
	for _, p := range params {
		types = append(types, p.typ)
	}
	return list(types)
}

// broken gives the lines of a recorded interface that are not true any more.
func broken(recorded, now []byte) []string {
	have := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(now)); lines.Scan(); {
		have[lines.Text()] = true
	}
	var gone []string
	for lines := bufio.NewScanner(bytes.NewReader(recorded)); lines.Scan(); {
		if line := lines.Text(); !have[line] && !strings.HasPrefix(line, "#") {
			gone = append(gone, line)
		}
	}
	return gone
}
