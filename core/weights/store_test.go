package weights

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/quant"
	"qtsaccel/core/report"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"ab", "a", false},
		{"*", "", true},
		{"*", "x/y.z", true},
		{"?", "", false},
		{"?", "x", true},
		{"??", "x", false},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"*.weight", "blk.0.weight", true},
		{"*.weight", "blk.0.weights", false},
		{"blk.*.ffn_*.weight", "blk.11.ffn_down.weight", true},
		{"blk.*.ffn_*.weight", "blk.11.attn_q.weight", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"a**", "a", true},
		{"*?", "", false},
		{"[a]", "a", false},
		{"*aab", "aaaab", true},
		{"x*y?z", "xyyzyaz", true},
	} {
		_, ok := match(c.pattern, c.name)
		require.Equal(t, c.want, ok, "%q on %q", c.pattern, c.name)
	}
}

func TestRenaming(t *testing.T) {
	rules := []Rule{
		{Pattern: "model.layers.*.self_attn.?_proj.*", Rename: "blk.*.attn.*"},
		{Pattern: "model.*", DType: tensor.F16},
		{Pattern: "*.weight", Rename: "w"},
		{Pattern: "*-*-*", Rename: "*+*"},
		{Pattern: "x*", Rename: "x*y"},
	}
	for name, want := range map[string]string{
		"model.layers.11.self_attn.q_proj.weight": "blk.11.attn.weight",
		"model.norm.bias":                         "model.norm.bias",
		"model.norm.weight":                       "w",
		"a-b-c-d":                                 "a+b",
		"x":                                       "xy",
		"other":                                   "other",
	} {
		require.Equal(t, want, rename(name, rules), name)
	}
}

func TestRenamedTensorsAreFoundByTheirNewNames(t *testing.T) {
	leavesNothing(t)
	path := ggufFile(t, f32(2, 32), f32(1))
	w, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "?", Rename: "x"}, {Pattern: "0", DType: tensor.F16}}})
	require.Nil(t, w)
	requireError(t, err, status.AlreadyExists, path, `"x"`)
	w, err = OpenWith(path, Options{Rules: []Rule{{Pattern: "*", Rename: "t*"}, {Pattern: "0", DType: tensor.BF16}}})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, "bf16[2, 32]", tensorOf(t, w, "t0").Type.String())
	require.Equal(t, "f32[1]", tensorOf(t, w, "t1").Type.String())
	require.Equal(t, "0", w.Stored()[0].FileName)
	_, err = OpenWith(path, Options{Rules: []Rule{{Pattern: "*", Rename: "**"}}})
	requireError(t, err, status.InvalidArgument, "more stars")
	_, err = OpenWith(path, Options{Rules: []Rule{{Pattern: "0*", Rename: "*"}}})
	requireError(t, err, status.InvalidArgument, `"" cannot name a tensor`)
}

func TestWhichTypeATensorIsStoredIn(t *testing.T) {
	rules := []Rule{{Pattern: "norm", DType: tensor.F16}, {Pattern: "keep*", DType: tensor.F32}, {Pattern: "half*", DType: tensor.F16}, {Pattern: "k*", DType: tensor.Q4_K}, {Pattern: "six*", DType: tensor.Q6_K}, {Pattern: "*", DType: tensor.Q8_0}}
	for _, c := range []struct {
		name string
		t    tensor.Type
		want tensor.DType
		note string
	}{
		{"w", f32(4, 64), tensor.Q8_0, ""},
		{"w", typed(tensor.Q4_0, 4, 64), tensor.Q8_0, ""},
		{"w", typed(tensor.Q8_0, 4, 64), tensor.Q8_0, ""},
		{"w", f32(64), tensor.F32, "a single dimension"},
		{"w", f32(), tensor.F32, "a single dimension"},
		{"norm", f32(64), tensor.F16, ""},
		{"w", typed(tensor.I32, 4, 64), tensor.I32, "whole numbers"},
		{"w", f32(64, 172), tensor.F16, "rows of 172 do not fit q8_0"},
		{"w", typed(tensor.BF16, 64, 172), tensor.BF16, "rows of 172"},
		{"w", typed(tensor.F16, 64, 172), tensor.F16, "rows of 172"},
		{"k", f32(2, 512), tensor.Q4_K, ""},
		{"k", f32(2, 288), tensor.Q5_0, "rows of 288 do not fit q4_K"},
		{"k", f32(2, 100), tensor.F16, "rows of 100 do not fit q4_K"},
		{"six", f32(2, 288), tensor.Q8_0, "do not fit q6_K"},
		{"keep", f32(2, 32), tensor.F32, ""},
		{"keep", typed(tensor.F16, 2, 32), tensor.F32, ""},
		{"half", typed(tensor.Q8_0, 2, 32), tensor.F16, ""},
		{"w", f32(0, 32), tensor.Q8_0, ""},
	} {
		as, note := storeAs(c.name, c.t, rules)
		require.Equal(t, c.want, as, "%s %v", c.name, c.t)
		if c.note == "" {
			require.Empty(t, note)
		} else {
			require.Contains(t, note, c.note, "%s %v", c.name, c.t)
		}
	}
	as, note := storeAs("w", f32(4, 64), nil)
	require.Equal(t, tensor.F32, as)
	require.Empty(t, note)
}

