package main

import (
	"fmt"
	"sort"
	"strings"

	"qtsaccel/core/ops"
)

// Stats counts what was tried.
type Stats struct {
	Cases  int            `json:"cases"`
	Graphs int            `json:"graphs"` // plans of all cases
	Runs   int            `json:"runs"`   // of plans
	Calls  int            `json:"calls"`  // of single operators
	Ops    map[string]int `json:"operators"`
	DTypes map[string]int `json:"dtypes"` // of operators' inputs
	// Agree counts how outputs and states compared with what they are when every
	// tensor is an output.
	Agree       [different + 1]int `json:"agree"`
	Unsupported map[string]int     `json:"unsupported,omitempty"`
	// Odd counts results of devices that differ with NaN, infinities or denormals.
	Odd      map[string]int `json:"odd,omitempty"`
	Failures map[string]int `json:"failures,omitempty"` // by kind and operator
}

func newStats() *Stats {
	return &Stats{Ops: map[string]int{}, DTypes: map[string]int{}, Unsupported: map[string]int{}, Odd: map[string]int{}, Failures: map[string]int{}}
}

func (s *Stats) op(c *ops.Call) {
	s.Ops[c.Op.Name]++
	for _, t := range c.In {
		if t.DType != 0 {
			s.DTypes[t.DType.String()]++
		}
	}
}

func (s *Stats) add(o *Stats) {
	s.Cases += o.Cases
	s.Graphs += o.Graphs
	s.Runs += o.Runs
	s.Calls += o.Calls
	for i, n := range o.Agree {
		s.Agree[i] += n
	}
	for _, m := range [][2]map[string]int{{s.Ops, o.Ops}, {s.DTypes, o.DTypes}, {s.Unsupported, o.Unsupported}, {s.Odd, o.Odd}, {s.Failures, o.Failures}} {
		for k, n := range m[1] {
			m[0][k] += n
		}
	}
}

func (s *Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d graphs in %d cases, %d runs, %d operator calls\n", s.Graphs, s.Cases, s.Runs, s.Calls)
	fmt.Fprintf(&b, "outputs and states, against those of plans with every tensor an output: %d the same bits, %d within a rounding, %d as far as roundings lead\n",
		s.Agree[same], s.Agree[rounded], s.Agree[explained])
	table(&b, "operators held to the reference", s.Ops)
	table(&b, "inputs by dtype", s.DTypes)
	table(&b, "unsupported", s.Unsupported)
	table(&b, "other than the reference with NaN, infinities or denormals", s.Odd)
	table(&b, "failures", s.Failures)
	return b.String()
}

// table prints counts in columns.
func table(b *strings.Builder, title string, counts map[string]int) {
	if len(counts) == 0 {
		return
	}
	names := make([]string, 0, len(counts))
	width := 0
	for n := range counts {
		names = append(names, n)
		width = max(width, len(n))
	}
	sort.Strings(names)
	fmt.Fprintf(b, "%s:\n", title)
	columns := max(1, 96/(width+12))
	for i, n := range names {
		fmt.Fprintf(b, "  %-*s %9d", width, n, counts[n])
		if i%columns == columns-1 || i == len(names)-1 {
			b.WriteByte('\n')
		}
	}
}
