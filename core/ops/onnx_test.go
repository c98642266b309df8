package ops_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// leastONNXCases is how many of ONNX's node tests run; fewer is a failure.
const leastONNXCases = 331

// TestONNX holds Eval to ONNX's own node tests. Which operator of the table stands
// for which of ONNX's is in onnx_map_test.go.
func TestONNX(t *testing.T) {
	data := os.Getenv("QTSACCEL_SHARED_DATA")
	if data == "" {
		t.Skip("QTSACCEL_SHARED_DATA is not set: ONNX's node tests are not at hand")
	}
	cases, err := readONNXCases(filepath.Join(data, "onnx", "onnx-node-tests.tar.gz"))
	require.NoError(t, err)
	ran, left := map[string]int{}, map[string][]string{}
	total := 0
	for _, c := range cases {
		t.Run(c.short(), func(t *testing.T) {
			reason := tryONNX(t, c)
			if reason == "" {
				ran[c.op]++
				total++
				return
			}
			left[c.op+": "+reason] = append(left[c.op+": "+reason], c.short())
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("%d of ONNX's %d node tests ran:\n%s", total, len(cases), counted(ran))
	t.Logf("%d did not:\n%s", len(cases)-total, listed(left))
	require.GreaterOrEqual(t, total, leastONNXCases)
}

// tryONNX runs a case, or says why it cannot.
func tryONNX(t *testing.T, c onnxCase) (reason string) {
	run, ok := onnxOps[c.op]
	switch {
	case c.nodes != 1:
		return fmt.Sprintf("a model of %d nodes", c.nodes)
	case !ok:
		return "no counterpart in the table"
	}
	for _, x := range append(append([]onnxTensor{}, c.in...), c.out...) {
		if x.kind != 0 && x.Type.DType == 0 {
			return fmt.Sprintf("data type %d", x.kind)
		}
		if len(x.Type.Shape) > tensor.MaxRank {
			return "more than 4 dimensions"
		}
		for _, d := range x.Type.Shape {
			if d == 0 && !x.absent() && len(x.Type.Shape) > 1 {
				return "a dimension of 0"
			}
		}
	}
	e := &evaluation{T: t, onnxCase: c}
	defer func() {
		if r := recover(); r != nil {
			left, ok := r.(leftOut)
			if !ok {
				panic(r)
			}
			reason = string(left)
		}
	}()
	got := run(e)
	require.NotEmpty(t, got)
	for i, g := range got {
		if i < len(c.out) && !c.out[i].absent() && g.Type.Shape != nil {
			requireONNX(t, g, c.out[i])
		}
	}
	return ""
}

// requireONNX compares with ONNX's own tolerances.
func requireONNX(t *testing.T, got ops.Value, want onnxTensor) {
	t.Helper()
	require.Equal(t, want.Type.Shape.String(), got.Type.Shape.String())
	relative, absolute := 1e-3, 1e-5
	if want.kind == onnxHalf || want.kind == onnxBfloat {
		relative, absolute = 1e-2, 1e-3
	}
	for i := range got.Type.Shape.Elements() {
		g, w := number(got, i), number(want.Value, i)
		if g != w && !(math.Abs(g-w) <= absolute+relative*math.Abs(w)) && !(math.IsNaN(g) && math.IsNaN(w)) {
			require.Failf(t, "wrong value", "element %d of %v is %v, want %v", i, got.Type.Shape, g, w)
		}
	}
}

func number(v ops.Value, i int64) float64 {
	if v.F != nil {
		return v.F[i]
	}
	return float64(v.I[i])
}

func counted(m map[string]int) string {
	var lines []string
	for op, n := range m {
		lines = append(lines, fmt.Sprintf("  %-24s %d", op, n))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func listed(m map[string][]string) string {
	var lines []string
	for reason, names := range m {
		lines = append(lines, fmt.Sprintf("  %s (%d): %s", reason, len(names), strings.Join(names, " ")))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// evaluation computes with operators of the table for one case.
type evaluation struct {
	*testing.T
	onnxCase
}

// leftOut is the reason why a case cannot be mapped.
type leftOut string

func (e *evaluation) leave(format string, args ...any) { panic(leftOut(fmt.Sprintf(format, args...))) }

// all runs an operator.
func (e *evaluation) all(name string, in []ops.Value, attrs ...ops.AttrArg) []ops.Value {
	e.Helper()
	out, err := evaluate(name, in, attrs...)
	require.NoError(e, err, name)
	return out
}

func (e *evaluation) un(name string, x ops.Value, attrs ...ops.AttrArg) ops.Value {
	e.Helper()
	return e.all(name, []ops.Value{x}, attrs...)[0]
}

func (e *evaluation) bin(name string, a, b ops.Value, attrs ...ops.AttrArg) ops.Value {
	e.Helper()
	return e.all(name, []ops.Value{a, b}, attrs...)[0]
}

// evaluate runs an operator of the table on values.
func evaluate(name string, in []ops.Value, attrs ...ops.AttrArg) ([]ops.Value, error) {
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, err
	}
	values, err := op.Bind(attrs)
	if err != nil {
		return nil, err
	}
	types := make([]tensor.Type, len(in))
	for i := range in {
		types[i] = in[i].Type
	}
	c, err := op.NewCall(types, values)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Value, len(c.Out))
	for i, t := range c.Out {
		out[i] = ops.NewValue(t)
	}
	return out, op.Eval(c, in, out)
}

// int, float, text and ints give an attribute or, without it, the default.
func (e *evaluation) int(name string, otherwise int64) int64 {
	if a, ok := e.attrs[name]; ok {
		return a.i
	}
	return otherwise
}

func (e *evaluation) float(name string, otherwise float64) float64 {
	if a, ok := e.attrs[name]; ok {
		return a.f
	}
	return otherwise
}

func (e *evaluation) text(name, otherwise string) string {
	if a, ok := e.attrs[name]; ok {
		return a.s
	}
	return otherwise
}

func (e *evaluation) ints(name string, otherwise ...int64) []int64 {
	if a, ok := e.attrs[name]; ok {
		return a.ints
	}
	return otherwise
}

// has says whether input i is given; x is input i, which must be of floats.
func (e *evaluation) has(i int) bool { return i < len(e.in) && !e.in[i].absent() }

func (e *evaluation) x(i int) ops.Value {
	if !e.in[i].kind.float() {
		e.leave("integer arithmetic")
	}
	return e.in[i].Value
}

// asFloat is input i as floats where its integers stand for any numbers.
func (e *evaluation) asFloat(i int) ops.Value {
	if e.in[i].F != nil {
		return e.in[i].Value
	}
	return e.un("cast", e.in[i].Value, ops.TextAttr("dtype", "f32"))
}

func (e *evaluation) reshape(x ops.Value, shape ...int64) ops.Value {
	return e.un("reshape", x, ops.IntsAttr("shape", shape...))
}

func (e *evaluation) transpose(x ops.Value, axes ...int64) ops.Value {
	return e.un("transpose", x, ops.IntsAttr("axes", axes...))
}

func (e *evaluation) slice(x ops.Value, axis, start, end, step int64) ops.Value {
	return e.un("slice", x, ops.IntAttr("axis", axis), ops.IntAttr("start", start), ops.IntAttr("end", end), ops.IntAttr("step", step))
}

// row is element i along the first axis, without it.
func (e *evaluation) row(x ops.Value, i int64) ops.Value {
	if i < 0 {
		i += x.Type.Shape[0]
	}
	return e.reshape(e.slice(x, 0, i, i+1, 1), x.Type.Shape[1:]...)
}

// stack puts values one behind the other along a new first axis.
func (e *evaluation) stack(xs []ops.Value) ops.Value {
	for i, x := range xs {
		xs[i] = e.reshape(x, append([]int64{1}, x.Type.Shape...)...)
	}
	return e.all("concat", xs, ops.IntAttr("axis", 0))[0]
}
