package modelfile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/gguf"
	"qtsaccel/core/metadata"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

// fileTensor is a tensor of a file that a test writes byte by byte.
type fileTensor struct {
	name, dtype string
	shape       []int64
	data        []byte
}

func safetensorsOf(t *testing.T, all ...fileTensor) string {
	t.Helper()
	header := map[string]any{}
	var data []byte
	for _, x := range all {
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": append([]int64{}, x.shape...), "data_offsets": []int{len(data), len(data) + len(x.data)}}
		data = append(data, x.data...)
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	path := t.TempDir() + "/x.safetensors"
	require.NoError(t, os.WriteFile(path, safetensorsFile(string(text), data), 0o600))
	return path
}

func doubles(v ...float64) (b []byte) {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// valuesOf gives a tensor's values, whatever its type.
func valuesOf(t *testing.T, w *weights.Weights, name string) (of []float64) {
	t.Helper()
	x := weightstest.TensorOf(t, w, name)
	data, err := x.Freeze()
	require.NoError(t, err)
	le := binary.LittleEndian
	decoded := make([]float32, x.Type.Shape.Elements())
	if quant.CanDecode(x.Type.DType) {
		require.NoError(t, quant.Decode(x.Type.DType, decoded, data))
	}
	for i := range decoded {
		switch x.Type.DType {
		case tensor.I8:
			of = append(of, float64(int8(data[i])))
		case tensor.I16:
			of = append(of, float64(int16(le.Uint16(data[2*i:]))))
		case tensor.I32:
			of = append(of, float64(int32(le.Uint32(data[4*i:]))))
		case tensor.I64:
			of = append(of, float64(int64(le.Uint64(data[8*i:]))))
		default:
			of = append(of, float64(decoded[i]))
		}
	}
	return of
}

// Types that the library lacks and a wider one has come in as that; the values are those
// of the formats' own definitions.
func TestNarrowTypesAreWidened(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := safetensorsOf(t,
		fileTensor{"bool", "BOOL", []int64{1, 4}, []byte{0, 1, 1, 0}},
		fileTensor{"u8", "U8", []int64{3}, []byte{0, 127, 255}},
		fileTensor{"u16", "U16", []int64{2}, []byte{0xff, 0xff, 1, 0}},
		fileTensor{"u32", "U32", []int64{}, []byte{0xff, 0xff, 0xff, 0xff}},
		fileTensor{"f64", "F64", []int64{2, 2}, doubles(1.5, -math.Pi, 1e-310, 3e38)},
		fileTensor{"e4m3", "F8_E4M3", []int64{6}, []byte{0x38, 0xb8, 0x7e, 0x01, 0x08, 0x80}},
		fileTensor{"e5m2", "F8_E5M2", []int64{5}, []byte{0x3c, 0xbc, 0x7b, 0x01, 0x7c}},
		fileTensor{"e8m0", "F8_E8M0", []int64{3}, []byte{127, 0, 254}},
		fileTensor{"ones", "F32", []int64{1, 1, 1, 1, 2}, weightstest.Floats([]float32{7, 8})},
		fileTensor{"as ever", "F32", []int64{2}, weightstest.Floats([]float32{1, 2})},
	)
	for _, placement := range []weights.Placement{weights.Auto, weights.Copied, weights.Mapped} {
		w, err := Open(path, Options{Placement: placement})
		require.NoError(t, err)
		require.Equal(t, 10, w.Len())
		for name, want := range map[string]struct {
			typ    string
			values []float64
		}{
			"bool":    {"i8[1, 4]", []float64{0, 1, 1, 0}},
			"u8":      {"i16[3]", []float64{0, 127, 255}},
			"u16":     {"i32[2]", []float64{65535, 1}},
			"u32":     {"i64[]", []float64{4294967295}},
			"f64":     {"f32[2, 2]", []float64{1.5, float64(float32(-math.Pi)), 0, float64(float32(3e38))}},
			"e4m3":    {"f16[6]", []float64{1, -1, 448, math.Ldexp(1, -9), math.Ldexp(1, -6), 0}},
			"e5m2":    {"f16[5]", []float64{1, -1, 57344, math.Ldexp(1, -16), math.Inf(1)}},
			"e8m0":    {"f32[3]", []float64{1, math.Ldexp(1, -127), math.Ldexp(1, 127)}},
			"ones":    {"f32[1, 1, 1, 2]", []float64{7, 8}},
			"as ever": {"f32[2]", []float64{1, 2}},
		} {
			require.Equal(t, want.typ, weightstest.TensorOf(t, w, name).Type.String())
			require.Equal(t, want.values, valuesOf(t, w, name), name)
		}
		said, err := ReportOf(w)
		require.NoError(t, err)
		text := said.Text()
		for _, words := range []string{"from BOOL", "from F8_E4M3", "from F64", "rounded to f32", "is [1, 1, 1, 1, 2] in the file"} {
			require.Contains(t, text, words)
		}
		saved := t.TempDir() + "/saved.gguf" // as what they were read as
		require.NoError(t, Save(w, saved, nil, nil))
		back, err := Open(saved, Options{})
		require.NoError(t, err)
		require.Equal(t, "f16[6]", weightstest.TensorOf(t, back, "e4m3").Type.String())
		back.Release()
		w.Release()
	}
}

func TestWidenedTensorsFollowRules(t *testing.T) {
	weightstest.LeavesNothing(t)
	const n = 3 << 18 // more than a piece
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*31)&0x7e | byte(i)<<7 // no NaN
	}
	f64 := make([]float64, 1024)
	for i := range f64 {
		f64[i] = float64(i)/7 - 50
	}
	path := safetensorsOf(t, fileTensor{"e4m3", "F8_E4M3", []int64{3072, 256}, data}, fileTensor{"f64", "F64", []int64{4, 256}, doubles(f64...)},
		fileTensor{"u8", "U8", []int64{2, 32}, make([]byte, 64)})
	w, err := Open(path, Options{Rules: []Rule{{Pattern: "f64", DType: tensor.BF16}, {Pattern: "*", DType: tensor.F32}}})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, "f32[3072, 256]", weightstest.TensorOf(t, w, "e4m3").Type.String())
	plain, err := Open(path, Options{})
	require.NoError(t, err)
	defer plain.Release()
	require.Equal(t, valuesOf(t, plain, "e4m3"), valuesOf(t, w, "e4m3"))
	require.Equal(t, "i16[2, 32]", weightstest.TensorOf(t, w, "u8").Type.String())
	require.Equal(t, "bf16[4, 256]", weightstest.TensorOf(t, w, "f64").Type.String())
	for i, v := range valuesOf(t, w, "f64") {
		require.InDelta(t, f64[i], v, math.Abs(f64[i])/256)
	}
}

