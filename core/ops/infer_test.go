package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

func typed(d tensor.DType, shape ...int64) tensor.Type { return tensor.Type{DType: d, Shape: shape} }

func x(shape ...int64) tensor.Type { return typed(tensor.F32, shape...) }

func infer(t *testing.T, name string, in []tensor.Type, attrs ...ops.AttrArg) error {
	t.Helper()
	op, err := ops.Lookup(name)
	require.NoError(t, err)
	values, err := op.Bind(attrs)
	if err != nil {
		return err
	}
	_, err = op.NewCall(in, values)
	return err
}

// A wrong call names its inputs, both shapes and the numbers.
func TestWrongCalls(t *testing.T) {
	list := func(in ...tensor.Type) []tensor.Type { return in }
	ids := typed(tensor.I32, 3)
	var none tensor.Type
	for _, c := range []struct {
		op    string
		in    []tensor.Type
		attrs []ops.AttrArg
		code  status.Code
		words []string
	}{
		{"add", list(x(2, 3), x(4)), nil, status.ShapeMismatch, []string{`"a" f32[2, 3]`, `"b" f32[4]`, "3 in one and 4"}},
		{"where", list(x(2), x(2), x(3)), nil, status.ShapeMismatch, []string{`"condition" f32[2]`, `"b" f32[3]`}},
		{"relu", list(typed(tensor.F16, 2)), nil, status.InvalidArgument, []string{`"x"`, "f16[2]", "want f32"}},
		{"linear", list(x(2, 3), x(4, 5)), nil, status.ShapeMismatch, []string{`"x" f32[2, 3]`, "3", `"weight" f32[4, 5]`, "5"}},
		{"linear", list(x(2, 5), x(4, 5), x(3)), nil, status.ShapeMismatch, []string{`"bias" f32[3]`, "[4]", `"weight"`}},
		{"linear", list(x(2, 5)), nil, status.InvalidArgument, []string{`"weight" is missing`}},
		{"matmul", list(x(2, 3), x(4, 5)), nil, status.ShapeMismatch, []string{`"a" f32[2, 3]`, "3 columns", `"b" f32[4, 5]`, "4 rows"}},
		{"matmul", list(x(2, 2, 3), x(3, 3, 5)), nil, status.ShapeMismatch, []string{"batches", `"a"`, `"b"`}},
		{"rms_norm", list(x(2, 3), x(4)), nil, status.ShapeMismatch, []string{`"weight" f32[4]`, "[3]", `"x" f32[2, 3]`}},
		{"group_norm", list(x(2, 6, 3)), []ops.AttrArg{ops.IntAttr("groups", 4)}, status.ShapeMismatch, []string{"4", "6 channels", `"x"`}},
		{"softmax", list(x(2, 3)), []ops.AttrArg{ops.IntAttr("axis", 2)}, status.InvalidArgument, []string{"axis is 2", "-2 to 1", "f32[2, 3]"}},
		{"gelu", list(x(2)), []ops.AttrArg{ops.TextAttr("approximate", "erf")}, status.InvalidArgument, []string{`"erf"`, `"none" "tanh"`}},
		{"clamp", list(x(2)), []ops.AttrArg{ops.RealAttr("min", 2), ops.RealAttr("max", 1)}, status.InvalidArgument, []string{"min is 2", "max is 1"}},
		{"rope", list(x(3, 2, 7), ids), nil, status.InvalidArgument, []string{"7", "even"}},
		{"rope", list(x(4, 2, 8), ids), nil, status.ShapeMismatch, []string{`"positions" i32[3]`, "[4]"}},
		{"attention", list(x(3, 4, 8), x(5, 3, 8), x(5, 3, 8)), nil, status.ShapeMismatch, []string{"4 heads", "3 heads"}},
		{"attention", list(x(3, 4, 8), x(5, 2, 7), x(5, 2, 8)), nil, status.ShapeMismatch, []string{`"q"`, "8 elements", `"k"`, "7"}},
		{"attention", list(x(3, 4, 8), x(5, 2, 8), x(6, 2, 8)), nil, status.ShapeMismatch, []string{`"k"`, `"v"`, "5 and 6"}},
		{"attention", list(x(3, 4, 8), x(5, 2, 8), x(5, 2, 8), x(3, 4)), nil, status.ShapeMismatch, []string{`"mask" f32[3, 4]`, "[3, 5]"}},
		{"attention", list(x(6, 4, 8), x(5, 2, 8), x(5, 2, 8)), []ops.AttrArg{ops.IntAttr("causal", 1)}, status.ShapeMismatch, []string{"6 queries", "5 keys"}},
		{"attention", list(x(3, 4, 8), x(5, 2, 8), x(5, 2, 8)), []ops.AttrArg{ops.IntAttr("window", 2)}, status.InvalidArgument, []string{"window is 2", "positions or causal"}},
		{"attention", list(x(3, 4, 8), x(5, 2, 8), x(5, 2, 8), none, typed(tensor.I16, 3)), nil, status.InvalidArgument, []string{`"positions"`, "i16", "i32 or i64"}},
		{"embedding", list(x(3), ids), nil, status.ShapeMismatch, []string{`"weight"`, "1 dimensions", "2"}},
		{"embedding", list(x(3, 4), x(2)), nil, status.InvalidArgument, []string{`"ids"`, "i32 or i64"}},
		{"reshape", list(x(2, 3)), []ops.AttrArg{ops.IntsAttr("shape", 4, -1)}, status.ShapeMismatch, []string{"6 elements", "[4, -1]"}},
		{"reshape", list(x(2, 3)), []ops.AttrArg{ops.IntsAttr("shape", -1, -1)}, status.InvalidArgument, []string{"dimension 1", "-1 once"}},
		{"reshape", list(typed(tensor.Q8_0, 2, 32)), []ops.AttrArg{ops.IntsAttr("shape", 64)}, status.InvalidArgument, []string{"q8_0[2, 32]", "quantised"}},
		{"transpose", list(x(2, 3)), []ops.AttrArg{ops.IntsAttr("axes", 0, 0)}, status.InvalidArgument, []string{"[0, 0]", "permutation of the 2 axes"}},
		{"slice", list(x(2, 3)), []ops.AttrArg{ops.IntAttr("axis", 1), ops.IntAttr("start", 3)}, status.InvalidArgument, []string{"axis 1 with 3 elements", "start 3"}},
		{"slice", list(x(2, 3)), []ops.AttrArg{ops.IntAttr("axis", 1), ops.IntAttr("step", 0)}, status.InvalidArgument, []string{"step is 0"}},
		{"slice", list(x(2, 3)), nil, status.InvalidArgument, []string{`"axis" (int) is missing`}},
		{"concat", list(x(2, 3), x(2, 4)), []ops.AttrArg{ops.IntAttr("axis", 0)}, status.ShapeMismatch, []string{"input 1 is f32[2, 4]", "f32[2, 3]", "axis 0"}},
		{"pad", list(x(2, 3)), []ops.AttrArg{ops.IntsAttr("pads", 1, 1)}, status.InvalidArgument, []string{"2 values, want 4"}},
		{"pad", list(x(2, 3)), []ops.AttrArg{ops.IntsAttr("pads", 0, 3, 0, 0), ops.TextAttr("mode", "reflect")}, status.ShapeMismatch, []string{"3 elements", "at most 2"}},
		{"cast", list(x(2)), []ops.AttrArg{ops.TextAttr("dtype", "q4_0")}, status.InvalidArgument, []string{`"q4_0"`}},
		{"conv1d", list(x(1, 4, 9), x(6, 3, 3)), nil, status.ShapeMismatch, []string{"4 channels", `"weight" f32[6, 3, 3]`, "reads 3"}},
		{"conv1d", list(x(1, 4, 9), x(6, 4, 11)), nil, status.ShapeMismatch, []string{"spans 11", "has 9"}},
		{"conv1d", list(x(1, 4, 9), x(6, 4, 3)), []ops.AttrArg{ops.IntsAttr("padding", 1, 2, 3)}, status.InvalidArgument, []string{"padding has 3 values"}},
		{"conv2d", list(x(1, 4, 9, 9), x(6, 2, 3, 3)), []ops.AttrArg{ops.IntAttr("groups", 3)}, status.ShapeMismatch, []string{"4 channels in 3 groups"}},
		{"conv2d", list(x(1, 4, 9, 9), x(6, 4, 3, 3)), []ops.AttrArg{ops.IntsAttr("stride", 0)}, status.InvalidArgument, []string{"stride is [0]"}},
		{"conv_transpose1d", list(x(1, 4, 9), x(3, 4, 3)), nil, status.ShapeMismatch, []string{"4 channels", "takes 3"}},
		{"conv_transpose1d", list(x(1, 4, 9), x(4, 4, 3)), []ops.AttrArg{ops.IntAttr("output_padding", 1)}, status.InvalidArgument, []string{"output_padding is 1"}},
		{"upsample", list(x(1, 1, 2, 2)), []ops.AttrArg{ops.TextAttr("mode", "cubic")}, status.InvalidArgument, []string{`"cubic"`, `"nearest"`}},
		{"lstm_cell", list(x(1, 3), x(1, 2), x(1, 2), x(8, 4), x(8, 2)), nil, status.ShapeMismatch, []string{`"weight_ih" f32[8, 4]`, "[8, 3]"}},
		{"state_write", list(x(4, 3), x(2, 5), typed(tensor.I32, 2)), nil, status.ShapeMismatch, []string{`"values" f32[2, 5]`, "[2, 3]", `"state"`}},
		{"state_write", list(x(4, 3), x(2, 3), ids), nil, status.ShapeMismatch, []string{`"positions" i32[3]`, "[2]"}},
		{"state_write", list(typed(tensor.BF16, 4), x(4)), nil, status.InvalidArgument, []string{"bf16[4]", "f32 or f16"}},
		{"top_k", list(x(3)), []ops.AttrArg{ops.IntAttr("k", 4)}, status.InvalidArgument, []string{"k is 4", "3 elements"}},
		{"glu", list(x(2, 3)), nil, status.ShapeMismatch, []string{"axis 1", "3 elements", "even"}},
		{"reduce_sum", list(x(2, 3)), []ops.AttrArg{ops.IntAttr("keepdims", 2)}, status.InvalidArgument, []string{"keepdims is 2"}},
	} {
		err := infer(t, c.op, c.in, c.attrs...)
		require.Equal(t, c.code, status.Of(err), "%s: %v", c.op, err)
		for _, w := range c.words {
			require.ErrorContains(t, err, w, c.op)
		}
	}
}

