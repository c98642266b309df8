// Package graph is a computation as data: tensors, the operators between them,
// each checked as it is added, and the programs that come of it for given values
// of its dynamic dimensions. It knows no backend.
package graph

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"qtsaccel/core/ops"
	"qtsaccel/core/refcount"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Graph is built by adding to it and never changes otherwise, so that what a
// plan has taken of it stays as it was. It may be used from any goroutine.
type Graph struct {
	label string
	refs  refcount.Counter

	mu      sync.Mutex
	data    Snapshot
	current map[string]ops.Ref // each state's newest value
	held    map[*weights.Weights]bool
	atoms   map[string]int // where each is in data
	exprs   map[string]int
	salt    int64 // of the numbers of its tensors
	// Every tensor's type with the dynamic dimensions at their smallest and at
	// their largest: what fits at both ends is taken, and checked again for the
	// values that a plan meets.
	low, high view
	// between has values between these, which need not fit: it shows what depends on
	// dynamic dimensions and is the same at both ends.
	between view
}

// New makes an empty graph with one reference. The label names it in messages.
func New(label string) *Graph {
	n := graphs.Add(1)
	g := &Graph{
		label: label, current: map[string]ops.Ref{}, held: map[*weights.Weights]bool{},
		atoms: map[string]int{}, exprs: map[string]int{}, salt: saltOf(n),
	}
	g.data.graph = g
	g.data.first = firstOf(n)
	g.low.sizes, g.high.sizes, g.between.sizes = &g.data.sizes, &g.data.sizes, &g.data.sizes
	return g
}

// Retain adds a reference.
func (g *Graph) Retain() { g.refs.Retain() }

// Release gives one back; with the last, the weights that the graph holds.
func (g *Graph) Release() {
	if !g.refs.Release() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for w := range g.held {
		w.Release()
	}
	g.held = nil
}

// Input adds a tensor that the host uploads at each run. Its dimensions may be
// dynamic.
func (g *Graph) Input(name string, t tensor.Type) (ops.Ref, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.data.inputs {
		if g.data.tensors[r].name == name {
			return ops.None, g.errorf(status.AlreadyExists, "input %q exists already", name)
		}
	}
	if t.DType.Quantised() {
		return ops.None, g.errorf(status.InvalidArgument, "input %q is %v: inputs are not quantised", name, t.DType)
	}
	ref, err := g.addLeaf(tensorDef{kind: Input, name: name, declared: t})
	if err == nil {
		g.data.inputs = append(g.data.inputs, ref)
	}
	return ref, err
}