// What the library cannot have is listed with what the file says of it, costs no memory,
// and is an error when it is used; the others are as ever.
func TestForeignTensorsAreListedAndRefused(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := safetensorsOf(t,
		fileTensor{"w", "F32", []int64{2}, weightstest.Floats([]float32{1, 2})},
		fileTensor{"nv", "NVFP4", []int64{2, 64}, make([]byte, 72)},
		fileTensor{"u64", "U64", []int64{2}, make([]byte, 16)},
		fileTensor{"five", "F16", []int64{2, 3, 1, 2, 5}, make([]byte, 120)},
		fileTensor{"huge", "F64", []int64{2}, doubles(1, 1e300)},
		fileTensor{"tiny", "F64", []int64{2}, doubles(1e-60, 0)},
	)
	plan, err := PlanMemory(path, Options{Placement: weights.Copied})
	require.NoError(t, err)
	require.Equal(t, MemoryPlan{Tensors: 6, FileBytes: 8 + 32, MemoryBytes: 3 * 64}, plan)
	w, err := Open(path, Options{})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, 6, w.Len())
	require.Equal(t, []float64{1, 2}, valuesOf(t, w, "w"))
	for name, c := range map[string]struct {
		shape tensor.Shape // as the API has it
		bytes int64
		words []string
	}{
		"nv":   {tensor.Shape{2, 64}, 72, []string{"NVFP4[2, 64]", "no type NVFP4"}},
		"u64":  {tensor.Shape{2}, 16, []string{"U64[2]", "no type U64"}},
		"five": {tensor.Shape{6, 1, 2, 5}, 120, []string{"F16[2, 3, 1, 2, 5]", "5 dimensions, at most 4"}},
		"huge": {tensor.Shape{2}, 16, []string{"F64[2]", "1e+300", "too large for f32"}},
		"tiny": {tensor.Shape{2}, 16, []string{"F64[2]", "1e-60", "too small for f32"}},
	} {
		words := append(c.words, fmt.Sprintf("%q", name), path)
		x := weightstest.TensorOf(t, w, name)
		require.Equal(t, tensor.Type{DType: tensor.Foreign, Shape: c.shape}, x.Type)
		require.Equal(t, c.bytes, x.Bytes())
		weightstest.RequireError(t, x.Usable(), status.Unsupported, words...)
		_, err := x.Freeze()
		weightstest.RequireError(t, err, status.Unsupported, words...)
		weightstest.RequireError(t, w.Set(name, make([]byte, c.bytes)), status.Unsupported, words...)
		_, err = w.Matching([]string{"w", name})
		weightstest.RequireError(t, err, status.Unsupported, words...)
		var copies weights.DeviceCopies
		_, err = copies.Get(x, nil, 4, noCopy)
		weightstest.RequireError(t, err, status.Unsupported, words...)
		copies.Close()
	}
	for _, patterns := range [][]string{nil, {"*"}} {
		all, err := w.Matching(patterns)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	weightstest.RequireError(t, Save(w, t.TempDir()+"/x.gguf", nil, nil), status.Unsupported, path)
	said, err := ReportOf(w)
	require.NoError(t, err)
	text := said.Text()
	for _, words := range []string{`"nv"`, "NVFP4[2, 64]", "F16[2, 3, 1, 2, 5]", "foreign", "72 bytes", "the library has no type NVFP4", "6 tensors, 8 bytes copied, 0 mapped"} {
		require.Contains(t, text, words)
	}
	c, err := Inspect(path)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"F16": 1, "F64": 2, "NVFP4": 1, "U64": 1, "f32": 1}, c.DTypes)
	require.EqualValues(t, 2+128+2+60+2+2, c.Elements)

	// Rules leave out by name or pattern what is not wanted, foreign or not.
	w2, err := Open(path, Options{Rules: []Rule{{Pattern: "w", DType: tensor.F16}, {Pattern: "*i*", Skip: true}, {Pattern: "?", Skip: true}, {Pattern: "nv", Skip: true}, {Pattern: "u*", Skip: true}, {Pattern: "h*", Skip: true}}})
	require.NoError(t, err)
	defer w2.Release()
	require.Equal(t, 1, w2.Len())
	require.NoError(t, Save(w2, t.TempDir()+"/x.gguf", nil, nil))
	said, err = ReportOf(w2)
	require.NoError(t, err)
	text = said.Text()
	require.Equal(t, 5, strings.Count(text, "skipped"))
	for _, rule := range []Rule{{Pattern: "*", Skip: true, DType: tensor.F16}, {Pattern: "*", Skip: true, Rename: "x"}} {
		_, err = Open(path, Options{Rules: []Rule{rule}})
		weightstest.RequireError(t, err, status.InvalidArgument, "rule 0", "to be skipped")
	}
}

