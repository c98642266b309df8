package oplevel

import (
	"strconv"

	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// builder writes the graph of a call. After a failure its methods do nothing.
type builder struct {
	graph      *graph.Graph
	feeds      []feed
	hostInputs int
	outputs    int
	constants  *mem.Arena
	unseen     int64 // bytes of constants since free memory was looked at
	err        error
}

// input adds the next input of the request.
func (b *builder) input(t tensor.Type) ops.Ref {
	r := b.addInput(t, feed{host: b.hostInputs})
	b.hostInputs++
	return r
}

// constant adds an input that is uploaded at the program's first run only; fill writes
// it, into memory outside Go's heap that is zero. OUT_OF_MEMORY: there is not so much.
func (b *builder) constant(t tensor.Type, fill func(data []byte)) ops.Ref {
	if b.err == nil {
		b.err = t.Check(false)
	}
	if b.err != nil {
		return ops.None
	}
	n := t.Bytes()
	// What was filled since the last look is seen as taken; many small ones add up.
	if b.unseen += n; b.unseen >= constantsUnseen {
		b.unseen = 0
		if b.err = mem.Check(n + constantsUnseen); b.err != nil {
			return ops.None
		}
	}
	var data []byte
	if data, b.err = b.constants.Alloc(n); b.err != nil {
		return ops.None
	}
	fill(data)
	return b.addInput(t, feed{constant: data})
}

// constantsUnseen is how many bytes of constants are made between two looks at what is
// free.
const constantsUnseen = 16 << 20

// zeros is an f32 tensor of zeros that the backend makes.
func (b *builder) zeros(rows, columns int64) ops.Ref {
	if b.err == nil {
		b.err = f32(rows, columns).Check(false)
	}
	if b.err != nil {
		return ops.None
	}
	return b.reshape(b.op("arange", nil, ops.IntAttr("count", rows*columns), ops.RealAttr("step", 0)), rows, columns)
}

func (b *builder) addInput(t tensor.Type, f feed) ops.Ref {
	if b.err != nil {
		return ops.None
	}
	var r ops.Ref
	r, b.err = b.graph.Input("input "+itoa(len(b.feeds)), t)
	b.feeds = append(b.feeds, f)
	return r
}

func (b *builder) weight(m *Matrix) ops.Ref {
	if b.err != nil {
		return ops.None
	}
	var r ops.Ref
	r, b.err = b.graph.Weight(m.weights, m.tensor.Name)
	return r
}

// op adds an operator with one output.
func (b *builder) op(name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	if b.err != nil {
		return ops.None
	}
	var out []ops.Ref
	if out, b.err = b.graph.Op(name, in, attrs, 1); b.err != nil {
		return ops.None
	}
	return out[0]
}

func (b *builder) reshape(x ops.Ref, shape ...int64) ops.Ref {
	return b.op("reshape", []ops.Ref{x}, ops.IntsAttr("shape", shape...))
}

// output makes a tensor the next output of the request.
func (b *builder) output(x ops.Ref) {
	if b.err == nil {
		b.err = b.graph.Output("output "+itoa(b.outputs), x)
		b.outputs++
	}
}

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }

func itoa(n int) string { return strconv.Itoa(n) }
