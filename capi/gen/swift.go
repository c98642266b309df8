package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qtsaccel/core/ops"
)

// swiftTypes are the types that attributes have as parameters, and the cases of
// Attribute that hold them.
var swiftTypes = map[ops.AttrType][2]string{
	ops.Int: {"any Size", "int"}, ops.Real: {"Double", "float"}, ops.Text: {"String", "string"},
	ops.Ints: {"[any Size]", "ints"}, ops.Reals: {"[Double]", "floats"},
}

// swiftValues writes Values.swift: the header's element types and statuses.
func swiftValues(h *header) []byte {
	var b bytes.Buffer
	b.WriteString("// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.\n")
	for _, list := range []struct{ opening, form, prefix string }{
		{"extension DType {", "    public static let %s = DType(rawValue: %d)\n", "QTSA_DTYPE_"},
		{"/// Values of `status`.\nextension QtsError {", "    public static let %s: Int32 = %d\n", "QTSA_ERR_"},
	} {
		fmt.Fprintf(&b, "\n%s\n", list.opening)
		for _, e := range h.enumerated {
			if name, ok := strings.CutPrefix(e.name, list.prefix); ok {
				name = strings.ToLower(name)
				if list.prefix == "QTSA_ERR_" {
					name = swiftName(name)
				}
				fmt.Fprintf(&b, list.form, name, e.value)
			}
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// swiftOps writes Ops.swift: a function per operator.
func swiftOps() []byte {
	var b bytes.Buffer
	b.WriteString(`// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.

/// The operators: each adds itself to the graph of its tensors.
/// docs/operators.md has the table with dtypes, ranks and sources.
public enum Ops {`)
	for _, op := range table() {
		swiftOp(&b, op)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// swiftName is a name as Swift writes it, rmsNorm.
func swiftName(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	name = strings.Join(parts, "")
	if slices.Contains([]string{"where", "repeat", "default", "in", "is", "as", "internal"}, name) {
		return "`" + name + "`"
	}
	return name
}

func swiftOp(b *bytes.Buffer, op *ops.Op) {
	var params, inputs, attrs, words []string
	graph := "graph"
	if len(op.Inputs) == 0 {
		params = append(params, "_ graph: Graph")
	} else {
		graph = swiftName(op.Inputs[0].Name) + ".graph"
	}
	list := ""
	for i := range op.Inputs {
		in := &op.Inputs[i]
		name := swiftName(in.Name)
		switch {
		case in.Variadic:
			// At least one, so that there is a graph.
			params = append(params, "_ "+name+": Tensor", "_ more: Tensor...")
			list = "[" + name + "] + more"
		case in.Optional:
			params, inputs = append(params, name+": Tensor? = nil"), append(inputs, name)
		default:
			params, inputs = append(params, "_ "+name+": Tensor"), append(inputs, name)
		}
		words = append(words, fmt.Sprintf("    /// - %s: %s%s", name, in.DTypes, optional(in)))
	}
	if list == "" {
		list = "[" + strings.Join(inputs, ", ") + "]"
	}
	for _, a := range op.Attrs {
		name := swiftName(a.Name)
		params = append(params, name+": "+swiftTypes[a.Type][0]+swiftDefault(a.Default))
		attrs = append(attrs, fmt.Sprintf(".%s(%q, %s)", swiftTypes[a.Type][1], a.Name, name))
		words = append(words, fmt.Sprintf("    /// - %s: %s", name, a.Text()))
	}
	result, pick := "Tensor", "[0]"
	if n := len(op.Outputs); n > 1 {
		var names, picks []string
		for i, o := range op.Outputs {
			names, picks = append(names, swiftName(o)+": Tensor"), append(picks, fmt.Sprintf("out[%d]", i))
		}
		result, pick = "("+strings.Join(names, ", ")+")", "("+strings.Join(picks, ", ")+")"
	}
	fmt.Fprintf(b, "\n    /// %s.\n    ///\n%s\n", op.Summary, strings.Join(words, "\n"))
	fmt.Fprintf(b, "    public static func %s(%s) throws -> %s {\n", swiftName(op.Name), strings.Join(params, ", "), result)
	call := fmt.Sprintf("try %s.add(%q, %s, [%s], outputs: %d)", graph, op.Name, list, strings.Join(attrs, ", "), len(op.Outputs))
	if len(op.Outputs) > 1 {
		fmt.Fprintf(b, "        let out = %s\n        return %s\n    }\n", call, pick)
		return
	}
	fmt.Fprintf(b, "        %s%s\n    }\n", call, pick)
}

func swiftDefault(d ops.AttrValue) string {
	var items []string
	switch d.Type {
	case ops.Int:
		return " = " + strconv.FormatInt(d.Int, 10)
	case ops.Real:
		return " = " + strconv.FormatFloat(d.Real, 'g', -1, 64)
	case ops.Text:
		return " = " + strconv.Quote(d.Text)
	case ops.Ints:
		for _, v := range d.Ints {
			items = append(items, strconv.FormatInt(v, 10))
		}
	case ops.Reals:
		for _, v := range d.Reals {
			items = append(items, strconv.FormatFloat(v, 'g', -1, 64))
		}
	default:
		return ""
	}
	return " = [" + strings.Join(items, ", ") + "]"
}
