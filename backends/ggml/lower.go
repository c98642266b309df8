package ggml

// #include "shim_ops.h"
import "C"

import (
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// lowerings are the operators that become tensors of ggml. A lowering returns
// none where ggml cannot do the call as the operator table says; then the
// operator arrives decomposed. It must leave nothing that ggml would assert on.
// The functions are in lower_*.go, by family.
//
// Those that are element by element are entered in lower_elementwise.go. On the CPU
// what is one call of a kernel of our own stands before these; see lower_kernel.go.
var lowerings = map[string]lowerFunc{
	"gelu":       one(lowerGelu),
	"elu":        one(lowerElu),
	"leaky_relu": one(lowerLeakyRelu),
	"clamp":      one(lowerClamp),
	"scale":      one(lowerScale),
	"swiglu":     one(lowerSwiglu),
	"cast":       one(lowerCast),
	"arange":     one(lowerArange),

	"linear": one(lowerLinear),
	"matmul": one(lowerMatmul),

	"rms_norm":    one(lowerRMSNorm),
	"layer_norm":  one(lowerLayerNorm),
	"group_norm":  one(lowerGroupNorm),
	"softmax":     one(lowerSoftmax),
	"cumsum":      one(lowerCumsum),
	"reduce_sum":  one(lowerReduceSum),
	"reduce_mean": one(lowerReduceMean),
	"reduce_max":  one(lowerReduceMax),

	"rope":      one(lowerRope),
	"attention": one(lowerAttention),

	"reshape":   one(lowerReshape),
	"transpose": one(lowerTranspose),
	"slice":     one(lowerSlice),
	"concat":    one(lowerConcat),
	"expand":    one(lowerExpand),
	"pad":       one(lowerPad),
	"upsample":  one(lowerUpsample),

	"embedding":   one(lowerEmbedding),
	"state_write": one(lowerStateWrite),
	"argmax":      one(lowerArgmax),
	"top_k":       lowerTopK,

	"conv1d":    one(lowerConv1d),
	"conv2d":    one(lowerConv2d),
	"lstm_cell": lowerLSTMCell,
}

// lowerFunc lowers a call to one node for each of its outputs, or to none.
type lowerFunc func(c *call) []node

// lowering gives an operator's lowering, nil where there is none.
func (b *Backend) lowering(op string) lowerFunc {
	if f, ok := kernelLowerings()[op]; ok && b.cpu {
		return f
	}
	return lowerings[op]
}

// one is for operators with one output; no node means no lowering.
func one(f func(c *call) node) lowerFunc {
	return func(c *call) []node {
		if n := f(c); n != none {
			return []node{n}
		}
		return nil
	}
}

var none node

// lowering collects the graph of one program, or of one call on trial.
type lowering struct {
	ggmlOps
	backend *Backend
	copies  map[node]node    // dense copies of nodes
	masks   map[maskKey]node // by what they are made of
	angles  map[ropeKey]node // likewise

	// What a program's tensors have become. The program is nil on trial: then any
	// leaf will do.
	program    *graph.Program
	stream     *stream
	executable *executable
	nodes      []node
	inputs     map[int]int  // the place of an input tensor among the inputs
	narrow     map[int]node // i64 inputs that are uploaded as i32
	err        error        // the first failure that is not the builder's
}

func newLowering(b *Backend) *lowering {
	return &lowering{ggmlOps: ggmlOps{C.shim_builder_new()}, backend: b, copies: map[node]node{}, masks: map[maskKey]node{}, angles: map[ropeKey]node{}}
}

// call is one operator's use while it is lowered.
type call struct {
	*ops.Call
	*lowering
	tensors []int  // the inputs among the program's tensors; nil on trial
	leaves  []node // the inputs on trial
}

// in gives input i, none where it is left out. It may be a view with any strides.
func (c *call) in(i int) node {
	if !c.Has(i) {
		return none
	}
	if c.program != nil {
		return c.node(c.tensors[i])
	}
	return c.leaves[i]
}

// index gives input i, an index, as i32.
func (c *call) index(i int) node {
	switch {
	case c.In[i].DType == tensor.I32:
		return c.dense(c.in(i))
	case c.program == nil: // on trial it stands for an input
		return c.leaf(tensor.Type{DType: tensor.I32, Shape: c.In[i].Shape})
	case c.program.Tensors[c.tensors[i]].Kind == graph.Input:
		return c.narrowInput(c.tensors[i])
	}
	return c.copy(c.asI32(c.in(i)))
}

// tryLower says whether a call can be lowered: it is, into a graph that is thrown
// away, and the device is asked about each part.
func (b *Backend) tryLower(c *ops.Call) bool {
	lower := b.lowering(c.Op.Name)
	if lower == nil {
		return false
	}
	l := newLowering(b)
	defer C.shim_builder_free(l.b)
	trial := &call{Call: c, lowering: l, leaves: make([]node, len(c.In))}
	for i, t := range c.In {
		if c.Has(i) {
			trial.leaves[i] = l.leaf(t)
		}
	}
	out := lower(trial)
	var refused *C.char
	if C.shim_builder_status(l.b, &refused) == C.int32_t(status.OutOfMemory) {
		return true // that there is no memory now is said where it is built, and is no answer here
	}
	return len(out) == len(c.Out) && fits(out, c.Out) && bool(C.shim_builder_supported(l.b, b.handle(), &refused))
}

// fits says whether the nodes are of these types.
func fits(nodes []node, types []tensor.Type) bool {
	for i, t := range types {
		ne := extents(t.Shape)
		for axis := range ne {
			if nodes[i].ne(axis) != int64(ne[axis]) {
				return false
			}
		}
		if !nodes[i].is(t.DType) {
			return false
		}
	}
	return true
}

// deviceTakes says whether the device computes this tensor; if not, it must not be
// used.
func (l *lowering) deviceTakes(n node) bool {
	return n != none && bool(C.shim_take_if_supported(l.b, l.backend.handle(), n.t))
}
