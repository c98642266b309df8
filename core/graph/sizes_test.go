package graph

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

func dim(t *testing.T, g *Graph, name string, minimum, maximum int64) int64 {
	t.Helper()
	n, err := g.Dim(name, minimum, maximum)
	require.NoError(t, err)
	return n
}

// size makes an expression.
func size(t *testing.T, g *Graph, a int64, op DimOp, b int64) int64 {
	t.Helper()
	n, err := g.DimOp(op, a, b)
	require.NoError(t, err)
	return n
}

func sizeText(t *testing.T, g *Graph, n int64) string {
	t.Helper()
	s, err := g.DimText(n)
	require.NoError(t, err)
	return s
}

func TestExpressionsHaveANormalForm(t *testing.T) {
	g := New("e")
	defer g.Release()
	n, m := dim(t, g, "n", 1, 8), dim(t, g, "m", 1, 8)
	do := func(a int64, op DimOp, b int64) int64 { t.Helper(); return size(t, g, a, op, b) }
	twice := do(2, DimMul, n)
	for want, same := range map[string][]int64{
		"n":           {n, do(n, DimAdd, 0), do(n, DimMul, 1), do(n, DimDiv, 1), do(do(n, DimAdd, 1), DimSub, 1), do(twice, DimDiv, 2), do(do(n, DimMul, m), DimDiv, m)},
		"n + 1":       {do(n, DimAdd, 1), do(1, DimAdd, n), do(do(n, DimAdd, m), DimSub, do(m, DimSub, 1))},
		"2*n + 1":     {do(twice, DimAdd, 1), do(n, DimAdd, do(n, DimAdd, 1))},
		"n*m":         {do(n, DimMul, m), do(m, DimMul, n)},
		"n*n - m*m":   {do(do(n, DimAdd, m), DimMul, do(n, DimSub, m))},
		"10 - n":      {do(10, DimSub, n)},
		"m - n + 1":   {do(do(m, DimSub, n), DimAdd, 1)},
		"-n":          {do(0, DimSub, n)},
		"n/2":         {do(n, DimDiv, 2), do(twice, DimDiv, 4)},
		"(n + 1)/2":   {do(do(n, DimAdd, 1), DimDiv, 2), do(do(twice, DimAdd, 2), DimDiv, 4)},
		"m + 3*(n/2)": {do(do(do(n, DimDiv, 2), DimMul, 3), DimAdd, m)},
		"n/m":         {do(n, DimDiv, m)},
		"n/(2*m)":     {do(n, DimDiv, do(m, DimMul, 2))},
		"n/(m + 1)":   {do(n, DimDiv, do(m, DimAdd, 1))},
		"0":           {0, do(n, DimSub, n)},
		"1":           {1, do(n, DimDiv, n), do(6, DimDiv, 6)},
		"-5":          {-5, do(2, DimSub, 7)},
	} {
		for i, s := range same {
			require.Equal(t, same[0], s, "%s: %d", want, i)
		}
		require.Equal(t, want, sizeText(t, g, same[0]))
	}
}

// Expressions are held to Go's own arithmetic.
func TestExpressionsHaveTheRightValue(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewSource(seed))
	g := New("e")
	defer g.Release()
	type known struct {
		number int64
		value  func(dims []int64) (int64, bool) // false: no whole number
		depth  int
	}
	all := []known{}
	for i := range 3 {
		all = append(all, known{dim(t, g, fmt.Sprint("d", i), 1, 100), func(dims []int64) (int64, bool) { return dims[i], true }, 0})
	}
	for c := range int64(6) {
		all = append(all, known{c - 2, func([]int64) (int64, bool) { return c - 2, true }, 0})
	}
	made := 0
	for range 3000 {
		a, b, op := all[r.Intn(len(all))], all[r.Intn(len(all))], DimOp(1+r.Intn(4))
		if max(a.depth, b.depth) > 4 {
			continue
		}
		n, err := g.DimOp(op, a.number, b.number)
		if err != nil {
			require.Equal(t, status.InvalidArgument, status.Of(err))
			continue
		}
		made++
		all = append(all, known{n, func(dims []int64) (int64, bool) {
			x, ok := a.value(dims)
			y, also := b.value(dims)
			if !ok || !also {
				return 0, false
			}
			switch op {
			case DimAdd:
				return x + y, true
			case DimSub:
				return x - y, true
			case DimMul:
				return x * y, true
			default:
				if y == 0 || x%y != 0 {
					return 0, false
				}
				return x / y, true
			}
		}, 1 + max(a.depth, b.depth)})
		if len(all) > 60 { // so that they do not grow too long
			at := 9 + r.Intn(len(all)-9)
			all = append(all[:at], all[at+1:]...)
		}
		for range 3 {
			dims := []int64{1 + r.Int63n(12), 1 + r.Int63n(12), 1 + r.Int63n(12)}
			last := all[len(all)-1]
			want, whole := last.value(dims)
			e, err := g.data.asExpr(last.number)
			require.NoError(t, err)
			got, err := g.data.value(e, dims)
			switch {
			case whole && err == nil:
				// An overflow of ours is an error; that of the test wraps and is not looked at.
				require.Equal(t, want, got, "%s with %v", g.data.text(e), dims)
			case whole:
				require.ErrorContains(t, err, "overflows", "%s with %v", g.data.text(e), dims)
			}
		}
	}
	require.Greater(t, made, 500)
}