// floatsFile writes f32 tensors of random values, more than a piece of them.
func floatsFile(t *testing.T, shapes ...tensor.Shape) (path string, values [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	w := New()
	defer w.Release()
	for i, shape := range shapes {
		name := string(rune('0' + i))
		require.NoError(t, w.Declare(name, f32(shape...)))
		v := make([]float32, shape.Elements())
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		values = append(values, v)
		require.NoError(t, w.Set(name, bytesOfFloats(v)))
	}
	path = t.TempDir() + "/floats.gguf"
	require.NoError(t, w.Save(path, nil, nil))
	return path, values
}

func bytesOfFloats(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func TestStoringOnTheWay(t *testing.T) {
	leavesNothing(t)
	// The first does not end with a piece, and rows do not begin with one.
	path, values := floatsFile(t, tensor.Shape{999, 352}, tensor.Shape{64}, tensor.Shape{3, 172}, tensor.Shape{31, 64})
	o := Options{Placement: Mapped, Rules: []Rule{{Pattern: "3", DType: tensor.F32}, {Pattern: "*", DType: tensor.Q4_1}}}
	plan, err := PlanMemory(path, o)
	require.NoError(t, err)
	w, err := OpenWith(path, o)
	require.NoError(t, err)
	defer w.Release()
	require.EqualValues(t, 999*352/32*20+60+3*172*2+56, plan.MemoryBytes, "padded to 64")
	want := []struct {
		as        tensor.DType
		placement Placement
	}{{tensor.Q4_1, Copied}, {tensor.F32, Mapped}, {tensor.F16, Copied}, {tensor.F32, Mapped}}
	for i, s := range w.Stored() {
		require.Equal(t, tensor.F32, s.From.DType)
		require.Equal(t, want[i].as, s.As, s.Name)
		require.Equal(t, want[i].placement, s.Placement, s.Name)
		x := tensorOf(t, w, s.Name)
		require.Equal(t, s.As, x.Type.DType)
		got, err := x.Freeze()
		require.NoError(t, err)
		exact := make([]byte, x.Type.Bytes())
		require.NoError(t, quant.Encode(s.As, exact, values[i]))
		require.Equal(t, exact, got, s.Name)
	}
}

// Types that only ggml writes go through the encoder, whole blocks at a time.
func TestStoringThroughAnEncoder(t *testing.T) {
	leavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{1025, 512}, tensor.Shape{5, 96})
	encoded := make(chan int, 100)
	w, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: func(d tensor.DType, dst []byte, src, _ []float32) error {
		encoded <- len(src)
		require.Equal(t, tensor.Q4_K, d)
		require.Len(t, dst, len(src)/256*144)
		return nil
	}})
	require.NoError(t, err)
	defer w.Release()
	close(encoded)
	sum := 0
	for n := range encoded {
		sum += n
	}
	require.Equal(t, 1025*512, sum)
	require.Equal(t, tensor.Q5_0, w.Stored()[1].As)

	w2 := New()
	defer w2.Release()
	require.NoError(t, w2.Declare("n", f32(2, 256)))
	require.NoError(t, w2.Set("n", bytesOfFloats(append(make([]float32, 511), float32(math.NaN())))))
	bad := t.TempDir() + "/nan.gguf"
	require.NoError(t, w2.Save(bad, nil, nil))
	_, err = OpenWith(bad, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q6_K}}, Encode: func(tensor.DType, []byte, []float32, []float32) error {
		t.Error("values that are not finite must not reach the encoder")
		return nil
	}})
	requireError(t, err, status.InvalidArgument, "element 511 is NaN, which q6_K")

	_, err = OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q6_K}}, Encode: func(tensor.DType, []byte, []float32, []float32) error {
		return status.Errorf(status.Internal, "broken")
	}})
	requireError(t, err, status.Internal, path, `"0"`, "broken")
}

