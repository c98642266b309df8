package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// A namedType is an enumeration that the header and core both know: core has
// the names, the header the values that hosts compile in.
type namedType struct {
	typ, param, unknown string
	prefix              func(enumerator string) (rest string, ok bool)
	name                func(value int32) string
}

var namedTypes = []namedType{
	{
		typ: "status", param: "status", unknown: "UNKNOWN",
		prefix: func(e string) (string, bool) {
			if e == "QTSA_OK" {
				return "OK", true
			}
			return strings.CutPrefix(e, "QTSA_ERR_")
		},
		name: func(v int32) string { return status.Code(v).String() },
	},
	{
		typ: "dtype", param: "dtype", unknown: "invalid",
		prefix: func(e string) (string, bool) { return strings.CutPrefix(e, "QTSA_DTYPE_") },
		name:   func(v int32) string { return tensor.DType(v).String() },
	},
}

// nameTables writes the functions that give constant names, and fails where the
// header and core differ in a name, a value, or a member.
func nameTables(h *header) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(notice + "\n#include \"qtsaccel.h\"\n")
	for _, t := range namedTypes {
		fmt.Fprintf(&b, "\nconst char *qtsa_%s_name(qtsa_%s %s) {\n    switch (%s) {\n", t.typ, t.typ, t.param, t.param)
		known := map[int32]bool{}
		for _, e := range h.enumerated {
			rest, ok := t.prefix(e.name)
			if !ok {
				continue
			}
			if e.value < math.MinInt32 || e.value > math.MaxInt32 {
				return nil, fmt.Errorf("%s = %d does not fit in 32 bits", e.name, e.value)
			}
			name := t.name(int32(e.value))
			if !strings.EqualFold(name, rest) {
				return nil, fmt.Errorf("%s = %d, but core calls %d %q", e.name, e.value, e.value, name)
			}
			known[int32(e.value)] = true
			fmt.Fprintf(&b, "    case %s:\n        return \"%s\";\n", e.name, name)
		}
		for v := int32(math.MinInt16); v <= math.MaxInt16; v++ {
			if name := t.name(v); name != t.unknown && !known[v] {
				return nil, fmt.Errorf("core's %s %d (%s) is not in the header", t.typ, v, name)
			}
		}
		fmt.Fprintf(&b, "    }\n    return \"%s\";\n}\n", t.unknown)
	}
	return b.Bytes(), nil
}
