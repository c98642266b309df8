package graph

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }
func i32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.I32, Shape: shape} }

func everything(*ops.Call) bool { return true }

// must adds an operator with one output.
func must(t *testing.T, g *Graph, name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	t.Helper()
	out, err := g.Op(name, in, attrs, 1)
	require.NoError(t, err)
	return out[0]
}

func input(t *testing.T, g *Graph, name string, typ tensor.Type) ops.Ref {
	t.Helper()
	r, err := g.Input(name, typ)
	require.NoError(t, err)
	return r
}

func names(p *Program) []string {
	var n []string
	for _, node := range p.Nodes {
		n = append(n, node.Call.Op.Name)
	}
	return n
}

func TestProgramHoldsWhatIsNeeded(t *testing.T) {
	g := New("g")
	defer g.Release()
	x := input(t, g, "x", f32(2, 3))
	unused := input(t, g, "unused", f32(4))
	must(t, g, "relu", []ops.Ref{unused})
	y := must(t, g, "relu", []ops.Ref{x})
	require.NoError(t, g.Output("y", y))
	require.NoError(t, g.Output("x again", x))

	p, err := g.Bind(nil, everything)
	require.NoError(t, err)
	require.Equal(t, []string{"relu"}, names(p), "a node that nothing needs is left out")
	require.Len(t, p.Inputs, 2, "an input that nothing needs stays: the host counts them")
	require.Equal(t, p.Inputs[0], p.Outputs[1])
	require.Equal(t, p.Nodes[0].Out[0], p.Outputs[0])
}

func TestErrorsNameTheOperatorAndLeaveTheGraph(t *testing.T) {
	w := weights.New()
	require.NoError(t, w.Declare("head.weight", f32(5, 4)))
	g := New("tts")
	defer g.Release()
	x := input(t, g, "x", f32(2, 3))
	head, err := g.Weight(w, "head.weight")
	require.NoError(t, err)
	w.Release()

	for _, c := range []struct {
		about string
		call  func() error
		code  status.Code
		words []string
	}{
		{
			"inner dimensions", func() error { _, err := g.Op("linear", []ops.Ref{x, head}, nil, 1); return err },
			status.ShapeMismatch,
			[]string{`graph "tts": op 0 "linear"`, `f32[2, 3] "x"`, `f32[5, 4] "head.weight"`},
		},
		{
			"unknown operator", func() error { _, err := g.Op("linaer", nil, nil, 1); return err },
			status.NotFound,
			[]string{`"linaer"`},
		},
		{"unknown attribute", func() error {
			_, err := g.Op("softmax", []ops.Ref{x}, []ops.AttrArg{ops.IntAttr("axes", 1)}, 1)
			return err
		}, status.NotFound, []string{`unknown attribute "axes"`, "axis"}},
		{"attribute type", func() error {
			_, err := g.Op("softmax", []ops.Ref{x}, []ops.AttrArg{ops.TextAttr("axis", "1")}, 1)
			return err
		}, status.InvalidArgument, []string{`"axis" is of type string, want int`}},
		{"attribute twice", func() error {
			_, err := g.Op("softmax", []ops.Ref{x}, []ops.AttrArg{ops.IntAttr("axis", 1), ops.IntAttr("axis", 1)}, 1)
			return err
		}, status.InvalidArgument, []string{"given twice"}},
		{
			"foreign tensor", func() error { _, err := g.Op("relu", []ops.Ref{99}, nil, 1); return err },
			status.InvalidArgument,
			[]string{"tensor 99", "2 tensors"},
		},
		{
			"number of outputs", func() error { _, err := g.Op("relu", []ops.Ref{x}, nil, 2); return err },
			status.InvalidArgument,
			[]string{"2 outputs are asked for, the operator has 1"},
		},
		{
			"too many inputs", func() error { _, err := g.Op("relu", []ops.Ref{x, x}, nil, 1); return err },
			status.InvalidArgument,
			[]string{"2 inputs are given, at most 1"},
		},
		{
			"input missing", func() error { _, err := g.Op("linear", []ops.Ref{x}, nil, 1); return err },
			status.InvalidArgument,
			[]string{`input "weight" is missing`},
		},
		{"wrong dtype", func() error {
			_, err := g.Op("embedding", []ops.Ref{head, x}, nil, 1)
			return err
		}, status.InvalidArgument, []string{`input "ids" is f32[2, 3], want i32 or i64`}},
		{"input name", func() error { _, err := g.Input("x", f32(1)); return err }, status.AlreadyExists, []string{`"x"`}},
		{
			"five dimensions", func() error { _, err := g.Input("five", f32(1, 1, 1, 1, 1)); return err },
			status.InvalidArgument,
			[]string{`input "five"`, "5 dimensions"},
		},
		{
			"overflow", func() error { _, err := g.Input("big", f32(1<<32, 1<<32)); return err },
			status.InvalidArgument,
			[]string{`input "big"`, "overflows"},
		},
		{"zero", func() error { _, err := g.Input("zero", f32(0)); return err }, status.InvalidArgument, []string{"is 0"}},
		{"weight name", func() error { _, err := g.Weight(w, "nose.weight"); return err }, status.NotFound, []string{"nose.weight"}},
		{"output tensor", func() error { return g.Output("y", -1) }, status.InvalidArgument, []string{`output "y" is none`}},
		{"state dtype", func() error { _, err := g.State("s", i32(1)); return err }, status.InvalidArgument, []string{"want f32 or f16"}},
		{"foreign dimension", func() error { _, err := g.Input("d", f32(firstToken)); return err }, status.InvalidArgument, []string{"nor a dynamic dimension of this graph"}},
		{"no output", func() error { _, err := g.Bind(nil, everything); return err }, status.InvalidArgument, []string{"no output"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			err := c.call()
			require.Equal(t, c.code, status.Of(err), "%v", err)
			for _, word := range c.words {
				require.ErrorContains(t, err, word)
			}
		})
	}
	require.Empty(t, g.data.nodes)
	require.Len(t, g.data.tensors, 2)
}

