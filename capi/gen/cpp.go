package main

import (
	"bytes"
	"fmt"
	"strings"

	"qtsaccel/core/ops"
)

// cppOps writes qtsaccel_ops.hpp: a function per operator.
func cppOps() []byte {
	var b bytes.Buffer
	b.WriteString(`// Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.
// clang-format off
//
// The second half of qtsaccel.hpp, which includes it. An operator is a function
// that takes tensors, then what must be given, then optional tensors, then its
// other attributes:
//
//     auto y = ops::conv1d(x, weight, bias, ops::conv1d_attrs().stride({2}).padding({1}));
#ifndef QTSACCEL_OPS_HPP
#define QTSACCEL_OPS_HPP

#ifndef QTSACCEL_HPP
#error "include qtsaccel.hpp, of which this is a part"
#endif

`)
	b.WriteString("namespace qtsa {\nnamespace ops {\n")
	for _, op := range table() {
		cppOp(&b, op)
	}
	b.WriteString("\n} // namespace ops\n} // namespace qtsa\n\n#endif\n")
	return b.Bytes()
}

// cppAttrTypes are the types that attributes have as parameters.
var cppAttrTypes = map[ops.AttrType]string{
	ops.Int: "size_arg", ops.Real: "double", ops.Text: "const char *", ops.Ints: "const sizes &", ops.Reals: "reals",
}

func cppOp(b *bytes.Buffer, op *ops.Op) {
	var optionals []ops.Attr
	var params, inputs, required, after []string
	if len(op.Inputs) == 0 {
		params = append(params, "graph &to")
	}
	for i := range op.Inputs {
		in := &op.Inputs[i]
		switch {
		case in.Variadic:
			params, inputs = append(params, "std::initializer_list<tensor> "+in.Name), append(inputs, in.Name)
		case in.Optional:
			after, inputs = append(after, "tensor "+in.Name+" = {}"), append(inputs, in.Name)
		default:
			params, inputs = append(params, "tensor "+in.Name), append(inputs, in.Name)
		}
	}
	for _, a := range op.Attrs {
		if a.Default.Type != 0 {
			optionals = append(optionals, a)
			continue
		}
		// An input may have the same name.
		params = append(params, cppAttrTypes[a.Type]+" "+a.Name)
		required = append(required, fmt.Sprintf("    attrs.set(\"%s\", %s);\n", a.Name, a.Name))
	}
	params = append(params, after...)
	attrs := "attributes"
	if len(optionals) > 0 {
		attrs = op.Name + "_attrs"
		cppAttrs(b, op, optionals)
		params = append(params, attrs+" attrs = {}")
	}
	fmt.Fprintf(b, "\n/** %s. */\n", op.Summary)
	for _, a := range op.Attrs {
		if a.Default.Type == 0 {
			fmt.Fprintf(b, "/** %s: %s. */\n", a.Name, a.Text())
		}
	}
	result := "tensor"
	if n := len(op.Outputs); n > 1 {
		result = fmt.Sprintf("std::array<tensor, %d>", n)
	}
	fmt.Fprintf(b, "inline %s %s(%s) {\n", result, op.Name, strings.Join(params, ", "))
	if len(optionals) == 0 {
		fmt.Fprintf(b, "    %s attrs;\n", attrs)
	}
	b.WriteString(strings.Join(required, ""))
	list := "{" + strings.Join(inputs, ", ") + "}"
	if len(op.Inputs) == 1 && op.Inputs[0].Variadic {
		list = inputs[0]
	}
	where := ""
	if len(op.Inputs) == 0 {
		where = "to, "
	}
	if len(op.Outputs) > 1 {
		fmt.Fprintf(b, "    return detail::add_op<%d>(%s\"%s\", %s, attrs);\n}\n", len(op.Outputs), where, op.Name, list)
		return
	}
	fmt.Fprintf(b, "    return detail::add_op<1>(%s\"%s\", %s, attrs)[0];\n}\n", where, op.Name, list)
}

// cppAttrs writes the class of an operator's attributes that may be left out.
func cppAttrs(b *bytes.Buffer, op *ops.Op, attrs []ops.Attr) {
	fmt.Fprintf(b, "\nclass %s_attrs : public attributes {\npublic:\n", op.Name)
	for _, a := range attrs {
		fmt.Fprintf(b, "    /** %s. */\n    %s_attrs &%s(%s v) { set(\"%s\", v); return *this; }\n",
			a.Text(), op.Name, a.Name, cppAttrTypes[a.Type], a.Name)
	}
	b.WriteString("};\n")
}
