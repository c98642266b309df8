package ops_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// callOf makes a call, or nil where it is refused.
func callOf(t *testing.T, name string, in []tensor.Type, attrs ...ops.AttrArg) *ops.Call {
	t.Helper()
	op, err := ops.Lookup(name)
	require.NoError(t, err)
	values, err := op.Bind(attrs)
	require.NoError(t, err)
	c, err := op.NewCall(in, values)
	if err != nil {
		require.NotContains(t, err.Error(), "result: dimension", "%s %v %v", name, in, attrs)
		return nil
	}
	return c
}

func wide(n int64) *big.Int { return big.NewInt(n) }

func sum(of ...*big.Int) *big.Int {
	total := new(big.Int)
	for _, v := range of {
		total.Add(total, v)
	}
	return total
}

func product(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func minus(a *big.Int) *big.Int { return new(big.Int).Neg(a) }

// sliceCount counts what a slice takes as numpy does, where nothing overflows.
func sliceCount(n, start, end, step int64) *big.Int {
	length, s, e := wide(n), wide(start), wide(end)
	if start < 0 {
		s.Add(s, length)
	}
	if end < 0 {
		e.Add(e, length)
	}
	clamp := func(v, low, high *big.Int) *big.Int {
		if v.Cmp(low) < 0 {
			return low
		}
		if v.Cmp(high) > 0 {
			return high
		}
		return v
	}
	low, high := wide(0), length
	if step < 0 {
		low, high = wide(-1), wide(n-1)
	}
	s, e = clamp(s, low, high), clamp(e, low, high)
	distance, stride := sum(e, minus(s)), wide(step)
	if step < 0 {
		distance, stride = minus(distance), minus(stride)
	}
	if distance.Sign() <= 0 {
		return wide(0)
	}
	return sum(new(big.Int).Div(sum(distance, wide(-1)), stride), wide(1))
}

// A slice's size is numpy's for every start, end and step that an int64 can be.
func TestSliceAtExtremes(t *testing.T) {
	numbers := []int64{
		math.MinInt64, math.MinInt64 + 1, -1 << 62, -1 << 40, -9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 9, 1 << 40, 1 << 59, 1 << 62,
		math.MaxInt64 - 1, math.MaxInt64,
	}
	for _, n := range []int64{1, 2, 8, 1<<31 + 1, 1 << 59} {
		for _, start := range numbers {
			for _, end := range numbers {
				for _, step := range numbers {
					if step == 0 {
						continue
					}
					c := callOf(t, "slice", []tensor.Type{x(n)}, ops.IntAttr("axis", 0), ops.IntAttr("start", start), ops.IntAttr("end", end), ops.IntAttr("step", step))
					want := sliceCount(n, start, end, step)
					if want.Sign() == 0 {
						require.Nil(t, c, "%d [%d:%d:%d]", n, start, end, step)
						continue
					}
					require.NotNil(t, c, "%d [%d:%d:%d]", n, start, end, step)
					require.Equal(t, want.Int64(), c.Out[0].Shape[0], "%d [%d:%d:%d]", n, start, end, step)
				}
			}
		}
	}
}

// Whole axes can be turned round as ONNX does it.
func TestSliceToTheSmallestEnd(t *testing.T) {
	c := callOf(t, "slice", []tensor.Type{x(8)}, ops.IntAttr("axis", 0), ops.IntAttr("start", -1), ops.IntAttr("end", math.MinInt64), ops.IntAttr("step", -1))
	require.NotNil(t, c)
	in, out := ops.NewValue(c.In[0]), ops.NewValue(c.Out[0])
	for i := range in.F {
		in.F[i] = float64(i)
	}
	require.NoError(t, c.Op.Eval(c, []ops.Value{in}, []ops.Value{out}))
	require.Equal(t, []float64{7, 6, 5, 4, 3, 2, 1, 0}, out.F)
}

// Sizes of results are those of whole numbers without bounds, or the call is refused.
func TestResultSizesAtExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	sizes := []int64{1, 2, 3, 7, 1 << 16, 1<<31 - 1, 1 << 31, 1 << 40, 1 << 58, 1 << 59}
	spans := []int64{0, 1, 2, 3, 5, 1 << 16, 1 << 20, 1<<31 - 1}
	pads := append([]int64{1 << 40}, spans...)
	pick := func(from []int64) int64 { return from[r.IntN(len(from))] }
	passed := map[string]int{}
	check := func(name string, c *ops.Call, axis int, want *big.Int) {
		if c == nil {
			return
		}
		passed[name]++
		require.Equal(t, want.String(), wide(c.Out[0].Shape[axis]).String(), "%s %v", name, c.In)
	}
	for range 20000 {
		n, k, stride, dilation := pick(sizes), pick(sizes), max(1, pick(spans)), max(1, pick(spans))
		before, after := pick(spans), pick(spans)
		reach := sum(product(wide(k-1), wide(dilation)), wide(1))

		room := sum(wide(n), wide(before), wide(after), minus(reach))
		c := callOf(t, "conv1d", []tensor.Type{x(1, 1, n), x(1, 1, k)}, ops.IntAttr("stride", stride), ops.IntAttr("dilation", dilation), ops.IntsAttr("padding", before, after))
		check("conv1d", c, 2, sum(new(big.Int).Div(room, wide(stride)), wide(1)))
		c = callOf(t, "conv2d", []tensor.Type{x(1, 1, n, 1), x(1, 1, k, 1)}, ops.IntsAttr("stride", stride), ops.IntsAttr("dilation", dilation), ops.IntsAttr("padding", before, 0, after, 0))
		check("conv2d", c, 2, sum(new(big.Int).Div(room, wide(stride)), wide(1)))

		extra := pick(spans)
		c = callOf(t, "conv_transpose1d", []tensor.Type{x(1, 1, n), x(1, 1, k)}, ops.IntAttr("stride", stride), ops.IntAttr("dilation", dilation),
			ops.IntsAttr("padding", before, after), ops.IntAttr("output_padding", extra))
		check("conv_transpose1d", c, 2, sum(product(wide(n-1), wide(stride)), reach, wide(extra), minus(wide(before)), minus(wide(after))))

		low, high := pick(pads), pick(pads)
		c = callOf(t, "pad", []tensor.Type{x(n)}, ops.IntsAttr("pads", low, high))
		check("pad", c, 0, sum(wide(n), wide(low), wide(high)))

		factor := max(1, pick(spans)%(1<<16+1))
		c = callOf(t, "upsample", []tensor.Type{x(1, 1, n, 1)}, ops.IntsAttr("scale", factor, 1))
		check("upsample", c, 2, product(wide(n), wide(factor)))
		c = callOf(t, "depth_to_space", []tensor.Type{x(1, factor*factor, n%(1<<39)+1, 1)}, ops.IntAttr("block", factor))
		check("depth_to_space", c, 2, product(wide(n%(1<<39)+1), wide(factor)))

		m := pick(sizes)
		c = callOf(t, "concat", []tensor.Type{x(n), x(m), x(n)}, ops.IntAttr("axis", 0))
		check("concat", c, 0, sum(wide(n), wide(m), wide(n)))
		c = callOf(t, "matmul", []tensor.Type{x(n, 1), x(1, m)})
		check("matmul", c, 0, wide(n))
		c = callOf(t, "reshape", []tensor.Type{x(n)}, ops.IntsAttr("shape", m, -1))
		if c != nil {
			check("reshape", c, 1, new(big.Int).Div(wide(n), wide(m)))
		}
	}
	for _, name := range []string{"conv1d", "conv2d", "conv_transpose1d", "pad", "upsample", "depth_to_space", "concat", "matmul", "reshape"} {
		require.Greater(t, passed[name], 100, name)
	}
}