func TestDynamicDimensions(t *testing.T) {
	g := New("dyn")
	defer g.Release()
	n, err := g.Dim("n", 2, 8)
	require.NoError(t, err)
	x := input(t, g, "x", f32(n, 3))
	half := must(t, g, "slice", []ops.Ref{x}, ops.IntAttr("axis", 0), ops.IntAttr("start", 0), ops.IntAttr("end", n))
	both := must(t, g, "concat", []ops.Ref{half, x}, ops.IntAttr("axis", 0))
	require.NoError(t, g.Output("y", both))

	typ, bytes, err := g.Info(both)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{-1, 3}, typ.Shape)
	require.EqualValues(t, 16*3*4, bytes)

	for _, v := range []int64{2, 5, 8} {
		p, err := g.Bind([]int64{v}, everything)
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{2 * v, 3}, p.Tensors[p.Outputs[0]].Type.Shape)
	}
	_, err = g.Bind([]int64{9}, everything)
	require.ErrorContains(t, err, `"n" is 9, it ranges from 2 to 8`)
	_, err = g.Bind(nil, everything)
	require.ErrorContains(t, err, "0 values are given for 1 dynamic dimensions")

	// What does not fit for some value is found when it is added.
	fixed := input(t, g, "fixed", f32(2, 3))
	_, err = g.Op("add", []ops.Ref{x, fixed}, nil, 1)
	require.Equal(t, status.ShapeMismatch, status.Of(err))
	require.ErrorContains(t, err, "with n=8")

	_, err = g.Dim("n", 1, 2)
	require.Equal(t, status.AlreadyExists, status.Of(err))
	_, err = g.Dim("m", 0, 2)
	require.Equal(t, status.InvalidArgument, status.Of(err))
	_, err = g.Dim("m", 3, 2)
	require.Equal(t, status.InvalidArgument, status.Of(err))
}

func TestStatesAreReadAsTheyAreNow(t *testing.T) {
	g := New("s")
	defer g.Release()
	s, err := g.State("cache", f32(4, 3))
	require.NoError(t, err)
	rows := input(t, g, "rows", f32(2, 3))
	at := input(t, g, "at", i32(2))
	before := must(t, g, "relu", []ops.Ref{s})
	now := must(t, g, "state_write", []ops.Ref{s, rows, at})

	_, err = g.Op("relu", []ops.Ref{s}, nil, 1)
	require.ErrorContains(t, err, `state "cache" as it was before it was written`)
	_, err = g.Op("state_write", []ops.Ref{rows, rows, at}, nil, 1)
	require.ErrorContains(t, err, "must be a state")
	require.NoError(t, g.Output("old", s))
	_, err = g.Bind(nil, everything)
	require.ErrorContains(t, err, "before it was written")

	g2 := New("s2")
	defer g2.Release()
	_ = before
	_ = now
	s, err = g2.State("cache", f32(4, 3))
	require.NoError(t, err)
	rows = input(t, g2, "rows", f32(2, 3))
	at = input(t, g2, "at", i32(2))
	must(t, g2, "state_write", []ops.Ref{s, rows, at})
	require.NoError(t, g2.Output("rows", rows))
	p, err := g2.Bind(nil, everything)
	require.NoError(t, err)
	require.Equal(t, []string{"state_write"}, names(p), "a write is needed though no output comes of it")
	require.EqualValues(t, 4, p.Tensors[p.Inputs[1]].Below, "positions are bounded by the state's rows")
}

