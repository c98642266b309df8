package modelfile

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
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

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
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(2, 32), weightstest.F32(1))
	w, err := Open(path, Options{Rules: []Rule{{Pattern: "?", Rename: "x"}, {Pattern: "0", DType: tensor.F16}}})
	require.Nil(t, w)
	weightstest.RequireError(t, err, status.AlreadyExists, path, `"x"`)
	w, err = Open(path, Options{Rules: []Rule{{Pattern: "*", Rename: "t*"}, {Pattern: "0", DType: tensor.BF16}}})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, "bf16[2, 32]", weightstest.TensorOf(t, w, "t0").Type.String())
	require.Equal(t, "f32[1]", weightstest.TensorOf(t, w, "t1").Type.String())
	require.Equal(t, "0", w.Stored()[0].FileName)
	_, err = Open(path, Options{Rules: []Rule{{Pattern: "*", Rename: "**"}}})
	weightstest.RequireError(t, err, status.InvalidArgument, "more stars")
	_, err = Open(path, Options{Rules: []Rule{{Pattern: "0*", Rename: "*"}}})
	weightstest.RequireError(t, err, status.InvalidArgument, `"" cannot name a tensor`)
}

func TestWhichTypeATensorIsStoredIn(t *testing.T) {
	rules := []Rule{{Pattern: "norm", DType: tensor.F16}, {Pattern: "keep*", DType: tensor.F32}, {Pattern: "half*", DType: tensor.F16}, {Pattern: "k*", DType: tensor.Q4_K}, {Pattern: "six*", DType: tensor.Q6_K}, {Pattern: "*", DType: tensor.Q8_0}}
	for _, c := range []struct {
		name string
		t    tensor.Type
		want tensor.DType
		note string
	}{
		{"w", weightstest.F32(4, 64), tensor.Q8_0, ""},
		{"w", weightstest.Typed(tensor.Q4_0, 4, 64), tensor.Q8_0, ""},
		{"w", weightstest.Typed(tensor.Q8_0, 4, 64), tensor.Q8_0, ""},
		{"w", weightstest.F32(64), tensor.F32, "a single dimension"},
		{"w", weightstest.F32(), tensor.F32, "a single dimension"},
		{"norm", weightstest.F32(64), tensor.F16, ""},
		{"w", weightstest.Typed(tensor.I32, 4, 64), tensor.I32, "whole numbers"},
		{"w", weightstest.F32(64, 172), tensor.F16, "rows of 172 do not fit q8_0"},
		{"w", weightstest.Typed(tensor.BF16, 64, 172), tensor.BF16, "rows of 172"},
		{"w", weightstest.Typed(tensor.F16, 64, 172), tensor.F16, "rows of 172"},
		{"k", weightstest.F32(2, 512), tensor.Q4_K, ""},
		{"k", weightstest.F32(2, 288), tensor.Q5_0, "rows of 288 do not fit q4_K"},
		{"k", weightstest.F32(2, 100), tensor.F16, "rows of 100 do not fit q4_K"},
		{"six", weightstest.F32(2, 288), tensor.Q8_0, "do not fit q6_K"},
		{"keep", weightstest.F32(2, 32), tensor.F32, ""},
		{"keep", weightstest.Typed(tensor.F16, 2, 32), tensor.F32, ""},
		{"half", weightstest.Typed(tensor.Q8_0, 2, 32), tensor.F16, ""},
		{"w", weightstest.F32(0, 32), tensor.Q8_0, ""},
	} {
		as, note := storeAs(c.name, c.t, rules)
		require.Equal(t, c.want, as, "%s %v", c.name, c.t)
		if c.note == "" {
			require.Empty(t, note)
		} else {
			require.Contains(t, note, c.note, "%s %v", c.name, c.t)
		}
	}
	as, note := storeAs("w", weightstest.F32(4, 64), nil)
	require.Equal(t, tensor.F32, as)
	require.Empty(t, note)
}

