package ops

import (
	"fmt"
	"strconv"
	"strings"
)

// Markdown is the operator table for readers, docs/operators.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Operators

Generated from the operator table by ` + "`go generate ./core/ops`" + `; do not edit.

What ` + "`qtsa_graph_op`" + ` takes: the operator's name, its inputs in this order, its attributes by name. An attribute with another value than the table allows is INVALID_ARGUMENT; devices keep floats in f32. Shapes are row-major, outermost dimension first; the result is f32 unless said. An operator that a device has no kernel for is decomposed into others where the table says how; the error allowed is relative to the largest magnitude of the exact result (and at least to 1), for f32 inputs.

`)
	names := Names()
	for i, n := range names {
		if i > 0 {
			b.WriteString(" · ")
		}
		fmt.Fprintf(&b, "[%s](#%s)", n, n)
	}
	b.WriteString("\n")
	for _, n := range names {
		table[n].markdown(&b)
	}
	return b.String()
}

func (op *Op) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`\n\n%s.\n", op.Name, op.signature(), escaped(op.Summary))
	if len(op.Inputs) > 0 {
		b.WriteString("\n| input | dtype | dimensions | |\n| --- | --- | --- | --- |\n")
		for i := range op.Inputs {
			in := &op.Inputs[i]
			fmt.Fprintf(b, "| `%s` | %v | %s | %s |\n", in.Name, in.DTypes, in.ranks(), strings.Join(in.notes(op, i), "; "))
		}
	}
	if len(op.Attrs) > 0 {
		b.WriteString("\n| attribute | type | values | default | |\n| --- | --- | --- | --- | --- |\n")
		for _, a := range op.Attrs {
			values := a.Limits()
			if values == "" {
				values = "any"
			}
			fmt.Fprintf(b, "| `%s` | %v | %s | %s | %s |\n", a.Name, a.Type, escaped(values), a.Default.markdown(), escaped(a.Summary))
		}
	}
	var facts []string
	if len(op.Outputs) > 1 {
		facts = append(facts, fmt.Sprintf("Outputs: `%s`.", strings.Join(op.Outputs, "`, `")))
	}
	if op.OutputBelow != nil {
		facts = append(facts, fmt.Sprintf("`%s` can serve as indices where its bound is known.", op.Outputs[op.IndexOutput]))
	}
	if op.Decompose != nil {
		facts = append(facts, "Can be decomposed.")
	}
	if op.Tolerance == 0 {
		facts = append(facts, "Exact.")
	} else {
		facts = append(facts, fmt.Sprintf("Error allowed: %g.", op.Tolerance))
	}
	if op.LosesNaN {
		facts = append(facts, "Devices other than the CPU may give a number where the result is NaN.")
	}
	if op.OnDevices != "" {
		facts = append(facts, escaped(op.OnDevices)+".")
	}
	fmt.Fprintf(b, "\n%s Source: %s.\n", strings.Join(facts, " "), escaped(op.Source))
}

func (op *Op) signature() string {
	names := op.inputNames()
	for i, a := range op.Attrs {
		switch {
		case i == 0 && names != "":
			names += "; "
		case i > 0:
			names += ", "
		}
		names += a.Name
	}
	return fmt.Sprintf("%s(%s) -> %s", op.Name, names, strings.Join(op.Outputs, ", "))
}

func (in *Input) ranks() string {
	most := in.MaxRank
	if most == 0 {
		most = 4
	}
	if in.MinRank == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", in.MinRank, most)
}

func (in *Input) notes(op *Op, i int) []string {
	var notes []string
	if in.Optional {
		notes = append(notes, "optional")
	}
	if in.Variadic {
		notes = append(notes, "once or more")
	}
	if in.Below != nil {
		notes = append(notes, "indices, checked before a run")
	}
	if in.FromHost {
		notes = append(notes, "an input of the graph")
	}
	if op.Writes && i == 0 {
		notes = append(notes, "a state, which is changed")
	}
	return notes
}

func (v AttrValue) markdown() string {
	switch v.Type {
	case Int:
		if v.Int == 1<<63-1 {
			return "the greatest int64"
		}
		return strconv.FormatInt(v.Int, 10)
	case Real:
		return strconv.FormatFloat(v.Real, 'g', -1, 64)
	case Text:
		return strconv.Quote(v.Text)
	case Ints:
		return fmt.Sprint(v.Ints)
	case Reals:
		return fmt.Sprint(v.Reals)
	default:
		return "must be given"
	}
}

// escaped keeps Markdown from reading a formula's stars and bars as its own.
func escaped(s string) string {
	return strings.NewReplacer("*", `\*`, "|", `\|`, "_", `\_`, "<", "&lt;").Replace(s)
}