// No call, however wild, makes a shape rule or a kernel panic, and what passes the
// rule has sizes that fit.
func TestWildCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	numbers := []int64{0, 1, 2, 3, 4, 5, 8, 32, -1, -2, -3, 7, 1 << 31, 1<<31 - 1, 1 << 40, 1 << 59, 1 << 62, -1 << 62, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	small := numbers[1:8]
	dtypes := []tensor.DType{tensor.F32, tensor.F32, tensor.F32, tensor.F32, tensor.F16, tensor.I32, tensor.I32, tensor.Q8_0, 0}
	pick := func(from []int64) int64 { return from[r.IntN(len(from))] }
	evaluated := map[string]int{}
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		require.NoError(t, err)
		for range 3000 {
			from := small
			if r.IntN(3) == 0 {
				from = append(small, 1<<31-1, 1<<31, 1<<40, 1<<59)
			}
			shape := tensor.Shape{pick(from), pick(from), pick(from), pick(from)}
			in := make([]tensor.Type, min(len(op.Inputs), 1+r.IntN(len(op.Inputs)+2)))
			for i := range in {
				// Shapes that look alike pass more often.
				in[i] = tensor.Type{DType: dtypes[r.IntN(len(dtypes))], Shape: append(tensor.Shape{}, shape[r.IntN(4):]...)}
				if r.IntN(2) == 0 && len(in[i].Shape) > 0 {
					in[i].Shape[r.IntN(len(in[i].Shape))] = pick(from)
				}
				if in[i].DType != 0 && in[i].Check(false) != nil {
					in[i] = x(2)
				}
			}
			attrs := make([]ops.AttrValue, len(op.Attrs))
			for i, a := range op.Attrs {
				attrs[i] = a.Default
				if a.Default.Type == 0 || r.IntN(3) == 0 {
					attrs[i] = ops.AttrValue{Type: a.Type, Int: pick(numbers), Real: float64(pick(numbers)), Text: []string{"f32", "half", "reflect", "?"}[r.IntN(4)]}
					for range r.IntN(9) {
						attrs[i].Ints = append(attrs[i].Ints, pick(numbers))
					}
				}
			}
			c, err := op.NewCall(in, attrs)
			if err != nil {
				require.NotEqual(t, status.Internal, status.Of(err), "%s: %v", name, err)
				// A sum that wrapped would be seen here.
				require.NotContains(t, err.Error(), "result: dimension", "%s: %v %+v", name, in, attrs)
				continue
			}
			total := int64(0)
			for _, ty := range append(append([]tensor.Type{}, c.In...), c.Out...) {
				if ty.DType != 0 && ty.DType.Quantised() {
					total = math.MaxInt32
				} else if ty.DType != 0 {
					total += min(ty.Shape.Elements(), math.MaxInt32)
				}
			}
			if total > 4096 {
				continue
			}
			values, out := make([]ops.Value, len(in)), make([]ops.Value, len(c.Out))
			for i, ty := range c.In {
				if ty.DType != 0 {
					values[i] = ops.NewValue(ty)
				}
			}
			for i, ty := range c.Out {
				out[i] = ops.NewValue(ty)
			}
			require.NoError(t, op.Eval(c, values, out), name)
			evaluated[name]++
		}
	}
	for _, name := range ops.Names() {
		if evaluated[name] == 0 {
			t.Logf("%s: no random call was right", name)
		}
	}
	require.Greater(t, len(evaluated), len(ops.Names())/2)
}