func TestNumbersOfDimensionsAreNoArithmetics(t *testing.T) {
	for range 4 {
		g, other := New("g"), New("other")
		n, m := dim(t, g, "n", 1, 8), dim(t, g, "m", 1, 8)
		for _, name := range []string{"a", "b", "c"} {
			dim(t, g, name, 1, 8)
		}
		foreign := dim(t, other, "n", 1, 8)
		sum := size(t, g, n, DimAdd, m)
		wrong := map[string]int64{
			"foreign": foreign, "-n": -n, "2n": 2 * n, "3n": 3 * n, "4n": 4 * n, "n+m": n + m, "n-m": n - m, "m-n+1": m - n + 1,
			"n/2": n / 2, "sum-n": sum - n, "n-foreign": n - foreign, "^n": ^n, "-n-1": -n - 1,
		}
		for d := int64(1); d < 300; d++ {
			wrong[fmt.Sprint("n + ", d)], wrong[fmt.Sprint("n - ", d)] = n+d, n-d
		}
		for about, w := range wrong {
			_, err := g.Input("x", f32(w, 2))
			require.Equal(t, status.InvalidArgument, status.Of(err), about)
			require.ErrorContains(t, err, "qtsa_graph_dim_op makes expressions", about)
			_, err = g.DimOp(DimAdd, w, 1)
			require.Equal(t, status.InvalidArgument, status.Of(err), about)
			_, err = g.DimText(w)
			require.Equal(t, status.InvalidArgument, status.Of(err), about)
			_, err = g.Op("arange", nil, []ops.AttrArg{ops.IntAttr("count", w)}, 1)
			require.Equal(t, status.InvalidArgument, status.Of(err), about)
		}
		_, err := g.State("s", f32(foreign))
		require.ErrorContains(t, err, "nor a dynamic dimension of this graph")
		_, err = g.State("s", f32(n))
		require.ErrorContains(t, err, "a state's shape is fixed")
		g.Release()
		other.Release()
	}
}

// The numbers of a thousand expressions, their neighbours, and their differences.
func TestDifferencesOfExpressionsAreNone(t *testing.T) {
	g := New("g")
	defer g.Release()
	n := dim(t, g, "n", 1, 8)
	seen := map[int64]bool{n: true}
	list := []int64{n}
	for i := int64(1); i < 1000; i++ {
		s := size(t, g, n, DimAdd, i)
		require.False(t, seen[s] || isPlain(s))
		seen[s], list = true, append(list, s)
	}
	for _, a := range list {
		for _, b := range list {
			if a != b && isPlain(a-b) {
				t.Fatalf("%d - %d", a, b)
			}
		}
	}
}

func TestPlainNumbersStandForThemselves(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 1 << 40, -1 << 40, 1 << 48, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, math.MaxInt32, math.MinInt32} {
		require.True(t, isPlain(n), "%d", n)
	}
	for _, n := range []int64{1<<48 + 1, -1<<48 - 1, 1 << 62, -1 << 62} {
		require.False(t, isPlain(n), "%d", n)
	}
	// ONNX writes "through to the first element" so.
	g := New("slice")
	defer g.Release()
	n := dim(t, g, "n", 2, 8)
	x := input(t, g, "x", f32(n, 5))
	y := must(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 1), ops.IntAttr("start", -1),
		ops.IntAttr("end", math.MinInt64), ops.IntAttr("step", -1))
	z := must(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 0), ops.IntAttr("start", 1), ops.IntAttr("end", math.MaxInt64))
	require.NoError(t, g.Output("y", y))
	require.NoError(t, g.Output("z", z))
	p, err := g.Bind([]int64{3}, everything)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{3, 5}, p.Tensors[p.Outputs[0]].Type.Shape)
	require.Equal(t, tensor.Shape{2, 5}, p.Tensors[p.Outputs[1]].Type.Shape)
}