// Weight adds a tensor of the weights, which the graph retains.
func (g *Graph) Weight(w *weights.Weights, name string) (ops.Ref, error) {
	index, err := w.Find(name)
	if err != nil {
		return ops.None, g.wrap(err)
	}
	t, err := w.At(index)
	if err == nil {
		err = t.Usable()
	}
	if err != nil {
		return ops.None, g.wrap(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.data.tensors {
		if g.data.tensors[i].weight == t {
			return ops.Ref(i), nil
		}
	}
	ref, err := g.addLeaf(tensorDef{kind: Weight, name: name, declared: t.Type, weight: t})
	if err == nil && !g.held[w] {
		w.Retain()
		g.held[w] = true
	}
	return ref, err
}

// State adds a tensor of the session that keeps its content between runs.
func (g *Graph) State(name string, t tensor.Type) (ops.Ref, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.current[name]; ok {
		return ops.None, g.errorf(status.AlreadyExists, "state %q exists already", name)
	}
	if t.DType != tensor.F32 && t.DType != tensor.F16 {
		return ops.None, g.errorf(status.InvalidArgument, "state %q is %v, want f32 or f16", name, t.DType)
	}
	for _, d := range t.Shape {
		if !isPlain(d) {
			if _, err := g.data.expr(d); err != nil {
				return ops.None, g.wrap(status.Wrapf(err, "state %q", name))
			}
			return ops.None, g.errorf(status.InvalidArgument, "state %q has a dynamic dimension: a state's shape is fixed", name)
		}
	}
	ref, err := g.addLeaf(tensorDef{kind: State, name: name, declared: t})
	if err == nil {
		g.current[name] = ref
	}
	return ref, err
}

// addLeaf adds a tensor that no node computes.
func (g *Graph) addLeaf(def tensorDef) (ops.Ref, error) {
	low, err := g.low.leaf(&def)
	if err != nil {
		return ops.None, g.wrap(status.Wrapf(g.leafAtDims(err, &def, &g.low), "%v %q", def.kind, def.name))
	}
	high, err := g.high.leaf(&def)
	if err != nil {
		return ops.None, g.wrap(status.Wrapf(g.leafAtDims(err, &def, &g.high), "%v %q", def.kind, def.name))
	}
	between, err := g.between.leaf(&def)
	if err != nil {
		between = tensor.Type{}
	}
	def.node = -1
	// The caller's array is not kept.
	def.declared.Shape = append(tensor.Shape(nil), def.declared.Shape...)
	g.data.tensors = append(g.data.tensors, def)
	g.low.types = append(g.low.types, low)
	g.high.types = append(g.high.types, high)
	g.between.types = append(g.between.types, between)
	return ops.Ref(len(g.data.tensors) - 1), nil
}

// Op adds an operator and gives its outputs, whose number must be nOut.
func (g *Graph) Op(name string, in []ops.Ref, attrs []ops.AttrArg, nOut int) ([]ops.Ref, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, g.wrap(err)
	}
	out, err := g.addOp(op, in, attrs, nOut)
	if err != nil {
		return nil, g.wrap(status.Wrapf(err, "op %d %q%s", len(g.data.nodes), name, g.describe(in)))
	}
	return out, nil
}

func (g *Graph) addOp(op *ops.Op, in []ops.Ref, attrs []ops.AttrArg, nOut int) ([]ops.Ref, error) {
	if nOut != len(op.Outputs) {
		return nil, status.Errorf(status.InvalidArgument, "%d outputs are asked for, the operator has %d", nOut, len(op.Outputs))
	}
	if err := g.checkReals(op, attrs); err != nil {
		return nil, err
	}
	values, err := op.Bind(attrs)
	if err != nil {
		return nil, err
	}
	for i, r := range in {
		if err := g.checkInput(op, i, r); err != nil {
			return nil, err
		}
	}
	n := nodeDef{op: op, in: append([]ops.Ref(nil), in...), attrs: copyAttrs(values)}
	low, err := g.low.call(&n)
	if err != nil {
		return nil, g.atDims(err, &g.low)
	}
	high, err := g.high.call(&n)
	if err != nil {
		return nil, g.atDims(err, &g.high)
	}
	for _, end := range []struct {
		v *view
		c *ops.Call
	}{{&g.low, low}, {&g.high, high}} {
		if err := g.data.bound(end.v, &n, end.c, nil); err != nil {
			return nil, g.atDims(err, end.v)
		}
	}

	node := len(g.data.nodes)
	out := make([]ops.Ref, nOut)
	for i := range out {
		out[i] = ops.Ref(len(g.data.tensors))
		def := tensorDef{kind: Result, node: node, output: i}
		if op.Writes {
			def.name = g.data.tensors[in[0]].name
			g.current[def.name] = out[i]
			def.state = true
		}
		g.data.tensors = append(g.data.tensors, def)
	}
	n.out = out
	g.data.nodes = append(g.data.nodes, n)
	g.low.append(low)
	g.high.append(high)
	g.between.append(g.between.try(&n))
	return append([]ops.Ref(nil), out...), nil
}

// checkReals keeps dynamic dimensions out of float attributes, which take whole numbers.
func (g *Graph) checkReals(op *ops.Op, attrs []ops.AttrArg) error {
	for _, a := range attrs {
		isReal := slices.ContainsFunc(op.Attrs, func(o ops.Attr) bool { return o.Name == a.Name && o.Type == ops.Real })
		if isReal && a.Value.Type == ops.Int && !isPlain(a.Value.Int) {
			e, err := g.data.expr(a.Value.Int)
			if err != nil {
				return status.Wrapf(err, "attribute %q", a.Name)
			}
			return status.Errorf(status.InvalidArgument, "attribute %q is a float, which %q cannot be given for", a.Name, g.data.text(e))
		}
	}
	return nil
}

// checkInput looks at what of an input does not depend on types.
func (g *Graph) checkInput(op *ops.Op, i int, r ops.Ref) error {
	if r == ops.None {
		return nil
	}
	if r < 0 || int(r) >= len(g.data.tensors) {
		return status.Errorf(status.InvalidArgument, "input %d is %s", i, g.noTensor(r))
	}
	def, spec := &g.data.tensors[r], op.InputSpec(i)
	if def.isState() && g.current[def.name] != r {
		return status.Errorf(status.InvalidArgument,
			"input %d is state %q as it was before it was written: use the writing operator's output", i, def.name)
	}
	if spec == nil {
		return nil
	}
	if op.Writes && i == 0 && !def.isState() {
		return status.Errorf(status.InvalidArgument, "input %q must be a state, %v %q is none", spec.Name, def.kind, def.name)
	}
	if spec.FromHost && def.kind != Input {
		return status.Errorf(status.InvalidArgument, "input %q must be an input of the graph, it is a %v", spec.Name, def.kind)
	}
	return nil
}

// Output makes a tensor an output under a name.
func (g *Graph) Output(name string, r ops.Ref) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r < 0 || int(r) >= len(g.data.tensors) {
		return g.errorf(status.InvalidArgument, "output %q is %s", name, g.noTensor(r))
	}
	for _, o := range g.data.outputs {
		if o.name == name {
			return g.errorf(status.AlreadyExists, "output %q exists already", name)
		}
	}
	if t := g.high.types[r]; t.DType.Quantised() {
		return g.errorf(status.InvalidArgument, "output %q is %v: outputs are not quantised", name, t)
	}
	g.data.outputs = append(g.data.outputs, output{name, r})
	return nil
}

