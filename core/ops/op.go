// Package ops is the operator table: everything the library can compute, each
// operator with its name, inputs, attributes, shape rule, formula and plain
// reference kernel in one place.
//
// To add an operator, write one entry in the file of its family and register it
// there with [register]. It then exists everywhere: in graphs, on the reference
// backend, and, decomposed, on every other. A backend gets a second file's worth
// of code only where it has a fused kernel for it.
package ops

//go:generate go run ./gen ../../docs/operators.md

import (
	"fmt"
	"sort"

	"qtsaccel/core/abi"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Op is one operator.
type Op struct {
	Name    string // the field's own: PyTorch's or ONNX's where they agree
	Summary string // what it computes, in one line, with the formula
	Source  string // where the formula comes from

	Inputs  []Input
	Attrs   []Attr
	Outputs []string // their names; most operators have one, "out"

	// Infer checks a call and gives the outputs' types. Presence, dtype class
	// and rank of each input and the attributes' types and limits were checked before.
	Infer func(c *Call) ([]tensor.Type, error)

	// Eval computes the outputs in float64 and int64, as the formula says. The
	// outputs are allocated, zeroed, and as long as Infer said.
	Eval func(c *Call, in, out []Value) error

	// Pieces and EvalPiece stand for Eval in operators that take long: the outputs
	// fall into pieces that can be computed in any order and at the same time.
	// Eval then computes one after the other.
	Pieces    func(c *Call) int
	EvalPiece func(c *Call, in, out []Value, piece int) error

	// Scratch, where set, gives how many bytes of Go's heap Eval takes, or each
	// EvalPiece, where they grow with the shapes.
	Scratch func(c *Call) int64

	// Decompose, where set, writes the operator with others, for backends that
	// have no kernel for it. It gives [ErrNoDecomposition] for a call that has none.
	Decompose func(b Builder, c *Call, in []Ref) ([]Ref, error)

	// OutputBelow, where set, gives a bound that all values of output IndexOutput
	// lie under (and at or above 0), so that they may serve as indices; inBelow
	// holds the inputs' bounds, 0 where none is known. 0 means no bound.
	OutputBelow func(c *Call, inBelow []int64) int64
	IndexOutput int

	// Writes says that the operator changes the state given as input 0 and that
	// its output is that state afterwards.
	Writes bool

	// Products is not 0 for operators that multiply matrices, or may be written so:
	// a device that rounds the factors of f32 products is off by that, too. It is
	// how much larger the error may be beside the result than beside the product.
	Products float64

	// Cost is the class of operators that this one's time is like. FLOPs and bytes say how
	// much it computes and moves, where that is not an operation for each element of its
	// largest tensor, and each tensor once.
	Cost  Cost
	flops func(in, out []tensor.Shape) float64
	bytes func(c *Call) int64

	// View says that the result may be the input looked at in another way: a backend need
	// neither compute nor move anything.
	View bool

	// LosesNaN says that devices other than the CPU may give a number where the result is
	// NaN: their largest and smallest of two numbers are what the hardware makes of it.
	LosesNaN bool

	// OnDevices says, for readers, in what else devices other than the CPU may differ.
	OnDevices string

	// Tolerance is the largest error, relative to the largest magnitude of the
	// exact result (and at least to 1), allowed to a backend that computes with
	// f32 inputs and weights. 0 demands equality.
	Tolerance float64
}

// Input describes one input of an operator.
type Input struct {
	Name     string
	DTypes   Class
	Optional bool // may be absent; absent inputs are [None] in graphs
	Variadic bool // the last input, given once or more
	MinRank  int
	MaxRank  int // 0: [tensor.MaxRank]

	// Below, where set, makes the input an index: each value must lie in
	// [0, Below(c)), which the library makes sure of before a run.
	Below func(c *Call) int64

	// FromHost asks that the input be one that the host uploads at each run.
	FromHost bool
}

// Class is a set of dtypes that an input accepts.
type Class uint8

// The classes. Weights may be any float or quantised type; activations are f32.
const (
	Activation Class = iota // f32
	Weight                  // f32, f16, bf16 or quantised
	Float                   // f32, f16, bf16
	Index                   // i32 or i64
	Any                     // whatever
)

// Accepts says whether the class holds a dtype.
func (k Class) Accepts(d tensor.DType) bool {
	switch k {
	case Activation:
		return d == tensor.F32
	case Weight:
		return d.Float() || d.Quantised()
	case Float:
		return d.Float()
	case Index:
		return d == tensor.I32 || d == tensor.I64
	case Any:
		return d.Valid()
	}
	return false
}

func (k Class) String() string {
	return [...]string{"f32", "f32, f16, bf16 or quantised", "f32, f16 or bf16", "i32 or i64", "any dtype"}[k]
}

// AttrType is the type of an attribute's value. The values are the header's
// QTSA_ATTR_*.
type AttrType int32

// The attribute types.
const (
	Int    AttrType = abi.AttrInt
	Real   AttrType = abi.AttrFloat
	Text   AttrType = abi.AttrString
	Ints   AttrType = abi.AttrInts
	Reals  AttrType = abi.AttrFloats
	noAttr AttrType = 0
)

func (t AttrType) String() string {
	if t < Int || t > Reals {
		return fmt.Sprintf("attribute type %d", int32(t))
	}
	return [...]string{"int", "float", "string", "ints", "floats"}[t-Int]
}

// Attr describes one attribute.
type Attr struct {
	Name    string
	Type    AttrType
	Default AttrValue // its Type is 0 where the attribute must be given
	Summary string
	limits  limits // checked before Infer runs
}

// AttrValue is an attribute's value: the field of its type counts.
type AttrValue struct {
	Type  AttrType
	Int   int64
	Real  float64
	Text  string
	Ints  []int64
	Reals []float64
}

// AttrArg is an attribute as a caller gives it.
type AttrArg struct {
	Name  string
	Value AttrValue
}

// IntAttr makes an attribute of a whole number.
func IntAttr(name string, v int64) AttrArg { return AttrArg{name, AttrValue{Type: Int, Int: v}} }

// RealAttr makes an attribute of a real number.
func RealAttr(name string, v float64) AttrArg { return AttrArg{name, AttrValue{Type: Real, Real: v}} }

// TextAttr makes an attribute of a word.
func TextAttr(name, v string) AttrArg { return AttrArg{name, AttrValue{Type: Text, Text: v}} }

// IntsAttr makes an attribute of a list of whole numbers.
func IntsAttr(name string, v ...int64) AttrArg {
	return AttrArg{name, AttrValue{Type: Ints, Ints: v}}
}

// Call is one use of an operator with everything known: what Infer, Eval and a
// backend's lowering look at.
type Call struct {
	Op    *Op
	In    []tensor.Type // DType 0 where an optional input is absent
	Out   []tensor.Type // set once Infer has run
	attrs []AttrValue   // in the order of Op.Attrs
}

// Has says whether input i was given.
func (c *Call) Has(i int) bool { return i < len(c.In) && c.In[i].DType != 0 }

// Int gives the value of an int attribute. The name must be one of the
// operator's: asking for another is a mistake in the table, found by the test
// that runs every entry.
func (c *Call) Int(name string) int64 { return c.attr(name).Int }

// Real gives the value of a float attribute, as Int does.
func (c *Call) Real(name string) float64 { return c.attr(name).Real }

// Text gives the value of a string attribute, as Int does.
func (c *Call) Text(name string) string { return c.attr(name).Text }

// Ints gives the values of an ints attribute, as Int does.
func (c *Call) Ints(name string) []int64 { return c.attr(name).Ints }

func (c *Call) attr(name string) AttrValue {
	for i := range c.Op.Attrs {
		if c.Op.Attrs[i].Name == name {
			return c.attrs[i]
		}
	}
	panic(fmt.Sprintf("ops: %s has no attribute %q", c.Op.Name, name))
}

// Value is a tensor of the reference: float64 or int64 elements, row-major.
// Exactly one of F and I is set; neither for an absent input.
type Value struct {
	Type tensor.Type
	F    []float64
	I    []int64
}

// Ref names a tensor of the graph that a decomposition writes into; [None] is none.
type Ref int32

// None stands for an optional input that is not given.
const None Ref = -1

// Builder is the graph as a decomposition sees it.
type Builder interface {
	// Add puts an operator behind those already there and gives its outputs.
	Add(name string, in []Ref, attrs ...AttrArg) ([]Ref, error)
}

var table = map[string]*Op{}

// register enters an operator; each family's file does so in its init.
func register(op *Op) {
	if _, ok := table[op.Name]; ok {
		panic("ops: " + op.Name + " is registered twice")
	}
	if op.Outputs == nil {
		op.Outputs = []string{"out"}
	}
	if op.Eval == nil {
		op.Eval = func(c *Call, in, out []Value) error {
			for piece := range op.Pieces(c) {
				if err := op.EvalPiece(c, in, out, piece); err != nil {
					return err
				}
			}
			return nil
		}
	}
	table[op.Name] = op
}

// Lookup finds an operator by name.
func Lookup(name string) (*Op, error) {
	if op, ok := table[name]; ok {
		return op, nil
	}
	return nil, status.Errorf(status.NotFound, "unknown operator %q%s", name, suggestion(name, Names()))
}

// Names lists the operators, sorted.
func Names() []string {
	names := make([]string, 0, len(table))
	for n := range table {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