func TestExpressionsStandInShapesAndAttributes(t *testing.T) {
	g := New("e")
	defer g.Release()
	n, m := dim(t, g, "n", 2, 8), dim(t, g, "m", 1, 4)
	half := size(t, g, n, DimDiv, 2)
	x := input(t, g, "x", f32(size(t, g, size(t, g, 2, DimMul, n), DimAdd, 1), m))
	part := must(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 0), ops.IntAttr("start", half), ops.IntAttr("end", n))
	flat := must(t, g, "reshape", []ops.Ref{part}, ops.IntsAttr("shape", size(t, g, half, DimMul, m)))
	count := must(t, g, "arange", nil, ops.IntAttr("count", size(t, g, n, DimMul, m)))
	for name, r := range map[string]ops.Ref{"flat": flat, "count": count} {
		require.NoError(t, g.Output(name, r))
	}
	typ, bytes, err := g.Info(x)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{-1, -1}, typ.Shape)
	require.EqualValues(t, 17*4*4, bytes)
	s, err := g.Snapshot()
	require.NoError(t, err)
	defer s.Release()
	for _, c := range []struct{ n, m int64 }{{2, 1}, {4, 3}, {8, 4}} {
		_, err := s.Bind([]int64{c.n, c.m}, everything)
		require.NoError(t, err)
		ports, err := s.Ports([]int64{c.n, c.m})
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{2*c.n + 1, c.m}, ports.In[0].Shape)
		for _, o := range ports.Out {
			require.Contains(t, []tensor.Shape{{c.n / 2 * c.m}, {c.n * c.m}}, o.Shape)
		}
	}
	_, err = s.Bind([]int64{3, 1}, everything)
	require.Equal(t, status.InvalidArgument, status.Of(err))
	for _, words := range []string{`attribute "start"`, `"n/2" is 3/2, which is no whole number`, "with n=3 m=1", `op 0 "slice"`} {
		require.ErrorContains(t, err, words)
	}
}