// noTensor says what is wrong with a tensor that the graph does not have.
func (g *Graph) noTensor(r ops.Ref) string {
	if r == ops.None {
		return "none"
	}
	return fmt.Sprintf("tensor %d, the graph has %d tensors", r, len(g.data.tensors))
}

// Info gives a tensor's type, with -1 for a dimension that depends on a dynamic
// one, and its size in bytes with the dynamic dimensions at their largest.
func (g *Graph) Info(r ops.Ref) (tensor.Type, int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r < 0 || int(r) >= len(g.data.tensors) {
		return tensor.Type{}, 0, g.errorf(status.InvalidArgument, "the tensor is %s", g.noTensor(r))
	}
	low, high, between := g.low.types[r], g.high.types[r], g.between.types[r]
	t := tensor.Type{DType: high.DType, Shape: append(tensor.Shape{}, high.Shape...)}
	for i := range t.Shape {
		leaf := g.data.tensors[r].node < 0 && !isPlain(g.data.tensors[r].declared.Shape[i])
		if leaf || low.Shape[i] != high.Shape[i] || len(between.Shape) == len(high.Shape) && between.Shape[i] != high.Shape[i] {
			t.Shape[i] = -1
		}
	}
	return t, high.Bytes(), nil
}

// Snapshot takes the graph as it is, with a reference to it.
func (g *Graph) Snapshot() (*Snapshot, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.data.outputs) == 0 {
		return nil, g.errorf(status.InvalidArgument, "the graph has no output")
	}
	for _, o := range g.data.outputs {
		if def := &g.data.tensors[o.ref]; def.isState() && g.current[def.name] != o.ref {
			return nil, g.errorf(status.InvalidArgument,
				"output %q is state %q as it was before it was written: use the writing operator's output", o.name, def.name)
		}
	}
	s := g.data
	g.Retain()
	return &s, nil
}

// Bind is Snapshot and Bind in one, for those who need a single program.
func (g *Graph) Bind(dims []int64, supports func(*ops.Call) bool) (*Program, error) {
	s, err := g.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Release()
	return s.Bind(dims, supports)
}

func (g *Graph) errorf(code status.Code, format string, args ...any) error {
	return g.wrap(status.Errorf(code, format, args...))
}

func (g *Graph) wrap(err error) error { return status.Wrapf(err, "graph %q", g.label) }

// atDims says for which values of the dynamic dimensions something failed.
func (g *Graph) atDims(err error, v *view) error {
	if len(v.dims) == 0 {
		return err
	}
	return status.Wrapf(err, "with%s", g.data.DimsText(v.dims))
}

// leafAtDims is atDims for a tensor of which only a dynamic shape depends on them.
func (g *Graph) leafAtDims(err error, def *tensorDef, v *view) error {
	if !slices.ContainsFunc(def.declared.Shape, func(d int64) bool { return !isPlain(d) }) {
		return err
	}
	return g.atDims(err, v)
}

// describe lists an operator's inputs for a message.
func (g *Graph) describe(in []ops.Ref) string {
	texts := make([]string, len(in))
	for i, r := range in {
		if r < 0 || int(r) >= len(g.data.tensors) {
			texts[i] = "none"
			continue
		}
		texts[i] = g.high.types[r].String()
		if name := g.data.tensors[r].name; name != "" {
			texts[i] += fmt.Sprintf(" %q", name)
		}
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

func copyAttrs(values []ops.AttrValue) []ops.AttrValue {
	out := append([]ops.AttrValue(nil), values...)
	for i := range out {
		out[i].Ints = append([]int64(nil), out[i].Ints...)
		out[i].Reals = append([]float64(nil), out[i].Reals...)
	}
	return out
}
