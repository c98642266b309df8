package graph

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Snapshot is a graph as it was at one moment.
type Snapshot struct {
	sizes
	graph   *Graph
	tensors []tensorDef
	nodes   []nodeDef
	inputs  []ops.Ref
	outputs []output
}

// Release gives the reference to the graph back.
func (s *Snapshot) Release() { s.graph.Release() }

// Label is the graph's.
func (s *Snapshot) Label() string { return s.graph.label }

// Dims are the dynamic dimensions in the order of their declaration.
func (s *Snapshot) Dims() []Dim { return s.dims }

// InputIndex finds an input's place among the inputs, OutputIndex an output's.
func (s *Snapshot) InputIndex(name string) (int, error) {
	names := make([]string, len(s.inputs))
	for i, r := range s.inputs {
		names[i] = s.tensors[r].name
	}
	return s.find("input", name, names)
}

// OutputIndex finds an output's place among the outputs.
func (s *Snapshot) OutputIndex(name string) (int, error) {
	names := make([]string, len(s.outputs))
	for i, o := range s.outputs {
		names[i] = o.name
	}
	return s.find("output", name, names)
}

func (s *Snapshot) find(what, name string, names []string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	known := "it has none"
	if len(names) > 0 {
		known = fmt.Sprintf("it has %q", names)
	}
	return 0, status.Errorf(status.NotFound, "graph %q has no %s %q; %s", s.graph.label, what, name, known)
}

// States lists the states that the graph declares.
func (s *Snapshot) States() (names []string, types []tensor.Type) {
	for i := range s.tensors {
		if t := &s.tensors[i]; t.kind == State {
			names, types = append(names, t.name), append(types, t.declared)
		}
	}
	return names, types
}

// CheckDims says what is wrong with values for the dynamic dimensions.
func (s *Snapshot) CheckDims(dims []int64) error {
	if len(dims) != len(s.dims) {
		return status.Errorf(status.InvalidArgument, "graph %q: %d values are given for %d dynamic dimensions",
			s.graph.label, len(dims), len(s.dims))
	}
	for i, d := range s.dims {
		if dims[i] < d.Min || dims[i] > d.Max {
			return status.Errorf(status.InvalidArgument, "graph %q: dynamic dimension %q is %d, it ranges from %d to %d",
				s.graph.label, d.Name, dims[i], d.Min, d.Max)
		}
	}
	return nil
}

// DimsText writes values of the dynamic dimensions, each behind a space: " n=3".
func (s *Snapshot) DimsText(dims []int64) string {
	var b strings.Builder
	for i, d := range s.dims {
		fmt.Fprintf(&b, " %s=%d", d.Name, dims[i])
	}
	return b.String()
}

// Bind makes the program for values of the dynamic dimensions, out of operators
// that supports accepts: what it refuses is decomposed. What cannot be made of
// supported operators is UNSUPPORTED, with the twelve most frequent listed.
func (s *Snapshot) Bind(dims []int64, supports func(*ops.Call) bool) (*Program, error) {
	if err := s.CheckDims(dims); err != nil {
		return nil, err
	}
	v, below, err := s.view(dims)
	if err != nil {
		return nil, status.Wrapf(err, "graph %q", s.graph.label)
	}
	b := &binder{
		program:  &Program{Label: s.graph.label, Dims: s.DimsText(dims)},
		supports: supports,
		placed:   map[ops.Ref]int{},
		written:  map[ops.Ref]bool{},
		missing:  map[string]int{},
	}
	for _, r := range s.inputs {
		i := b.leaf(s, v, r)
		b.program.Tensors[i].Below = below[r]
		b.program.Inputs = append(b.program.Inputs, i)
	}
	live := s.live()
	for i := range s.nodes {
		if !live[i] {
			continue
		}
		b.origin = i
		if err := b.node(s, v, i); err != nil {
			return nil, status.Wrapf(err, "graph %q: op %d %q", s.graph.label, i, s.nodes[i].op.Name)
		}
	}
	if len(b.missing) > 0 {
		return nil, status.Errorf(status.Unsupported, "graph %q: the backend has neither a kernel nor a decomposition for %s",
			s.graph.label, mostFrequent(b.missing))
	}
	for _, o := range s.outputs {
		b.program.Outputs = append(b.program.Outputs, b.leaf(s, v, o.ref))
		b.program.OutputNames = append(b.program.OutputNames, o.name)
	}
	return b.program, nil
}

