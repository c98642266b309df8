package probe

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// tolerance is how far a device's values may be off, relative to the greatest:
// some multiply f32 with half the digits, none that works is off by this much.
const tolerance = 0.03

// try computes a small graph on a backend and compares with the reference: an error
// of INTERNAL says what is wrong with the values.
func try(b backend.Backend) error {
	g, err := trialGraph()
	if err != nil {
		return err
	}
	defer g.Release()
	oracle := reference.New()
	want, err := compute(oracle, g)
	if err == nil {
		err = oracle.Close()
	}
	if err != nil {
		return status.Wrapf(err, "the probe's own graph")
	}
	got, err := compute(b, g)
	if err != nil {
		return err
	}
	for i := range want {
		if err := compare(got[i], want[i]); err != nil {
			return err
		}
	}
	return nil
}

func compare(got, want []float32) error {
	greatest := 0.0
	for _, w := range want {
		greatest = max(greatest, math.Abs(float64(w)))
	}
	for i := range want {
		// Written so that a NaN fails too.
		if off := math.Abs(float64(got[i] - want[i])); !(off <= tolerance*greatest) {
			return status.Errorf(status.Internal, "it computes wrongly: value %d is %g, it should be %g", i, got[i], want[i])
		}
	}
	return nil
}

// The trial's sizes.
const (
	rows, inner, middle, width = 32, 64, 32, 16
)

// trialGraph is softmax(silu(rms_norm(x W1))) m with W1 in f32, and z W2 with one
// row and W2 in f16: the kinds of kernel that everything else needs, and none of those
// for 2 to 8 rows, each of which Mesa's software device takes a minute to compile.
func trialGraph() (*graph.Graph, error) {
	w := weights.New()
	defer w.Release()
	noise := noiseFrom(7)
	for _, t := range []struct {
		name string
		t    tensor.Type
	}{
		{"w1", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{inner, inner}}},
		{"norm", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{inner}}},
		{"w2", tensor.Type{DType: tensor.F16, Shape: tensor.Shape{middle, inner}}},
	} {
		data := make([]byte, 0, t.t.Bytes())
		for range t.t.Shape.Elements() {
			if t.t.DType == tensor.F16 {
				data = binary.NativeEndian.AppendUint16(data, tensor.F32ToF16(noise()))
			} else {
				data = binary.NativeEndian.AppendUint32(data, math.Float32bits(noise()))
			}
		}
		if err := w.Declare(t.name, t.t); err != nil {
			return nil, err
		}
		if err := w.Set(t.name, data); err != nil {
			return nil, err
		}
	}

	g := graph.New("probe")
	b := builder{g: g}
	h := b.op("linear", b.input("x", rows, inner), b.weight(w, "w1"))
	h = b.op("rms_norm", h, b.weight(w, "norm"))
	h = b.op("silu", h)
	h = b.op("softmax", h)
	h = b.op("matmul", h, b.input("m", inner, width))
	b.output("y", h)
	b.output("row", b.op("linear", b.input("z", 1, inner), b.weight(w, "w2")))
	if b.err != nil {
		g.Release()
		return nil, b.err
	}
	return g, nil
}

// builder adds to a graph; the first error stays.
type builder struct {
	g   *graph.Graph
	err error
}

func (b *builder) keep(r ops.Ref, err error) ops.Ref {
	if b.err == nil {
		b.err = err
	}
	return r
}

func (b *builder) input(name string, shape ...int64) ops.Ref {
	return b.keep(b.g.Input(name, tensor.Type{DType: tensor.F32, Shape: shape}))
}

func (b *builder) weight(w *weights.Weights, name string) ops.Ref { return b.keep(b.g.Weight(w, name)) }

func (b *builder) output(name string, r ops.Ref) {
	if b.err == nil {
		b.err = b.g.Output(name, r)
	}
}

func (b *builder) op(name string, in ...ops.Ref) ops.Ref {
	out, err := b.g.Op(name, in, nil, 1)
	if err != nil {
		return b.keep(ops.None, err)
	}
	return out[0]
}

// compute runs the graph twice on a backend, the second time as a replay, and gives
// the outputs of both.
func compute(b backend.Backend, g *graph.Graph) ([][]float32, error) {
	program, err := g.Bind(nil, b.Supports)
	if err != nil {
		return nil, err
	}
	stream, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	values, err := runTwice(stream, program)
	if closing := stream.Close(); err == nil {
		err = closing
	}
	return values, err
}

func runTwice(stream backend.Stream, program *graph.Program) ([][]float32, error) {
	exec, err := stream.Build(program)
	if err != nil {
		return nil, err
	}
	var memory mem.Arena
	values, err := runInto(&memory, exec, program)
	for _, closing := range []error{exec.Close(), memory.Free()} {
		if err == nil {
			err = closing
		}
	}
	return values, err
}

func runInto(memory *mem.Arena, exec backend.Executable, program *graph.Program) ([][]float32, error) {
	flag, err := memory.Alloc(int64(unsafe.Sizeof(backend.CancelFlag(0))))
	if err != nil {
		return nil, err
	}
	options := &backend.RunOptions{Cancel: (*backend.CancelFlag)(unsafe.Pointer(unsafe.SliceData(flag)))}
	buffers := func(indices []int) ([]backend.Buffer, error) {
		list := make([]backend.Buffer, len(indices))
		for i, t := range indices {
			b, err := memory.Alloc(program.Tensors[t].Type.Bytes())
			if err != nil {
				return nil, err
			}
			list[i] = backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(b)), Bytes: uintptr(len(b))}
		}
		return list, nil
	}
	in, err := buffers(program.Inputs)
	if err != nil {
		return nil, err
	}
	out, err := buffers(program.Outputs)
	if err != nil {
		return nil, err
	}
	var values [][]float32
	for run := range 2 {
		noise := noiseFrom(uint32(100 + run))
		for _, b := range in {
			f := floats(b)
			for i := range f {
				f[i] = noise()
			}
		}
		if err := exec.Run(in, out, options); err != nil {
			return nil, err
		}
		for _, b := range out {
			values = append(values, slices.Clone(floats(b)))
		}
	}
	return values, nil
}

func floats(b backend.Buffer) []float32 { return unsafe.Slice((*float32)(b.Data), b.Bytes/4) }

// noiseFrom gives numbers from -1 to 1, the same on every machine: the linear
// congruential generator of Numerical Recipes.
func noiseFrom(seed uint32) func() float32 {
	return func() float32 {
		seed = seed*1664525 + 1013904223
		return float32(int32(seed)>>8) / (1 << 23)
	}
}