func TestIndicesAreBounded(t *testing.T) {
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("small", f32(5, 2)))
	require.NoError(t, w.Declare("large", f32(9, 2)))
	g := New("e")
	defer g.Release()
	small, err := g.Weight(w, "small")
	require.NoError(t, err)
	large, err := g.Weight(w, "large")
	require.NoError(t, err)
	ids := input(t, g, "ids", i32(2, 2))
	flat := must(t, g, "reshape", []ops.Ref{ids}, ops.IntsAttr("shape", 4))
	a := must(t, g, "embedding", []ops.Ref{large, flat})
	b := must(t, g, "embedding", []ops.Ref{small, flat})
	require.NoError(t, g.Output("a", a))
	require.NoError(t, g.Output("b", b))
	p, err := g.Bind(nil, everything)
	require.NoError(t, err)
	require.EqualValues(t, 5, p.Tensors[p.Inputs[0]].Below, "the smallest table counts, through the reshape")

	// Indices that the graph computes need a bound of their own.
	scores := input(t, g, "scores", f32(3, 7))
	best := must(t, g, "argmax", []ops.Ref{scores})
	must(t, g, "embedding", []ops.Ref{large, best})
	flatBest := must(t, g, "reshape", []ops.Ref{best}, ops.IntsAttr("shape", 3, 1))
	far := must(t, g, "arange", nil, ops.IntAttr("count", 9))
	row := must(t, g, "cast", []ops.Ref{must(t, g, "slice", []ops.Ref{scores}, ops.IntAttr("axis", 0), ops.IntAttr("start", 0), ops.IntAttr("end", 1))}, ops.TextAttr("dtype", "i32"))
	sum := must(t, g, "cast", []ops.Ref{must(t, g, "relu", []ops.Ref{scores})}, ops.TextAttr("dtype", "i32"))
	narrow := must(t, g, "cast", []ops.Ref{must(t, g, "cast", []ops.Ref{far}, ops.TextAttr("dtype", "i8"))}, ops.TextAttr("dtype", "i32"))
	for _, c := range []struct {
		ids   ops.Ref
		words string
	}{
		{best, `input "ids" holds indices below 5: op 3 "argmax" gives values up to 6`},
		{flatBest, `input "ids" holds indices below 5: op 3 "argmax" gives values up to 6`},
		{must(t, g, "cast", []ops.Ref{far}, ops.TextAttr("dtype", "i32")), `below 5: op 6 "arange" gives values up to 8`},
		{row, `below 5: input "scores" of the graph is f32, and they must come from an integer one`},
		{sum, `below 5: what op 9 "relu" gives has no bound; they must come from an integer input or`},
		{narrow, `below 5: what op 11 "cast" gives with these inputs and attributes has no bound`},
	} {
		_, err = g.Op("embedding", []ops.Ref{small, c.ids}, nil, 1)
		require.Equal(t, status.InvalidArgument, status.Of(err))
		require.ErrorContains(t, err, c.words)
	}
}

func TestDecomposition(t *testing.T) {
	g := New("d")
	defer g.Release()
	gate, up := input(t, g, "gate", f32(2, 3)), input(t, g, "up", f32(2, 3))
	y := must(t, g, "swiglu", []ops.Ref{gate, up})
	require.NoError(t, g.Output("y", y))
	only := func(allowed ...string) func(*ops.Call) bool {
		return func(c *ops.Call) bool { return slices.Contains(allowed, c.Op.Name) }
	}
	p, err := g.Bind(nil, only("silu", "mul"))
	require.NoError(t, err)
	require.Equal(t, []string{"silu", "mul"}, names(p))
	require.Equal(t, p.Nodes[1].Out[0], p.Outputs[0])

	_, err = g.Bind(nil, only("mul"))
	require.Equal(t, status.Unsupported, status.Of(err))
	require.ErrorContains(t, err, "(1)")
}

func TestASnapshotStaysAsItIs(t *testing.T) {
	g := New("snap")
	x := input(t, g, "x", f32(3))
	require.NoError(t, g.Output("y", must(t, g, "relu", []ops.Ref{x})))
	s, err := g.Snapshot()
	require.NoError(t, err)
	defer s.Release()
	input(t, g, "x2", f32(3))
	require.NoError(t, g.Output("z", must(t, g, "relu", []ops.Ref{x})))
	g.Release()
	p, err := s.Bind(nil, everything)
	require.NoError(t, err)
	require.Len(t, p.Inputs, 1)
	require.Len(t, p.Outputs, 1)
	require.Len(t, p.Nodes, 1)
}