// floatsFile writes f32 tensors of random values, more than a piece of them.
func floatsFile(t *testing.T, shapes ...tensor.Shape) (path string, values [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	w := weights.New()
	defer w.Release()
	for i, shape := range shapes {
		name := string(rune('0' + i))
		require.NoError(t, w.Declare(name, weightstest.F32(shape...)))
		v := make([]float32, shape.Elements())
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		values = append(values, v)
		require.NoError(t, w.Set(name, weightstest.Floats(v)))
	}
	path = t.TempDir() + "/floats.gguf"
	require.NoError(t, Save(w, path, nil, nil))
	return path, values
}

func TestStoringOnTheWay(t *testing.T) {
	weightstest.LeavesNothing(t)
	// The first does not end with a piece, and rows do not begin with one.
	path, values := floatsFile(t, tensor.Shape{999, 352}, tensor.Shape{64}, tensor.Shape{3, 172}, tensor.Shape{31, 64})
	o := Options{Placement: weights.Mapped, Rules: []Rule{{Pattern: "3", DType: tensor.F32}, {Pattern: "*", DType: tensor.Q4_1}}}
	plan, err := PlanMemory(path, o)
	require.NoError(t, err)
	w, err := Open(path, o)
	require.NoError(t, err)
	defer w.Release()
	require.EqualValues(t, 999*352/32*20+60+3*172*2+56, plan.MemoryBytes, "padded to 64")
	want := []struct {
		as        tensor.DType
		placement weights.Placement
	}{{tensor.Q4_1, weights.Copied}, {tensor.F32, weights.Mapped}, {tensor.F16, weights.Copied}, {tensor.F32, weights.Mapped}}
	for i, s := range w.Stored() {
		require.Equal(t, tensor.F32, s.From.DType)
		require.Equal(t, want[i].as, s.As, s.Name)
		require.Equal(t, want[i].placement, s.Placement, s.Name)
		x := weightstest.TensorOf(t, w, s.Name)
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
	weightstest.LeavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{1025, 512}, tensor.Shape{5, 96})
	encoded := make(chan int, 100)
	w, err := Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: func(d tensor.DType, dst []byte, src, _ []float32) error {
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

	w2 := weights.New()
	defer w2.Release()
	require.NoError(t, w2.Declare("n", weightstest.F32(2, 256)))
	require.NoError(t, w2.Set("n", weightstest.Floats(append(make([]float32, 511), float32(math.NaN())))))
	bad := t.TempDir() + "/nan.gguf"
	require.NoError(t, Save(w2, bad, nil, nil))
	_, err = Open(bad, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q6_K}}, Encode: func(tensor.DType, []byte, []float32, []float32) error {
		t.Error("values that are not finite must not reach the encoder")
		return nil
	}})
	weightstest.RequireError(t, err, status.InvalidArgument, "element 511 is NaN, which q6_K")

	_, err = Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q6_K}}, Encode: func(tensor.DType, []byte, []float32, []float32) error {
		return status.Errorf(status.Internal, "broken")
	}})
	weightstest.RequireError(t, err, status.Internal, path, `"0"`, "broken")
}

func TestWhatARuleCannotStoreIsNamed(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("w", weightstest.F32(2, 1<<18)))
	values := make([]float32, 2<<18)
	values[1<<18+77] = float32(math.Inf(1))
	require.NoError(t, w.Set("w", weightstest.Floats(values)))
	path := t.TempDir() + "/x.gguf"
	require.NoError(t, Save(w, path, nil, nil))
	_, err := Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0}}})
	weightstest.RequireError(t, err, status.InvalidArgument, path, `"w"`, "from element 262144 on", "element 77 is +Inf")
	again, err := Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.BF16}}})
	require.NoError(t, err)
	again.Release()
}

func TestReport(t *testing.T) {
	weightstest.LeavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{3, 64}, tensor.Shape{64}, tensor.Shape{3, 172})
	w, err := Open(path, Options{Placement: weights.Mapped, Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0, Rename: "w*"}}})
	require.NoError(t, err)
	said, err := ReportOf(w)
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
	_, err = ReportOf(w)
	weightstest.RequireError(t, err, status.InvalidState)
	empty := weights.New()
	defer empty.Release()
	said, err = ReportOf(empty)
	require.NoError(t, err)
	text = said.Text()
	require.Equal(t, "0 tensors, 0 bytes copied, 0 mapped\n", text)
}

// With importance a piece is whole rows, and every quantised type is the encoder's.
func TestStoringByImportance(t *testing.T) {
	weightstest.LeavesNothing(t)
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
	_, err := Open(path, o)
	weightstest.RequireError(t, err, status.InvalidArgument, `"3"`, "0 in all 20 columns")
	o.Importance["3"][0] = 1 // rows of 20 are stored as f16: it does not count
	w, err := Open(path, o)
	require.NoError(t, err)
	w.Release()
	close(rows)
	sum := 0
	for n := range rows {
		sum += n
	}
	require.Equal(t, 700, sum, "the first tensor, and no other")

	o.Importance["0"] = columns[:415]
	_, err = Open(path, o)
	weightstest.RequireError(t, err, status.ShapeMismatch, `"0"`, "has 416 columns, its importance 415")
	for _, wrong := range []float32{-1, float32(math.NaN()), float32(math.Inf(1))} {
		o.Importance["0"] = append([]float32{wrong}, columns[1:]...)
		_, err = Open(path, o)
		weightstest.RequireError(t, err, status.InvalidArgument, `"0"`, "column 0")
	}
	o.Encode = nil
	_, err = Open(path, o)
	weightstest.RequireError(t, err, status.Unsupported, "importance takes ggml")
}