// From GGUF to GGUF they go byte for byte.
func TestForeignTensorsAreSavedAsTheyWere(t *testing.T) {
	weightstest.LeavesNothing(t)
	named := []gguf.Named{
		{Name: "a", Type: weightstest.F32(3)},
		{Name: "nv", Raw: &gguf.Raw{Number: 40, Shape: tensor.Shape{2, 64}, Bytes: 72}},
		{Name: "unknown", Raw: &gguf.Raw{Number: 99, Shape: tensor.Shape{7}, Bytes: 64}},
		{Name: "five", Raw: &gguf.Raw{Number: 0, Shape: tensor.Shape{2, 1, 1, 1, 2}, Bytes: 16}},
		{Name: "big", Raw: &gguf.Raw{Number: 16, Shape: tensor.Shape{1 << 10, 32 << 10}, Bytes: 66 << 17}}, // more than a piece
	}
	layout, err := gguf.NewLayout([]metadata.Pair{{Key: "k", Value: metadata.Text("v")}}, named)
	require.NoError(t, err)
	content := make([]byte, layout.Size)
	copy(content, layout.Header)
	for i, x := range named {
		n := x.Type.Bytes()
		if x.Raw != nil {
			n = x.Raw.Bytes
		}
		for j := range n {
			content[layout.Offsets[i]+j] = pattern(int(j) + i)
		}
	}
	path := write(t, content)
	for _, placement := range []weights.Placement{weights.Copied, weights.Mapped} {
		w, err := Open(path, Options{Placement: placement})
		require.NoError(t, err)
		require.Equal(t, 5, w.Len())
		saved := filepath.Join(t.TempDir(), "saved.gguf")
		require.NoError(t, Save(w, saved, nil, nil))
		got, err := os.ReadFile(saved)
		require.NoError(t, err)
		require.Equal(t, len(content), len(got))
		require.True(t, string(content) == string(got), "%v", placement)
		require.NoError(t, os.Truncate(path, layout.Size-100))
		weightstest.RequireError(t, Save(w, saved, nil, nil), status.IO, path, "shorter")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		w.Release()
	}
}