func TestWhatARuleCannotStoreIsNamed(t *testing.T) {
	leavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("w", f32(2, 1<<18)))
	values := make([]float32, 2<<18)
	values[1<<18+77] = float32(math.Inf(1))
	require.NoError(t, w.Set("w", bytesOfFloats(values)))
	path := t.TempDir() + "/x.gguf"
	require.NoError(t, w.Save(path, nil, nil))
	_, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0}}})
	requireError(t, err, status.InvalidArgument, path, `"w"`, "from element 262144 on", "element 77 is +Inf")
	again, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.BF16}}})
	require.NoError(t, err)
	again.Release()
}

func TestReport(t *testing.T) {
	leavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{3, 64}, tensor.Shape{64}, tensor.Shape{3, 172})
	w, err := OpenWith(path, Options{Placement: Mapped, Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0, Rename: "w*"}}})
	require.NoError(t, err)
	said, err := w.Report()
	require.NoError(t, err)
	text := said.Text()
	for _, words := range []string{
		`"w0"  q8_0[3, 64]`, "copied  204 bytes", `from "0" f32`, `"w1"  f32[64]`, "mapped  256 bytes", "has a single dimension",
		`"w2"  f16[3, 172]`, "rows of 172 do not fit q8_0", "3 tensors, 1236 bytes copied, 256 mapped",
	} {
		require.Contains(t, text, words)
	}
	asJSON, err := report.JSON.Write(said)
	require.NoError(t, err)
	var r Report
	require.NoError(t, json.Unmarshal([]byte(asJSON), &r))
	require.Equal(t, *said, r)
	require.Equal(t, StoredInfo{"w2", "2", []int64{3, 172}, "f32", "f16", "copied", 1032, "rows of 172 do not fit q8_0"}, r.Tensors[2])
	w.Release()
	_, err = w.Report()
	requireError(t, err, status.InvalidState)
	empty := New()
	defer empty.Release()
	said, err = empty.Report()
	require.NoError(t, err)
	text = said.Text()
	require.Equal(t, "0 tensors, 0 bytes copied, 0 mapped\n", text)
}

// With importance a piece is whole rows, and every quantised type is the encoder's.
func TestStoringByImportance(t *testing.T) {
	leavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{700, 416}, tensor.Shape{2, 416}, tensor.Shape{3, 64}, tensor.Shape{3, 20})
	columns := make([]float32, 416)
	columns[5] = 1
	rows := make(chan int, 100)
	o := Options{
		Rules:      []Rule{{Pattern: "*", DType: tensor.Q4_0}},
		Importance: map[string][]float32{"0": columns, "3": make([]float32, 20), "none": {1}},
		Encode: func(d tensor.DType, dst []byte, src, importance []float32) error {
			require.Equal(t, tensor.Q4_0, d)
			require.Equal(t, columns, importance)
			require.Zero(t, len(src)%416)
			require.Len(t, dst, len(src)/32*18)
			rows <- len(src) / 416
			return nil
		},
	}
	_, err := OpenWith(path, o)
	requireError(t, err, status.InvalidArgument, `"3"`, "0 in all 20 columns")
	o.Importance["3"][0] = 1 // rows of 20 are stored as f16: it does not count
	w, err := OpenWith(path, o)
	require.NoError(t, err)
	w.Release()
	close(rows)
	sum := 0
	for n := range rows {
		sum += n
	}
	require.Equal(t, 700, sum, "the first tensor, and no other")

	o.Importance["0"] = columns[:415]
	_, err = OpenWith(path, o)
	requireError(t, err, status.ShapeMismatch, `"0"`, "has 416 columns, its importance 415")
	for _, wrong := range []float32{-1, float32(math.NaN()), float32(math.Inf(1))} {
		o.Importance["0"] = append([]float32{wrong}, columns[1:]...)
		_, err = OpenWith(path, o)
		requireError(t, err, status.InvalidArgument, `"0"`, "column 0")
	}
	o.Encode = nil
	_, err = OpenWith(path, o)
	requireError(t, err, status.Unsupported, "importance takes ggml")
}