func constantFile(t *testing.T, value float32, shape ...int64) string {
	t.Helper()
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("w", weightstest.F32(shape...)))
	v := make([]float32, weightstest.F32(shape...).Shape.Elements())
	for i := range v {
		v[i] = value
	}
	require.NoError(t, w.Set("w", weightstest.Floats(v)))
	path := t.TempDir() + "/w.gguf"
	require.NoError(t, Save(w, path, nil, nil))
	return path
}

// A tensor whose values a rule's type cannot hold stays what it is, and the report says
// why; what is too large is an error.
func TestARuleWhoseTypeCannotHoldTheValues(t *testing.T) {
	weightstest.LeavesNothing(t)
	zeros := func(_ tensor.DType, dst []byte, _, _ []float32) error { clear(dst); return nil }
	infinite := func(_ tensor.DType, dst []byte, _, _ []float32) error {
		for i := range dst {
			dst[i] = 0x7c
		}
		return nil
	}
	for _, shape := range [][]int64{{4, 256}, {3, 1 << 18}, {4096, 256}} { // pieces of several rows, and rows of several pieces
		path := constantFile(t, 1e-10, shape...)
		for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q5_1, tensor.IQ4NL, tensor.F16, tensor.Q4_K} {
			o := Options{Placement: weights.Copied, Rules: []Rule{{Pattern: "*", DType: d}}, Encode: zeros}
			if shape[0] > 4 && d != tensor.Q8_0 {
				continue // one is enough of so much
			}
			w, err := Open(path, o)
			require.NoError(t, err)
			if d == tensor.Q5_1 { // whose blocks keep equal values as their least, if f16 has it
				require.Equal(t, tensor.F32, w.Stored()[0].As)
			}
			x := weightstest.TensorOf(t, w, "w")
			require.Equal(t, weightstest.F32(shape...), x.Type, "%v", d)
			data, err := x.Freeze()
			require.NoError(t, err)
			require.Equal(t, float32(1e-10), math.Float32frombits(binary.LittleEndian.Uint32(data[len(data)-4:])))
			require.Equal(t, float32(1e-10), math.Float32frombits(binary.LittleEndian.Uint32(data)))
			r, err := ReportOf(w)
			require.NoError(t, err)
			require.Equal(t, "f32", r.Tensors[0].As)
			require.Contains(t, r.Tensors[0].Note, "too small for "+d.String())
			require.Equal(t, x.Type.Bytes(), r.CopiedBytes)
			w.Release()
		}
	}
	path := constantFile(t, 1e-10, 4, 256)
	_, err := Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0}}, Budget: 4 * 256 * 2})
	weightstest.RequireError(t, err, status.OutOfMemory, "the budget is 2048")
	_, err = Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: infinite})
	weightstest.RequireError(t, err, status.InvalidArgument, `"w"`, "too large for q4_K")
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.F16} {
		_, err = Open(constantFile(t, 1e9, 4, 256), Options{Rules: []Rule{{Pattern: "*", DType: d}}})
		weightstest.RequireError(t, err, status.InvalidArgument, `"w"`, "too large for "+d.String())
	}
	_, err = Open(constantFile(t, math.MaxFloat32, 4, 256), Options{Rules: []Rule{{Pattern: "*", DType: tensor.BF16}}})
	weightstest.RequireError(t, err, status.InvalidArgument, `"w"`, "too large for bf16")
}

// A panic on a thread that reads, converts or fills is the caller's error, not the
// process's end.
func TestAPanicOfAnEncoderIsAnError(t *testing.T) {
	weightstest.LeavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{1024, 1024}, tensor.Shape{256, 512})
	for name, encode := range map[string]Encoder{
		"a panic": func(tensor.DType, []byte, []float32, []float32) error { panic("on demand") },
		"an index": func(_ tensor.DType, dst []byte, src, _ []float32) error {
			dst[len(src)*9] = 1
			return nil
		},
	} {
		w, err := Open(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: encode})
		require.Nil(t, w, name)
		weightstest.RequireError(t, err, status.Internal, path, "panic at rules_test.go:")
	}
}
