package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"qtsaccel/core/ops"
)

// table gives the operators in the order of their names.
func table() []*ops.Op {
	var all []*ops.Op
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		if err != nil {
			panic(err) // Names lists what Lookup finds
		}
		all = append(all, op)
	}
	return all
}

// pythonOps writes ops.py: a function per operator.
func pythonOps() []byte {
	var b bytes.Buffer
	b.WriteString(pythonNotice + `"""The operators: each takes tensors of a graph, or arrays as constants, and adds itself.

docs/operators.md has the table with dtypes, ranks and sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._dim import Size
from ._graph import Graph, Operand, Tensor, add_op

`)
	b.WriteString("__all__ = [\n")
	for _, op := range table() {
		fmt.Fprintf(&b, "    \"%s\",\n", op.Name)
	}
	b.WriteString("]\n")
	for _, op := range table() {
		pythonOp(&b, op)
	}
	return b.Bytes()
}

// pythonOperators writes how many outputs each operator has, and what its attributes are.
func pythonOperators(b *bytes.Buffer) {
	b.WriteString("\n\n# How many outputs an operator has, and the ATTR_* of its attributes.\n")
	b.WriteString("OPERATORS: dict[str, tuple[int, dict[str, int]]] = {\n")
	for _, op := range table() {
		var kinds []string
		for _, a := range op.Attrs {
			kinds = append(kinds, fmt.Sprintf("\"%s\": %d", a.Name, a.Type))
		}
		fmt.Fprintf(b, "    \"%s\": (%d, {%s}),\n", op.Name, max(len(op.Outputs), 1), strings.Join(kinds, ", "))
	}
	b.WriteString("}\n")
}

func pythonOp(b *bytes.Buffer, op *ops.Op) {
	var params, inputs, attrs, words []string
	graph := "None"
	if len(op.Inputs) == 0 {
		params, graph = append(params, "graph: Graph"), "graph"
	}
	variadic := false
	for i := range op.Inputs {
		in := &op.Inputs[i]
		switch {
		case in.Variadic:
			params, inputs, variadic = append(params, "*"+in.Name+": Operand"), append(inputs, "*"+in.Name), true
		case in.Optional:
			params, inputs = append(params, in.Name+": Operand | None = None"), append(inputs, in.Name)
		default:
			params, inputs = append(params, in.Name+": Operand"), append(inputs, in.Name)
		}
		words = append(words, fmt.Sprintf("    %s: %s%s", in.Name, in.DTypes, optional(in)))
	}
	if len(op.Attrs) > 0 && !variadic {
		params = append(params, "*")
	}
	for _, a := range op.Attrs {
		params = append(params, a.Name+": "+pythonAttr(a))
		attrs = append(attrs, fmt.Sprintf("(\"%s\", %d, %s)", a.Name, a.Type, a.Name))
		words = append(words, fmt.Sprintf("    %s: %s", a.Name, a.Text()))
	}
	result, outputs := "Tensor", "[0]"
	if n := len(op.Outputs); n > 1 {
		result = "tuple[" + strings.TrimSuffix(strings.Repeat("Tensor, ", n), ", ") + "]"
		outputs = ""
	}
	fmt.Fprintf(b, "\n\ndef %s(%s) -> %s:\n", op.Name, strings.Join(params, ", "), result)
	fmt.Fprintf(b, "    r\"\"\"%s.\n\n%s\n    \"\"\"\n", op.Summary, strings.Join(words, "\n"))
	call := fmt.Sprintf("add_op(%s, \"%s\", %s, %s, %d)", graph, op.Name, tuple(inputs), tuple(attrs), len(op.Outputs))
	if outputs != "" {
		fmt.Fprintf(b, "    return %s%s\n", call, outputs)
		return
	}
	var names []string
	for i := range op.Outputs {
		names = append(names, fmt.Sprintf("out[%d]", i))
	}
	fmt.Fprintf(b, "    out = %s\n    return %s\n", call, strings.Join(names, ", "))
}

func optional(in *ops.Input) string {
	if in.Optional {
		return ", optional"
	}
	return ""
}

func tuple(items []string) string {
	if len(items) == 1 {
		return "(" + items[0] + ",)"
	}
	return "(" + strings.Join(items, ", ") + ")"
}

// pythonAttr is an attribute's type, and its default where it has one.
func pythonAttr(a ops.Attr) string {
	typ := map[ops.AttrType]string{
		ops.Int: "Size", ops.Real: "float", ops.Text: "str", ops.Ints: "Size | Sequence[Size]", ops.Reals: "float | Sequence[float]",
	}[a.Type]
	d := a.Default
	switch d.Type {
	case ops.Int:
		return typ + " = " + strconv.FormatInt(d.Int, 10)
	case ops.Real:
		text := strconv.FormatFloat(d.Real, 'g', -1, 64)
		switch {
		case math.IsInf(d.Real, 0):
			text = `float("` + strings.ToLower(strings.TrimPrefix(text, "+")) + `")`
		case !strings.ContainsAny(text, ".e"):
			text += ".0"
		}
		return typ + " = " + text
	case ops.Text:
		return typ + " = " + strconv.Quote(d.Text)
	case ops.Ints:
		var items []string
		for _, v := range d.Ints {
			items = append(items, strconv.FormatInt(v, 10))
		}
		return typ + " = " + tuple(items)
	case ops.Reals:
		var items []string
		for _, v := range d.Reals {
			items = append(items, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return typ + " = " + tuple(items)
	default:
		return typ
	}
}
