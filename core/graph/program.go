package graph

import (
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// A Program is a graph made concrete for one backend: every dimension has its
// value, every node is one that the backend lowers, nothing that no output or
// state needs is left. Backends may take it to be right.
type Program struct {
	Label   string
	Dims    string // the values of the dynamic dimensions for messages, each behind a space: " n=3"
	Tensors []ProgramTensor
	Nodes   []ProgramNode // in an order in which they can be computed
	Inputs  []int         // indices into Tensors, in the order of the graph's inputs
	Outputs []int         // likewise; an output may be any tensor, also an input
	// OutputNames are the outputs' in the graph.
	OutputNames []string
}

// Work is what a run computes, in floating-point operations, and the memory that its
// operators read and write, in bytes.
func (p *Program) Work() (flops float64, bytes int64) {
	for i := range p.Nodes {
		flops += p.Nodes[i].Call.FLOPs()
		bytes += p.Nodes[i].Call.Bytes()
	}
	return flops, bytes
}

// ProgramTensor is one tensor of a program.
type ProgramTensor struct {
	Kind Kind
	Name string // of an input, a weight or a state
	Type tensor.Type
	// Weight is set for Kind Weight.
	Weight *weights.Tensor
	// Below bounds an input that serves as an index: its values must lie in
	// [0, Below). 0: no bound.
	Below int64
}

// ProgramNode is one operator of a program.
type ProgramNode struct {
	Call *ops.Call
	In   []int // indices into Tensors, -1 for an optional input left out
	Out  []int
	// Origin is the graph's node that this one came from, for messages.
	Origin int
}

// Kind says where a tensor's content comes from.
type Kind uint8

// The kinds.
const (
	Input  Kind = iota // uploaded by the host
	Weight             // of a weights object
	State              // of the session, kept between runs
	Result             // computed by a node
)

func (k Kind) String() string { return [...]string{"input", "weight", "state", "result"}[k] }