// Ports are the types of the inputs and outputs for values of the dynamic dimensions.
type Ports struct{ In, Out []tensor.Type }

// Ports computes what the inputs and outputs are for values of the dynamic dimensions.
func (s *Snapshot) Ports(dims []int64) (Ports, error) {
	if err := s.CheckDims(dims); err != nil {
		return Ports{}, err
	}
	v, _, err := s.view(dims)
	if err != nil {
		return Ports{}, status.Wrapf(err, "graph %q", s.graph.label)
	}
	var p Ports
	for _, r := range s.inputs {
		p.In = append(p.In, v.types[r])
	}
	for _, o := range s.outputs {
		p.Out = append(p.Out, v.types[o.ref])
	}
	return p, nil
}

// view computes every type for values of the dynamic dimensions, and the bounds
// of the inputs that serve as indices.
func (s *Snapshot) view(dims []int64) (*view, map[ops.Ref]int64, error) {
	v := &view{sizes: &s.sizes, dims: dims, types: make([]tensor.Type, len(s.tensors)), calls: make([]*ops.Call, len(s.nodes))}
	below := map[ops.Ref]int64{}
	for i := range s.tensors {
		if s.tensors[i].node >= 0 {
			continue
		}
		t, err := v.leaf(&s.tensors[i])
		if err != nil {
			return nil, nil, status.Wrapf(err, "%v %q, with%s", s.tensors[i].kind, s.tensors[i].name, s.DimsText(dims))
		}
		v.types[i] = t
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		c, err := v.call(n)
		if err == nil {
			v.calls[i] = c
			for j, r := range n.out {
				v.types[r] = c.Out[j]
			}
			err = s.bound(v, n, c, below)
		}
		if err != nil {
			return nil, nil, status.Wrapf(err, "op %d %q, with%s", i, n.op.Name, s.DimsText(dims))
		}
	}
	return v, below, nil
}

// live marks the nodes that an output or a state needs.
func (s *Snapshot) live() []bool {
	live := make([]bool, len(s.nodes))
	var mark func(ops.Ref)
	mark = func(r ops.Ref) {
		if r == ops.None || s.tensors[r].node < 0 || live[s.tensors[r].node] {
			return
		}
		n := s.tensors[r].node
		live[n] = true
		for _, in := range s.nodes[n].in {
			mark(in)
		}
	}
	for _, o := range s.outputs {
		mark(o.ref)
	}
	for i := range s.nodes {
		if s.nodes[i].op.Writes {
			mark(s.nodes[i].out[0])
		}
	}
	return live
}

// binder puts a program together. As an [ops.Builder] it takes the operators of
// a decomposition; their tensors are numbered as the program's are.
type binder struct {
	program  *Program
	supports func(*ops.Call) bool
	placed   map[ops.Ref]int  // the graph's tensors in the program
	written  map[ops.Ref]bool // of the program's, those that are a state after it was written
	missing  map[string]int   // operators that cannot be had, counted
	origin   int
	depth    int
}

// maxDepth ends a decomposition that leads to itself.
const maxDepth = 16

// leaf places a tensor that no node computes; one that a node computed is there.
func (b *binder) leaf(s *Snapshot, v *view, r ops.Ref) int {
	if i, ok := b.placed[r]; ok {
		return i
	}
	def := &s.tensors[r]
	i := b.tensor(ProgramTensor{Kind: def.kind, Name: def.name, Type: v.types[r], Weight: def.weight})
	b.placed[r] = i
	return i
}

func (b *binder) tensor(t ProgramTensor) int {
	b.program.Tensors = append(b.program.Tensors, t)
	return len(b.program.Tensors) - 1
}

