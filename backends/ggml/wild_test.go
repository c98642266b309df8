package ggml

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// wild makes random calls, of which many are right: shapes that look alike, attributes
// at the ends of what they may be.
type wild struct{ *rand.Rand }

func (r wild) pick(from ...int64) int64 { return from[r.IntN(len(from))] }

func (r wild) types(op *ops.Op) []tensor.Type {
	small := func() int64 { return r.pick(1, 1, 2, 3, 4, 4, 5, 8, 8, 32) }
	shape := tensor.Shape{small(), small(), small(), small()}
	n := len(op.Inputs)
	if n > 0 && op.Inputs[n-1].Variadic {
		n += r.IntN(3)
	}
	in := make([]tensor.Type, n)
	for i := range in {
		spec := op.InputSpec(i)
		if spec.Optional && r.IntN(2) == 0 {
			continue
		}
		most := spec.MaxRank
		if most == 0 {
			most = tensor.MaxRank
		}
		rank := spec.MinRank + r.IntN(most-spec.MinRank+1)
		in[i] = tensor.Type{DType: tensor.F32, Shape: append(tensor.Shape{}, shape[tensor.MaxRank-rank:]...)}
		if r.IntN(3) == 0 && rank > 0 {
			in[i].Shape[r.IntN(rank)] = small()
		}
		dtypes := []tensor.DType{tensor.F32, tensor.F32, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.I16, tensor.I8}
		for in[i].DType = dtypes[r.IntN(len(dtypes))]; !spec.DTypes.Accepts(in[i].DType); {
			in[i].DType = dtypes[r.IntN(len(dtypes))]
		}
	}
	return in
}

func (r wild) attr(a *ops.Attr) ops.AttrValue {
	if a.Default.Type != 0 && r.IntN(2) == 0 {
		return a.Default
	}
	whole := func() int64 {
		if r.IntN(4) > 0 {
			return r.pick(-2, -1, 0, 1, 1, 2, 2, 3, 4, 8)
		}
		return r.pick(-1<<62, math.MaxInt64, -1<<40, 1<<40, 1<<31, 1<<31-1, 1<<20, 1<<16, 1<<59, 33)
	}
	v := ops.AttrValue{Type: a.Type, Int: whole()}
	switch a.Type {
	case ops.Real:
		reals := []float64{-1, 0, 1e-45, 1e-30, 0.5, 1, 2, 1e30, -1e30, math.MaxFloat32, math.NaN(), math.Inf(1), math.Inf(-1), 1e300}
		v.Real = reals[r.IntN(len(reals))]
	case ops.Text:
		words := []string{"none", "tanh", "half", "interleaved", "constant", "reflect", "nearest", "CRD", "DCR", "f32", "f16", "bf16", "i8", "i16", "i32", "i64"}
		v.Text = words[r.IntN(len(words))]
	case ops.Ints:
		for range r.IntN(5) {
			v.Ints = append(v.Ints, whole())
		}
	default:
	}
	return v
}

// fill gives random bytes of a type, indices below a bound.
func (r wild) fill(t tensor.Type, below int64) []byte {
	v := ops.NewValue(t)
	odd := []float64{0, -1, 1, 0.5, 1e30, -1e30, math.NaN(), math.Inf(1), math.Inf(-1)}
	for i := range v.F {
		if v.F[i] = r.NormFloat64(); r.IntN(8) == 0 {
			v.F[i] = odd[r.IntN(len(odd))]
		}
	}
	for i := range v.I {
		v.I[i] = r.Int64N(max(1, min(below, 100)))
	}
	data := make([]byte, t.Bytes())
	if err := v.Encode(data); err != nil {
		panic(err)
	}
	return data
}

// TestWildCallsMeetNoAssertion: whatever a call asks for, it is refused, too large, or
// computed. On two threads, since an assertion on the second one ends the process.
func TestWildCallsMeetNoAssertion(t *testing.T) {
	b := cpuBackend(t, 2)
	r := wild{rand.New(rand.NewPCG(7, 8))}
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		require.NoError(t, err)
		if op.Writes {
			continue
		}
		ran := 0
		for try := 0; try < 1500 && ran < 25; try++ {
			in := r.types(op)
			attrs := make([]ops.AttrArg, len(op.Attrs))
			values := make([]ops.AttrValue, len(op.Attrs))
			for i := range attrs {
				values[i] = r.attr(&op.Attrs[i])
				attrs[i] = ops.AttrArg{Name: op.Attrs[i].Name, Value: values[i]}
			}
			c, err := op.NewCall(in, values)
			if err != nil {
				continue
			}
			if runWild(t, b, r, c, attrs) {
				ran++
			}
		}
		require.Positive(t, ran, name)
	}
}

// runWild runs a call in a graph of its own, and says whether it was small enough to.
func runWild(t *testing.T, b *Backend, r wild, c *ops.Call, attrs []ops.AttrArg) bool {
	what := fmt.Sprintf("%s %v %+v", c.Op.Name, c.In, attrs)
	elements := int64(0)
	for _, o := range c.Out {
		elements += o.Shape.Elements()
	}
	if elements > 1<<16 && elements < 1<<41 {
		return false // there may be as much memory
	}
	g := newGraph(t)
	refs := make([]ops.Ref, len(c.In))
	var given []backend.Buffer
	for i, ty := range c.In {
		refs[i] = ops.None
		if ty.DType == 0 {
			continue
		}
		below := int64(1 << 40)
		if f := c.Op.InputSpec(i).Below; f != nil {
			below = f(c)
		}
		refs[i] = input(t, g, fmt.Sprint(i), ty.DType, ty.Shape...)
		given = append(given, buffer(r.fill(ty, below)))
	}
	outs, err := g.Op(c.Op.Name, refs, attrs, len(c.Out))
	if err != nil { // numbers beyond 2^48 mean nothing in a graph
		require.ErrorContains(t, err, "2^48", what)
		return false
	}
	var results []backend.Buffer
	for i, o := range outs {
		require.NoError(t, g.Output(fmt.Sprint(i), o), what)
		if elements <= 1<<16 {
			results = append(results, buffer(make([]byte, c.Out[i].Bytes())))
		}
	}
	p, err := g.Bind(nil, b.Supports)
	if err != nil {
		require.Contains(t, []status.Code{status.Unsupported, status.InvalidArgument}, status.Of(err), "%s: %v", what, err)
		return false
	}
	s, err := b.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	x, err := s.Build(p)
	if err != nil {
		require.Contains(t, []status.Code{status.Unsupported, status.OutOfMemory}, status.Of(err), "%s: %v", what, err)
		return false
	}
	defer func() { require.NoError(t, x.Close()) }()
	require.LessOrEqual(t, elements, int64(1<<16), what)
	o := options()
	o.Threads = 2
	require.NoError(t, x.Run(given, results, o), what)
	return true
}
