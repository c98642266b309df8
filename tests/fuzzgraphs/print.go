package main

import (
	"fmt"
	"strings"

	"qtsaccel/core/ops"
)

// Print writes a case as a Go test, to be put into a file of this package as it is.
func Print(c *Case, f *Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s, seed %d: %s\n", f.Device, f.Seed, strings.ReplaceAll(oneLine(f.Error(), 300), "\n", " "))
	fmt.Fprintf(&b, "func TestSeed%d(t *testing.T) {\n\treplay(t, %q, &Case{\n\t\tSeed: %d,\n", f.Seed, f.Device, c.Seed)
	if len(c.Dims) > 0 {
		texts := make([]string, len(c.Dims))
		for i, d := range c.Dims {
			texts[i] = braces([]int64{d.Min, d.Max})
		}
		fmt.Fprintf(&b, "\t\tDims: []Dim{%s},\n", strings.Join(texts, ", "))
	}
	if len(c.Sums) > 0 {
		texts := make([]string, len(c.Sums))
		for i, s := range c.Sums {
			texts[i] = braces([]int64{int64(s.Op), s.A, s.B})
		}
		fmt.Fprintf(&b, "\t\tSums: []Sum{%s},\n", strings.Join(texts, ", "))
	}
	b.WriteString("\t\tBindings: [][]int64{")
	for i, v := range c.Bindings {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(braces(v))
	}
	b.WriteString("},\n\t\tLeaves: []Leaf{\n")
	for i, l := range c.Leaves {
		fmt.Fprintf(&b, "\t\t\t{%s, %s, []int64%s, %s, %d}, // %d\n", goName(string(l.Kind)), dtypeName(l.DType.String()), braces(l.Shape), goName(string(l.Fill)), l.Data, i)
	}
	b.WriteString("\t\t},\n\t\tPlans: []Plan{\n")
	for _, p := range c.Plans {
		b.WriteString("\t\t\t{Nodes: []Node{\n")
		for i, n := range p.Nodes {
			fmt.Fprintf(&b, "\t\t\t\t{%q, []Ref{%s}, %s}, // %d\n", n.Op, refList(n.In), attrList(n.Attrs), i)
		}
		fmt.Fprintf(&b, "\t\t\t}, Outputs: []Ref{%s}", refList(p.Outputs))
		if p.Capacity > 0 {
			fmt.Fprintf(&b, ", Capacity: %d", p.Capacity)
		}
		b.WriteString("},\n")
	}
	b.WriteString("\t\t},\n\t\tSteps: []Step{\n")
	for _, s := range c.Steps {
		fmt.Fprintf(&b, "\t\t\t{Do: %s, Plan: %d, Binding: %d, Data: %d", actionName(s.Do), s.Plan, s.Binding, s.Data)
		for _, v := range []struct {
			name string
			n    uint64
		}{{"Keep", s.Keep}, {"Unwanted", s.Unwanted}, {"Threads", uint64(s.Threads)}, {"Node", uint64(s.Node)}} {
			if v.n != 0 && (v.name != "Node" || s.Do == Call) {
				fmt.Fprintf(&b, ", %s: %#x", v.name, v.n)
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("\t\t},\n\t})\n}\n")
	return b.String()
}

func oneLine(s string, most int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}

func braces(v []int64) string {
	texts := make([]string, len(v))
	for i, n := range v {
		texts[i] = number(n)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

func number(n int64) string {
	if d, ok := dimOf(n); ok && d >= maxDims {
		return fmt.Sprintf("firstSum + %d", d-maxDims)
	} else if ok {
		return fmt.Sprintf("firstDim + %d", d)
	}
	return fmt.Sprint(n)
}

func refList(refs []Ref) string {
	texts := make([]string, len(refs))
	for i, r := range refs {
		switch {
		case r.none():
			texts[i] = "{noneRef, 0}"
		case r.leaf():
			texts[i] = fmt.Sprintf("leaf(%d)", r.Index)
		case r.Index == 0:
			texts[i] = fmt.Sprintf("result(%d)", r.Node)
		default:
			texts[i] = fmt.Sprintf("{%d, %d}", r.Node, r.Index)
		}
	}
	return strings.Join(texts, ", ")
}

func attrList(attrs []ops.AttrArg) string {
	if len(attrs) == 0 {
		return "nil"
	}
	texts := make([]string, len(attrs))
	for i, a := range attrs {
		switch v := a.Value; v.Type {
		case ops.Int:
			texts[i] = fmt.Sprintf("ops.IntAttr(%q, %s)", a.Name, number(v.Int))
		case ops.Real:
			texts[i] = fmt.Sprintf("ops.RealAttr(%q, %v)", a.Name, v.Real)
		case ops.Text:
			texts[i] = fmt.Sprintf("ops.TextAttr(%q, %q)", a.Name, v.Text)
		default:
			texts[i] = fmt.Sprintf("ops.IntsAttr(%q, %s)", a.Name, strings.Trim(braces(v.Ints), "{}"))
		}
	}
	return "[]ops.AttrArg{" + strings.Join(texts, ", ") + "}"
}

// goName is a constant's name: that of its value with a capital.
func goName(value string) string { return strings.ToUpper(value[:1]) + value[1:] }

func actionName(a Action) string {
	if a == SetAll {
		return "SetAll"
	}
	return goName(string(a))
}

func dtypeName(d string) string {
	switch d {
	case "iq4_nl":
		return "tensor.IQ4NL"
	default:
		return "tensor." + strings.ToUpper(d[:1]) + strings.ToUpper(d[1:])
	}
}