// node adds a node of the graph.
func (b *binder) node(s *Snapshot, v *view, index int) error {
	n := &s.nodes[index]
	in := make([]ops.Ref, len(n.in))
	for i, r := range n.in {
		in[i] = ops.None
		if r != ops.None {
			in[i] = ops.Ref(b.leaf(s, v, r))
		}
	}
	out, err := b.add(v.calls[index], in)
	if err != nil {
		return err
	}
	for i, r := range n.out {
		b.placed[r] = int(out[i])
	}
	return nil
}

// Add is for decompositions.
func (b *binder) Add(name string, in []ops.Ref, attrs ...ops.AttrArg) ([]ops.Ref, error) {
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, err
	}
	values, err := op.Bind(attrs)
	if err != nil {
		return nil, status.Wrapf(err, "%q", name)
	}
	types := make([]tensor.Type, len(in))
	for i, r := range in {
		if r != ops.None {
			types[i] = b.program.Tensors[r].Type
		}
	}
	c, err := op.NewCall(types, values)
	if err != nil {
		return nil, status.Wrapf(err, "%q", name)
	}
	return b.add(c, in)
}

// add puts a call into the program, decomposed where the backend lacks it.
func (b *binder) add(c *ops.Call, in []ops.Ref) ([]ops.Ref, error) {
	if b.supports(c) {
		return b.append(c, in), nil
	}
	var out []ops.Ref
	err := ops.ErrNoDecomposition
	if c.Op.Decompose != nil && b.depth < maxDepth {
		b.depth++
		out, err = c.Op.Decompose(b, c, in)
		b.depth--
	}
	if errors.Is(err, ops.ErrNoDecomposition) {
		// Going on finds all that is missing, not the first only.
		b.missing[c.Op.Name]++
		return b.append(c, in), nil
	}
	if err != nil {
		return nil, status.Wrapf(err, "decomposition of %q", c.Op.Name)
	}
	for i, r := range out {
		if got := b.program.Tensors[r].Type; !got.Equal(c.Out[i]) {
			return nil, status.Errorf(status.Internal, "decomposition of %q gives %v for output %d, want %v", c.Op.Name, got, i, c.Out[i])
		}
		if b.isState(r) {
			if out[i], err = b.look(r); err != nil {
				return nil, status.Wrapf(err, "decomposition of %q", c.Op.Name)
			}
		}
	}
	return out, nil
}

// isState says whether a tensor is a state's memory, whose content later nodes may change.
func (b *binder) isState(r ops.Ref) bool { return b.program.Tensors[r].Kind == State || b.written[r] }

// look gives a state's content as it is now. A decomposition may end with the state itself
// where nothing is left to do, padding of nothing for one; what the operator gives is a
// tensor of its own all the same.
func (b *binder) look(r ops.Ref) (ops.Ref, error) {
	out, err := b.Add("reshape", []ops.Ref{r}, ops.IntsAttr("shape", b.program.Tensors[r].Type.Shape...))
	if err != nil {
		return ops.None, err
	}
	return out[0], nil
}

func (b *binder) append(c *ops.Call, in []ops.Ref) []ops.Ref {
	n := ProgramNode{Call: c, In: make([]int, len(in)), Out: make([]int, len(c.Out)), Origin: b.origin}
	for i, r := range in {
		n.In[i] = int(r)
	}
	out := make([]ops.Ref, len(c.Out))
	for i, t := range c.Out {
		n.Out[i] = b.tensor(ProgramTensor{Kind: Result, Type: t})
		out[i] = ops.Ref(n.Out[i])
		if c.Op.Writes {
			b.written[out[i]] = true
		}
	}
	b.program.Nodes = append(b.program.Nodes, n)
	return out
}

// mostFrequent lists operators with their counts, the twelve most frequent.
func mostFrequent(counts map[string]int) string {
	const most = 12
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		if counts[names[i]] != counts[names[j]] {
			return counts[names[i]] > counts[names[j]]
		}
		return names[i] < names[j]
	})
	var b strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d)", n, counts[n])
	}
	return b.String()
}
