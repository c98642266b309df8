package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

func TestMain(m *testing.M) { kerneltest.Main(m) }

// TestProcessors is skipped for each kind of processor that this one is not.
func TestProcessors(t *testing.T) { kerneltest.Processors(t) }

// TestEveryKernelHasOneEntry, and what it says of an operator is true of the table.
func TestEveryKernelHasOneEntry(t *testing.T) {
	seen := map[string]bool{}
	for k := range kernels.All() {
		require.False(t, seen[k.Name()], "two kernels are called %q", k.Name())
		seen[k.Name()] = true
		as, ok := k.Operator()
		if !ok {
			continue
		}
		op, err := ops.Lookup(k.Name())
		require.NoError(t, err)
		numbers := 0
		for _, name := range as.Attributes {
			found := false
			for _, a := range op.Attrs {
				if a.Name != name {
					continue
				}
				found = true
				switch a.Type {
				case ops.Real:
					numbers++
				case ops.Int:
					numbers += 2
				default:
					t.Fatalf("%s: attribute %q is no number", k.Name(), name)
				}
			}
			require.True(t, found, "%s has no attribute %q", k.Name(), name)
		}
		require.Len(t, op.Attrs, len(as.Attributes), "%s: all attributes count", k.Name())
		require.LessOrEqual(t, numbers, kernels.Numbers, k.Name())
	}
	require.NotEmpty(t, seen)
}

// evaluate gives an operator's results by its formula, in float64.
func evaluate(t testing.TB, name string, attrs []ops.AttrArg, in ...ops.Value) []ops.Value {
	t.Helper()
	op, err := ops.Lookup(name)
	require.NoError(t, err)
	bound, err := op.Bind(attrs)
	require.NoError(t, err)
	types := make([]tensor.Type, len(in))
	for i, v := range in {
		types[i] = v.Type
	}
	c, err := op.NewCall(types, bound)
	require.NoError(t, err)
	out := make([]ops.Value, len(c.Out))
	for i, o := range c.Out {
		out[i] = ops.NewValue(o)
	}
	require.NoError(t, op.Eval(c, in, out))
	return out
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }

// normal makes a value of random numbers, rounded as the type does.
func normal(t testing.TB, r *rand.Rand, d tensor.DType, shape ...int64) ops.Value {
	v := ops.NewValue(tensor.Type{DType: d, Shape: shape})
	for i := range v.F {
		v.F[i] = r.NormFloat64()
	}
	return rounded(t, v)
}

// rounded gives a value as its type holds it.
func rounded(t testing.TB, v ops.Value) ops.Value {
	data := make([]byte, v.Type.Bytes())
	require.NoError(t, v.Encode(data))
	require.NoError(t, v.Decode(data))
	return v
}

// integers makes an i32 value.
func integers(list ...int64) ops.Value {
	return ops.Value{Type: tensor.Type{DType: tensor.I32, Shape: tensor.Shape{int64(len(list))}}, I: list}
}

// result runs a kernel and gives its output of a type.
func result(t testing.TB, name string, threads int, numbers []int32, typ tensor.Type, in ...kerneltest.Operand) ops.Value {
	t.Helper()
	out := kerneltest.Operand{Type: typ, Data: make([]byte, typ.Bytes())}
	for i := range out.Data {
		out.Data[i] = 0xa5 // what is not written shows
	}
	kerneltest.Run(t, name, threads, numbers, out, in...)
	v := ops.NewValue(typ)
	require.NoError(t, v.Decode(out.Data))
	return v
}

func operands(t testing.TB, list ...ops.Value) []kerneltest.Operand {
	o := make([]kerneltest.Operand, len(list))
	for i, v := range list {
		o[i] = kerneltest.OfValue(t, v)
	}
	return o
}

// scratch is memory of so many bytes.
func scratch(bytes int64) kerneltest.Operand {
	return kerneltest.Of(tensor.I8, make([]int8, bytes), bytes)
}

// requireNear wants numbers to be off by no more than an absolute bound, NaN where it is
// wanted, infinities where they are.
func requireNear(t testing.TB, want, got []float64, bound float64, about string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want), about)
	for i, w := range want {
		g := got[i]
		if math.IsNaN(w) && math.IsNaN(g) || w == g || math.Abs(w-g) <= bound {
			continue
		}
		t.Fatalf("%s: element %d is %g, want %g within %g", fmt.Sprintf(about, args...), i, g, w, bound)
	}
}

func floatBits(v float64) int32 { return int32(math.Float32bits(float32(v))) }

// halves are a number's low and high half.
func halves(n int64) [2]int32 { return [2]int32{int32(n), int32(n >> 32)} }