func TestWhatExpressionsCannotBe(t *testing.T) {
	g := New("e")
	defer g.Release()
	n, m := dim(t, g, "n", 1, 8), dim(t, g, "m", 1, 1<<40)
	less, huge := size(t, g, n, DimSub, 1), size(t, g, size(t, g, m, DimMul, m), DimMul, 1<<40)
	x := input(t, g, "x", f32(n, 4))
	for _, c := range []struct {
		about string
		err   error
		words []string
	}{
		{"a size of 0", second(g.Input("a", f32(less))), []string{`"n - 1" is 0, it must be at least 1`, "n=1"}},
		{"a negative size", second(g.Input("a", f32(4, size(t, g, less, DimSub, 1)))), []string{"dimension 1", `"n - 2" is -1`, "n=1"}},
		{"-n", second(g.Input("a", f32(size(t, g, 0, DimSub, n)))), []string{`"-n" is -1`}},
		{"an end that would count from behind", second(g.Op("slice", []ops.Ref{x}, []ops.AttrArg{
			ops.IntAttr("axis", 0), ops.IntAttr("start", 0), ops.IntAttr("end", size(t, g, n, DimSub, 4)),
		}, 1)), []string{`attribute "end"`, `"n - 4" is -3, it must not be negative`, "n=1"}},
		{"a -1 that reshape would fill in", second(g.Op("reshape", []ops.Ref{x}, []ops.AttrArg{
			ops.IntsAttr("shape", size(t, g, less, DimSub, 1), 4),
		}, 1)), []string{`attribute "shape"`, `"n - 2" is -1`}},
		{"a rest at the smallest", second(g.Input("a", f32(size(t, g, n, DimDiv, 2)))), []string{`"n/2" is 1/2, which is no whole number`, "n=1"}},
		{"an overflow", second(g.Input("a", f32(huge))), []string{`overflows`, "m=1099511627776"}},
		{"too many elements", second(g.Input("a", f32(size(t, g, m, DimMul, 1<<20)))), []string{"2^59"}},
		{"a float", second(g.Op("arange", nil, []ops.AttrArg{ops.IntAttr("count", 3), ops.IntAttr("start", n)}, 1)), []string{`attribute "start" is a float`, `"n"`}},
		{"division by 0", second(g.DimOp(DimDiv, n, 0)), []string{"n / 0", "division by 0"}},
		{"numbers with a rest", second(g.DimOp(DimDiv, 7, 2)), []string{"7 / 2", "rest"}},
		{"too large a number", second(g.DimOp(DimMul, 1<<40, 1<<9)), []string{"beyond 2^48"}},
		{"factors that overflow", second(g.DimOp(DimMul, size(t, g, 1<<40, DimMul, n), 1<<40)), []string{"overflows"}},
		{"no operation", second(g.DimOp(5, n, n)), []string{"operation 5", "QTSA_DIM_"}},
		{"a range beyond all", second(g.Dim("k", 1, 1<<49)), []string{"2^48"}},
	} {
		require.Equal(t, status.InvalidArgument, status.Of(c.err), "%s: %v", c.about, c.err)
		for _, w := range c.words {
			require.ErrorContains(t, c.err, w, c.about)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What grows without end is refused before it takes time or memory.
func TestExpressionsStayShort(t *testing.T) {
	g := New("e")
	defer g.Release()
	n, m := dim(t, g, "n", 1, 8), dim(t, g, "m", 1, 8)
	for about, step := range map[string]func(int64) (int64, error){
		"squares": func(e int64) (int64, error) {
			s, err := g.DimOp(DimAdd, e, m)
			if err != nil {
				return 0, err
			}
			return g.DimOp(DimMul, s, e)
		},
		"quotients": func(e int64) (int64, error) {
			s, err := g.DimOp(DimMul, e, e)
			if err == nil {
				s, err = g.DimOp(DimAdd, s, e)
			}
			if err != nil {
				return 0, err
			}
			return g.DimOp(DimDiv, s, m)
		},
		"one after the other": func(e int64) (int64, error) { return g.DimOp(DimAdd, e, 1) },
	} {
		e, err := n, error(nil)
		for range 2 * maxExprs {
			if e, err = step(e); err != nil {
				break
			}
		}
		require.Equal(t, status.InvalidArgument, status.Of(err), about)
		require.Less(t, len(err.Error()), 100_000, about)
	}
}

// What two dimensions make may be the same at both ends, and yet depends on them.
func TestInfoOfWhatIsTheSameAtBothEnds(t *testing.T) {
	g := New("e")
	defer g.Release()
	n, m := dim(t, g, "n", 1, 8), dim(t, g, "m", 1, 8)
	d := size(t, g, size(t, g, n, DimSub, m), DimAdd, 8)
	x := input(t, g, "x", f32(d, 4))
	for _, r := range []ops.Ref{x, must(t, g, "relu", []ops.Ref{x}), must(t, g, "transpose", []ops.Ref{x}, ops.IntsAttr("axes", 0, 1))} {
		typ, _, err := g.Info(r)
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{-1, 4}, typ.Shape)
	}
	// Where the values between do not fit, the ends count.
	same := must(t, g, "add", []ops.Ref{input(t, g, "a", f32(n, 4)), input(t, g, "b", f32(m, 4))})
	typ, _, err := g.Info(must(t, g, "relu", []ops.Ref{same}))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{-1, 4}, typ.Shape)
}

func TestNumbersOfTensorsCarryTheirGraph(t *testing.T) {
	g, other := New("g"), New("other")
	defer g.Release()
	defer other.Release()
	x, y := input(t, g, "x", f32(2)), input(t, other, "y", f32(2))
	back, err := g.Ref(g.Number(x), "input 0")
	require.NoError(t, err)
	require.Equal(t, x, back)
	none, err := g.Ref(-1, "input 0")
	require.NoError(t, err)
	require.Equal(t, ops.None, none)
	_, err = g.Ref(other.Number(y), "input 0")
	require.Equal(t, status.InvalidArgument, status.Of(err))
	require.ErrorContains(t, err, `graph "g": input 0`)
	require.ErrorContains(t, err, "a tensor of another graph")
	for _, n := range []int64{0, 1, 99, -2, math.MinInt64, math.MaxInt64, g.Number(x) | 1<<31} {
		_, err = g.Ref(n, "input 0")
		require.Equal(t, status.InvalidArgument, status.Of(err), "%d", n)
	}
	require.EqualValues(t, 1, saltOf(1)>>saltShift)
	require.EqualValues(t, math.MaxInt32, saltOf(math.MaxInt32)>>saltShift)
	require.EqualValues(t, 1, saltOf(math.MaxInt32+1)>>saltShift, "never 0")
}
