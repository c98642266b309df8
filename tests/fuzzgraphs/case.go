package main

import (
	"math"
	"slices"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// Case is one thing to try: the graphs of several plans on one session, which share
// weights and states, and what is done with them in turn. It is data, so that it can
// be sent to a child process, made smaller, and written down as a test.
type Case struct {
	Seed     uint64    `json:"seed"`
	Dims     []Dim     `json:"dims,omitempty"`
	Sums     []Sum     `json:"sums,omitempty"` // expressions of them
	Bindings [][]int64 `json:"bindings"`       // values of Dims that runs use
	Leaves   []Leaf    `json:"leaves"`
	Plans    []Plan    `json:"plans"`
	Steps    []Step    `json:"steps"`
}

// Dim is a dynamic dimension.
type Dim struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Sum is an expression of two lengths, each a plain one or what stands for a dynamic
// dimension or an expression before this one.
type Sum struct {
	Op graph.DimOp `json:"op"`
	A  int64       `json:"a"`
	B  int64       `json:"b"`
}

// firstDim stands for dynamic dimension 0 in shapes and attributes of a case, the
// numbers after it for the others; firstSum for expression 0.
const (
	firstDim = math.MinInt64
	firstSum = firstDim + maxDims
	maxDims  = 16
	maxSums  = 40
)

// dimOf says which dynamic dimension a number stands for, expressions counted behind the
// most dimensions that there may be.
func dimOf(v int64) (int, bool) { return int(v - firstDim), v < firstSum+maxSums }

// lengths gives what the dynamic dimensions and expressions are with a binding, by what
// [dimOf] gives.
func (c *Case) lengths(binding int) []int64 {
	table := make([]int64, maxDims+len(c.Sums))
	copy(table, c.Bindings[binding])
	for i, s := range c.Sums {
		a, b := resolve([]int64{s.A}, table)[0], resolve([]int64{s.B}, table)[0]
		switch s.Op {
		case graph.DimAdd:
			a += b
		case graph.DimSub:
			a -= b
		case graph.DimMul:
			a *= b
		case graph.DimDiv:
			a /= max(b, 1)
		}
		table[maxDims+i] = a
	}
	return table
}

// numbers gives what stands for the dynamic dimensions and expressions in a graph, which
// has some of the dimensions by their numbers.
func (c *Case) numbers(g *graph.Graph, dims []int64, used []bool) ([]int64, error) {
	table := make([]int64, maxDims+len(c.Sums))
	copy(table, dims)
	for i, s := range c.Sums {
		if !used[maxDims+i] {
			continue
		}
		var err error
		if table[maxDims+i], err = g.DimOp(s.Op, resolve([]int64{s.A}, table)[0], resolve([]int64{s.B}, table)[0]); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// Kind says what a leaf is.
type Kind string

// The kinds of leaves.
const (
	Input  Kind = "input"
	Weight Kind = "weight"
	State  Kind = "state"
)

// Leaf is a tensor that no operator computes.
type Leaf struct {
	Kind  Kind         `json:"kind"`
	DType tensor.DType `json:"dtype"`
	Shape []int64      `json:"shape"`
	Fill  Fill         `json:"fill"`
	Data  uint64       `json:"data"` // tells its content from that of others
}

// Plan is a graph and how many of its instances are kept.
type Plan struct {
	Nodes    []Node `json:"nodes"`
	Outputs  []Ref  `json:"outputs"`
	Capacity int    `json:"capacity,omitempty"` // 0: the default
}

// Node is one operator.
type Node struct {
	Op    string        `json:"op"`
	In    []Ref         `json:"in"`
	Attrs []ops.AttrArg `json:"attrs,omitempty"`
}

// Ref names a tensor of a plan: output Index of node Node, or leaf Index.
type Ref struct {
	Node  int `json:"n"` // leafRef, or noneRef for an optional input left out
	Index int `json:"i"`
}

const (
	leafRef = -1
	noneRef = -2
)

func leaf(i int) Ref     { return Ref{leafRef, i} }
func result(n int) Ref   { return Ref{n, 0} }
func (r Ref) leaf() bool { return r.Node == leafRef }
func (r Ref) none() bool { return r.Node == noneRef }

// Step is one thing done on the session.
type Step struct {
	Do      Action `json:"do"`
	Plan    int    `json:"plan"`
	Binding int    `json:"binding"`
	// Data is the seed of what the inputs hold, or of what a state is set to.
	Data uint64 `json:"data"`
	// Keep has a bit for each input that is left as it was, where one was given before;
	// Unwanted one for each output that is not asked for.
	Keep     uint64 `json:"keep,omitempty"`
	Unwanted uint64 `json:"unwanted,omitempty"`
	Threads  int    `json:"threads,omitempty"`
	Node     int    `json:"node,omitempty"` // of Call
}

// Action is what a step does.
type Action string

// The actions.
const (
	Run     Action = "run"
	Prepare Action = "prepare"
	Reset   Action = "reset"
	SetAll  Action = "set"  // every state gets new content
	Call    Action = "call" // one operator of a plan as a call of its own
)

// refs calls f with every reference of a plan.
func (p *Plan) refs(f func(*Ref)) {
	for i := range p.Nodes {
		for j := range p.Nodes[i].In {
			f(&p.Nodes[i].In[j])
		}
	}
	for i := range p.Outputs {
		f(&p.Outputs[i])
	}
}

// leaves lists the leaves that a plan uses, in the order of their first use.
func (p *Plan) leaves(n int) []int {
	seen := make([]bool, n)
	var used []int
	p.refs(func(r *Ref) {
		if r.leaf() && !seen[r.Index] {
			seen[r.Index] = true
			used = append(used, r.Index)
		}
	})
	return used
}

// dims lists the dynamic dimensions that a plan uses, and says which of them and of the
// expressions it uses.
func (c *Case) dims(p *Plan) ([]int, []bool) {
	used := make([]bool, maxDims+len(c.Sums))
	look := func(values []int64) {
		for _, v := range values {
			if d, ok := dimOf(v); ok && d < len(used) {
				used[d] = true
			}
		}
	}
	for _, l := range p.leaves(len(c.Leaves)) {
		look(c.Leaves[l].Shape)
	}
	for i := range p.Nodes {
		for _, a := range p.Nodes[i].Attrs {
			look(a.Value.Ints)
			look([]int64{a.Value.Int})
		}
	}
	for i, sum := range slices.Backward(c.Sums) {
		if used[maxDims+i] {
			look([]int64{sum.A, sum.B})
		}
	}
	var list []int
	for d := range c.Dims {
		if used[d] {
			list = append(list, d)
		}
	}
	return list, used
}

// clone copies a case so that the copy can be changed.
func (c *Case) clone() *Case {
	n := *c
	n.Dims = append([]Dim(nil), c.Dims...)
	n.Sums = append([]Sum(nil), c.Sums...)
	n.Bindings = nil
	for _, b := range c.Bindings {
		n.Bindings = append(n.Bindings, append([]int64(nil), b...))
	}
	n.Leaves = append([]Leaf(nil), c.Leaves...)
	for i := range n.Leaves {
		n.Leaves[i].Shape = append([]int64{}, n.Leaves[i].Shape...)
	}
	n.Plans = append([]Plan(nil), c.Plans...)
	for i := range n.Plans {
		p := &n.Plans[i]
		p.Outputs = append([]Ref(nil), p.Outputs...)
		p.Nodes = append([]Node(nil), p.Nodes...)
		for j := range p.Nodes {
			node := &p.Nodes[j]
			node.In = append([]Ref(nil), node.In...)
			node.Attrs = append([]ops.AttrArg(nil), node.Attrs...)
			for k := range node.Attrs {
				node.Attrs[k].Value.Ints = append([]int64(nil), node.Attrs[k].Value.Ints...)
			}
		}
	}
	n.Steps = append([]Step(nil), c.Steps...)
	return &n
}

// size is how much there is to a case, which shrinking makes smaller.
func (c *Case) size() int {
	n := len(c.Dims) + len(c.Sums) + len(c.Steps) + len(c.Leaves)
	for i := range c.Plans {
		n += 4 + len(c.Plans[i].Outputs)
		for j := range c.Plans[i].Nodes {
			n += 3 + len(c.Plans[i].Nodes[j].In) + len(c.Plans[i].Nodes[j].Attrs)
		}
	}
	return n
}