// boundedBuilder is a builder that only keeps types, up to a number of operators.
type boundedBuilder struct {
	types []tensor.Type
	left  int
}

func (b *boundedBuilder) Add(name string, in []ops.Ref, attrs ...ops.AttrArg) ([]ops.Ref, error) {
	if b.left--; b.left < 0 {
		panic("too many operators")
	}
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, err
	}
	values, err := op.Bind(attrs)
	if err != nil {
		return nil, err
	}
	types := make([]tensor.Type, len(in))
	for i, r := range in {
		if r != ops.None {
			types[i] = b.types[r]
		}
	}
	c, err := op.NewCall(types, values)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Ref, len(c.Out))
	for i, t := range c.Out {
		out[i] = ops.Ref(len(b.types))
		b.types = append(b.types, t)
	}
	return out, nil
}

// A decomposition is written in few operators whatever the sizes are, or not at all.
func TestDecompositionsAtExtremes(t *testing.T) {
	const n = 1 << 40
	list := func(in ...tensor.Type) []tensor.Type { return in }
	for name, calls := range map[string][]*ops.Call{
		"expand": {
			callOf(t, "expand", list(x(1)), ops.IntsAttr("shape", n)),
			callOf(t, "expand", list(x(1, 3, 1)), ops.IntsAttr("shape", 1<<20+1, 3, 1<<19-1)),
		},
		"conv2d": {
			callOf(t, "conv2d", list(x(1, 1<<21, 9, 9), x(1<<20, 2, 3, 3)), ops.IntAttr("groups", 1<<20)),
			callOf(t, "conv2d", list(x(1, 1<<21, 9, 9), x(1<<21, 1, 3, 3)), ops.IntAttr("groups", 1<<21)),
			callOf(t, "conv2d", list(x(1, 1, 1<<20, 1<<20), x(1, 1, 1<<20, 1<<20))),
			callOf(t, "conv2d", list(x(1, 1, 4, 4), x(1, 1, 2, 2)), ops.IntsAttr("padding", 1<<31-1), ops.IntsAttr("stride", 1<<31-1)),
		},
		"conv1d":           {callOf(t, "conv1d", list(x(1, 1, n), x(1, 1, 1<<31-1)), ops.IntAttr("stride", 1<<31-1))},
		"conv_transpose1d": {callOf(t, "conv_transpose1d", list(x(1, 1, 1<<20), x(1, 1, 1<<20)), ops.IntAttr("stride", 1<<31-1), ops.IntAttr("dilation", 1<<20))},
		"pad":              {callOf(t, "pad", list(x(n)), ops.IntsAttr("pads", n-1, n-1), ops.TextAttr("mode", "reflect")), callOf(t, "pad", list(x(n)), ops.IntsAttr("pads", n, n))},
		"cumsum":           {callOf(t, "cumsum", list(x(n)))},
		"reduce_max":       {callOf(t, "reduce_max", list(x(1<<59)))},
		"slice": {
			callOf(t, "slice", list(x(n)), ops.IntAttr("axis", 0), ops.IntAttr("start", -1), ops.IntAttr("end", math.MinInt64), ops.IntAttr("step", -1)),
			callOf(t, "slice", list(x(n)), ops.IntAttr("axis", 0), ops.IntAttr("step", math.MaxInt64)),
		},
		"upsample": {callOf(t, "upsample", list(x(1, 1, n, 1)), ops.IntsAttr("scale", 1<<16, 2))},
		"where":    {callOf(t, "where", list(x(n), x(n), x(n)))},
		"attention": {
			callOf(t, "attention", list(x(1<<20, 4, 8), x(1<<30, 4, 8), x(1<<30, 4, 8)), ops.IntAttr("causal", 1), ops.IntAttr("window", math.MaxInt64)),
		},
	} {
		for _, c := range calls {
			require.NotNil(t, c, name)
			b := &boundedBuilder{left: 1 << 18}
			in := make([]ops.Ref, len(c.In))
			for i, ty := range c.In {
				in[i] = ops.Ref(i)
				b.types = append(b.types, ty)
			}
			out, err := c.Op.Decompose(b, c, in)
			if err == nil {
				require.Equal(t, c.Out[0], b.types[out[0]], name)
			}
		}
	}
}
