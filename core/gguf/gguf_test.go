package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// file builds a GGUF file by hand, right or wrong.
type file struct{ bytes.Buffer }

func (f *file) put(values ...any) *file {
	for _, v := range values {
		switch v := v.(type) {
		case string: // as the format has it: length, bytes
			f.put(uint64(len(v)))
			f.WriteString(v)
		default:
			if err := binary.Write(f, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	return f
}

func (f *file) pad(alignment int) *file {
	for f.Len()%alignment != 0 {
		f.WriteByte(0)
	}
	return f
}

// header begins a file of version 3.
func header(tensors, keys uint64) *file {
	f := &file{}
	f.WriteString(Magic)
	return f.put(uint32(3), tensors, keys)
}

// two is a file with two tensors, f32 [2, 3] and q8_0 [64], after any metadata.
func two(keys uint64, metadata ...any) []byte {
	f := header(2, keys).put(metadata...)
	f.put("a", uint32(2), uint64(3), uint64(2), uint32(0), uint64(0))
	f.put("b", uint32(1), uint64(64), uint32(8), uint64(32))
	f.pad(32)
	for i := range 24 + 8 + 68 {
		f.WriteByte(byte(i))
	}
	return f.Bytes()
}

// one is a file with one tensor of that description and data bytes of data.
func one(data int, description ...any) []byte {
	f := header(1, 0).put(description...).pad(32)
	return append(f.Bytes(), make([]byte, data)...)
}

func parse(b []byte) (*tensorfile.Table, error) { return Parse(bytes.NewReader(b), int64(len(b))) }

func requireError(t *testing.T, err error, code status.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, status.Of(err), "%v", err)
	for _, w := range append(words, "at byte ") {
		require.ErrorContains(t, err, w)
	}
}

func TestParse(t *testing.T) {
	b := two(0)
	start := int64(len(b) - 100)
	table, err := parse(b)
	require.NoError(t, err)
	require.Equal(t, []tensorfile.Entry{
		{Name: "a", Type: tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, 3}}, Offset: start, Bytes: 24},
		{Name: "b", Type: tensor.Type{DType: tensor.Q8_0, Shape: tensor.Shape{64}}, Offset: start + 32, Bytes: 68},
	}, table.Entries)
	require.Empty(t, table.Metadata)

	b[4] = 2
	again, err := parse(b)
	require.NoError(t, err)
	require.Equal(t, table.Entries, again.Entries, "version 2 differs in nothing")

	_, err = parse(append(b, "anything"...))
	require.NoError(t, err)

	empty, err := parse(header(0, 0).Bytes())
	require.NoError(t, err)
	require.Empty(t, empty.Entries)
}

func TestAlignmentIsHonoured(t *testing.T) {
	for _, alignment := range []uint32{1, 8, 64, 4096} {
		f := header(2, 1).put(alignmentKey, metadata.KindU32, alignment)
		next := uint64(max(alignment, 4))
		f.put("a", uint32(0), uint32(0), uint64(0)).put("b", uint32(1), uint64(1), uint32(0), next)
		f.pad(int(alignment))
		start := int64(f.Len())
		f.Write(make([]byte, next+4))
		table, err := parse(f.Bytes())
		require.NoError(t, err)
		require.Equal(t, start, table.Entries[0].Offset)
		require.Empty(t, table.Entries[0].Type.Shape)
		require.Equal(t, start+int64(next), table.Entries[1].Offset)
	}
}

// Tensors of types and ranks that the library has not are listed like the others.
func TestForeignTensors(t *testing.T) {
	for name, c := range map[string]struct {
		dims   []uint64
		number uint32
		bytes  int
		want   string // what it is read as
		why    string
	}{
		"iq2_xs":     {[]uint64{256, 3}, 17, 3 * 74, "", "the library has no type iq2_xs"},
		"nvfp4":      {[]uint64{128, 2}, 40, 4 * 36, "", "the library has no type nvfp4"},
		"f64":        {[]uint64{3, 2}, 28, 48, "f32[2, 3]", ""},
		"type 4":     {[]uint64{3}, 4, 96, "", "the library has no type type 4"},
		"type 1000":  {[]uint64{3}, 1000, 96, "", "the library has no type type 1000"},
		"f32":        {[]uint64{5, 1, 1, 1, 1}, 0, 20, "f32[1, 1, 1, 5]", ""},
		"f16":        {[]uint64{5, 4, 3, 2, 2}, 1, 480, "", "it has 5 dimensions"},
		"q8_0":       {[]uint64{32, 1, 1, 2, 2}, 8, 4 * 34, "", "it has 5 dimensions"},
		"type 77777": {[]uint64{}, 77777, 0, "", "the library has no type"},
	} {
		f := header(2, 0).put("x", uint32(len(c.dims)), c.dims, c.number, uint64(0))
		next := (c.bytes + 31) / 32 * 32
		f.put("y", uint32(1), uint64(2), uint32(0), uint64(next)).pad(32)
		start := int64(f.Len())
		f.put(make([]byte, next+8))
		table, err := parse(f.Bytes())
		require.NoError(t, err, name)
		checkResult(t, table, nil, int64(f.Len()))
		x, y := table.Entries[0], table.Entries[1]
		require.Equal(t, start, x.Offset)
		require.EqualValues(t, c.bytes, x.Bytes, name)
		require.Equal(t, name, x.Foreign.DType)
		require.Equal(t, c.number, *x.Foreign.Number)
		require.Len(t, x.Foreign.Shape, len(c.dims))
		for i, d := range c.dims {
			require.EqualValues(t, d, x.Foreign.Shape[len(c.dims)-1-i])
		}
		require.Contains(t, x.Foreign.Why, c.why)
		require.Equal(t, c.why == "", x.Foreign.Why == "")
		if c.want != "" {
			require.Equal(t, c.want, x.Type.String())
		} else {
			require.Zero(t, x.Type.DType)
			require.LessOrEqual(t, len(x.Type.Shape), tensor.MaxRank)
			require.Equal(t, x.Foreign.Shape.Elements(), x.Type.Shape.Elements())
		}
		require.Equal(t, tensorfile.Entry{Name: "y", Type: tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2}}, Offset: start + int64(next), Bytes: 8}, y)
	}
	// The last one reaches to the end; what it is must still fit.
	last := one(80, "a", uint32(1), uint64(3), uint32(1000), uint64(0))
	table, err := parse(last)
	require.NoError(t, err)
	require.EqualValues(t, 80, table.Entries[0].Bytes)
	for words, b := range map[string][]byte{
		"overflows":                  one(80, "a", uint32(5), []uint64{1 << 20, 1 << 20, 1 << 20, 1 << 20, 1}, uint32(0), uint64(0)),
		"more than 2^59":             one(80, "a", uint32(2), []uint64{1 << 40, 1 << 40}, uint32(1000), uint64(0)),
		"rows are multiples of 256":  one(80, "a", uint32(1), uint64(100), uint32(16), uint64(0)),
		"reaches beyond the end":     one(80, "a", uint32(1), uint64(512), uint32(16), uint64(0)),
		"is not a multiple":          one(80, "a", uint32(1), uint64(3), uint32(1000), uint64(8)),
		"leaves a hole":              one(80, "a", uint32(1), uint64(3), uint32(1000), uint64(32)),
		"no tensor has more than 32": one(80, "a", uint32(33), make([]uint64, 33), uint32(0), uint64(0)),
	} {
		_, err := parse(b)
		requireError(t, err, status.Corrupt, words)
	}
}

func TestEmptyTensors(t *testing.T) {
	b := one(0, "a", uint32(2), uint64(0), uint64(7), uint32(0), uint64(0))
	table, err := parse(b)
	require.NoError(t, err)
	require.Equal(t, "f32[7, 0]", table.Entries[0].Type.String())
	require.Zero(t, table.Entries[0].Bytes)
}

func TestMetadataAsText(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		value []any
		want  string
	}{
		{[]any{metadata.KindU8, uint8(255)}, "255"},
		{[]any{metadata.KindI8, int8(-128)}, "-128"},
		{[]any{metadata.KindU16, uint16(65535)}, "65535"},
		{[]any{metadata.KindI16, int16(-32768)}, "-32768"},
		{[]any{metadata.KindU32, uint32(math.MaxUint32)}, "4294967295"},
		{[]any{metadata.KindI32, int32(math.MinInt32)}, "-2147483648"},
		{[]any{metadata.KindU64, uint64(math.MaxUint64)}, "18446744073709551615"},
		{[]any{metadata.KindI64, int64(math.MinInt64)}, "-9223372036854775808"},
		{[]any{metadata.KindF32, float32(0.1)}, "0.1"},
		{[]any{metadata.KindF32, float32(1e-5)}, "1e-05"},
		{[]any{metadata.KindF64, 0.1}, "0.1"},
		{[]any{metadata.KindF64, nan}, "NaN"},
		{[]any{metadata.KindBool, uint8(0)}, "false"},
		{[]any{metadata.KindBool, uint8(1)}, "true"},
		{[]any{metadata.KindString, ""}, ""},
		{[]any{metadata.KindString, "a \"b\" \n é"}, "a \"b\" \n é"},
		{[]any{metadata.KindString, "a\xffb"}, "a\uFFFDb"},
		{[]any{metadata.KindArray, metadata.KindI16, uint64(3), []int16{1, -2, 3}}, "[1,-2,3]"},
		{[]any{metadata.KindArray, metadata.KindU8, uint64(0)}, "[]"},
		{[]any{metadata.KindArray, metadata.KindBool, uint64(2), []uint8{1, 0}}, "[true,false]"},
		{[]any{metadata.KindArray, metadata.KindF64, uint64(3), []float64{0.5, inf, nan}}, "[0.5,null,null]"},
		{[]any{metadata.KindArray, metadata.KindString, uint64(3), "<s>", "\"\\\x01\n", "\xe9é"}, `["<s>","\"\\\u0001\u000a","` + "\uFFFDé" + `"]`},
		{[]any{metadata.KindArray, metadata.KindArray, uint64(2), metadata.KindU8, uint64(1), uint8(7), metadata.KindString, uint64(1), "x"}, `[[7],["x"]]`},
	} {
		b := two(3, append(append([]any{"before", metadata.KindU8, uint8(1), "key"}, c.value...), "after", metadata.KindBool, uint8(1))...)
		table, err := parse(b)
		require.NoError(t, err, c.want)
		got := table.Metadata["key"].String()
		require.Equal(t, c.want, got)
		require.Equal(t, "true", table.Metadata["after"].String())
		if c.value[0] == metadata.KindArray {
			require.True(t, json.Valid([]byte(got)), got)
		}
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	b := two(2, "s", metadata.KindString, "text", "l", metadata.KindArray, metadata.KindString, uint64(2), "x", "yz")
	_, err := parse(b)
	require.NoError(t, err)
	for n := range b {
		_, err := parse(b[:n])
		requireError(t, err, status.Corrupt)
	}
}

// No byte of a file, changed to anything, may do more than give an error.
func TestEveryByteChanged(t *testing.T) {
	b := two(3, alignmentKey, metadata.KindU32, uint32(32), "s", metadata.KindString, "text", "l", metadata.KindArray, metadata.KindString, uint64(2), "x", "yz")
	for i := range len(b) - 100 {
		was := b[i]
		for v := range 256 {
			b[i] = byte(v)
			table, err := parse(b)
			checkResult(t, table, err, int64(len(b)))
		}
		b[i] = was
	}
}

// checkResult fails the test where what Parse promises does not hold.
func checkResult(t *testing.T, table *tensorfile.Table, err error, size int64) {
	t.Helper()
	if err != nil {
		if code := status.Of(err); code != status.Corrupt && code != status.Unsupported || !strings.Contains(err.Error(), "at byte ") {
			t.Fatalf("%v: %v", code, err)
		}
		return
	}
	names, next := map[string]bool{}, int64(0)
	for _, e := range table.Entries {
		if names[e.Name] || e.Foreign == nil && (e.Type.Check(true) != nil || e.Type.Bytes() != e.Bytes) ||
			e.Foreign != nil && (e.Foreign.Number == nil || e.Bytes < 0) || e.Bytes > 0 && (e.Offset < next || e.Offset+e.Bytes > size) {
			t.Fatalf("%+v is wrong in %+v of %d bytes", e, table.Entries, size)
		}
		names[e.Name], next = true, e.Offset+e.Bytes
	}
	for k, v := range table.Metadata {
		if k == "" || v.String() == "\x00never" {
			t.Fatalf("metadata %q", k)
		}
	}
}

func TestWrongFiles(t *testing.T) {
	const big = uint64(1) << 63
	array := func(depth int) []any {
		v := []any{"k", metadata.KindArray}
		for range depth {
			v = append(v, metadata.KindArray, uint64(1))
		}
		return append(v, metadata.KindU8, uint64(1), uint8(1))
	}
	versioned := func(v uint32) []byte {
		b := two(0)
		binary.LittleEndian.PutUint32(b[4:], v)
		return b
	}
	for name, c := range map[string]struct {
		file  []byte
		code  status.Code
		words []string
	}{
		"empty":                  {nil, status.Corrupt, []string{"magic"}},
		"wrong magic":            {[]byte("GGML\x03\x00\x00\x00"), status.Corrupt, []string{"GGML"}},
		"version 0":              {versioned(0), status.Corrupt, []string{"byte 4", "version"}},
		"version 1":              {versioned(1), status.Unsupported, []string{"byte 4", "version is 1"}},
		"version 4":              {versioned(4), status.Unsupported, []string{"version is 4"}},
		"big-endian":             {versioned(3 << 24), status.Unsupported, []string{"big-endian"}},
		"too many tensors":       {header(big-1, 0).Bytes(), status.Corrupt, []string{"byte 8", "9223372036854775807"}},
		"negative tensors":       {header(math.MaxUint64, 0).Bytes(), status.Corrupt, []string{"18446744073709551615"}},
		"tensors not there":      {header(1, 0).Bytes(), status.Corrupt, []string{"number of tensors"}},
		"too many keys":          {header(0, big-1).Bytes(), status.Corrupt, []string{"byte 16", "metadata keys"}},
		"tensors over the limit": {header(tensorfile.MaxTensors+1, 0).put(make([]byte, leastTensor*(tensorfile.MaxTensors+1))).Bytes(), status.Unsupported, []string{"131073", "131072"}},
		"keys over the limit":    {header(0, tensorfile.MaxMetadataKeys+1).put(make([]byte, leastMetadata*(tensorfile.MaxMetadataKeys+1))).Bytes(), status.Unsupported, []string{"65537", "65536"}},

		"key too long":       {header(0, 1).put(big-1, make([]byte, 64)).Bytes(), status.Corrupt, []string{"metadata key 0", "9223372036854775807"}},
		"key of 2^64-1":      {header(0, 1).put(uint64(math.MaxUint64), make([]byte, 64)).Bytes(), status.Corrupt, []string{"18446744073709551615"}},
		"empty key":          {two(1, "", metadata.KindU8, uint8(1)), status.Corrupt, []string{"metadata key 0"}},
		"key not UTF-8":      {two(1, "\xff", metadata.KindU8, uint8(1)), status.Corrupt, []string{`"\xff"`}},
		"key with zero byte": {two(2, "a\x00b", metadata.KindU8, uint8(1), "a", metadata.KindU8, uint8(1)), status.Corrupt, []string{`"a\x00b"`, "zero byte"}},
		"key twice":          {two(2, "k", metadata.KindU8, uint8(1), "k", metadata.KindU8, uint8(1)), status.Corrupt, []string{`"k"`, "twice"}},
		"unknown kind":       {two(1, "k", uint32(13), uint8(1)), status.Corrupt, []string{`"k"`, "13"}},
		"boolean 2":          {two(1, "k", metadata.KindBool, uint8(2)), status.Corrupt, []string{`"k"`, "boolean is 2"}},
		"boolean 2 in array": {two(1, "k", metadata.KindArray, metadata.KindBool, uint64(2), uint8(1), uint8(2)), status.Corrupt, []string{"byte 50", "boolean is 2"}},
		"string too long":    {two(1, "k", metadata.KindString, big), status.Corrupt, []string{`"k"`, "9223372036854775808"}},
		"array too long":     {two(1, "k", metadata.KindArray, metadata.KindU64, uint64(1)<<61), status.Corrupt, []string{`"k"`, "2305843009213693952"}},
		"array of strings":   {two(1, "k", metadata.KindArray, metadata.KindString, uint64(math.MaxUint64)), status.Corrupt, []string{`"k"`, "18446744073709551615"}},
		"array of no kind":   {two(1, "k", metadata.KindArray, uint32(99), uint64(1)), status.Corrupt, []string{`"k"`, "99"}},
		"nested too deep":    {two(1, array(maxNesting)...), status.Corrupt, []string{`"k"`, "nested deeper than 16"}},

		"alignment as u64":      {two(1, alignmentKey, metadata.KindU64, uint64(32)), status.Corrupt, []string{alignmentKey, "u64, not u32"}},
		"alignment as string":   {two(1, alignmentKey, metadata.KindString, "32"), status.Corrupt, []string{"string, not u32"}},
		"alignment 0":           {two(1, alignmentKey, metadata.KindU32, uint32(0)), status.Corrupt, []string{"it is 0, not a power of two"}},
		"alignment 24":          {two(1, alignmentKey, metadata.KindU32, uint32(24)), status.Corrupt, []string{"24"}},
		"alignment beyond file": {two(1, alignmentKey, metadata.KindU32, uint32(1)<<31), status.Corrupt, []string{`"a"`, "2147483648"}},

		"name too long":       {one(64, big-1), status.Corrupt, []string{"tensor 0", "9223372036854775807"}},
		"name not UTF-8":      {one(4, "a\xc3", uint32(0), uint32(0), uint64(0)), status.Corrupt, []string{`"a\xc3"`, "UTF-8"}},
		"name with zero byte": {one(4, "a\x00", uint32(0), uint32(0), uint64(0)), status.Corrupt, []string{`"a\x00"`, "zero byte"}},
		"name twice": {header(2, 0).put("a", uint32(0), uint32(0), uint64(0), "a", uint32(0), uint32(0), uint64(32)).
			pad(32).put(make([]byte, 64)).Bytes(), status.Corrupt, []string{`"a"`, "twice"}},
		"2^32-1 dimensions":  {one(4, "a", uint32(math.MaxUint32), uint32(0), uint64(0)), status.Corrupt, []string{`"a"`, "4294967295 dimensions"}},
		"negative dimension": {one(4, "a", uint32(1), uint64(math.MaxUint64), uint32(0), uint64(0)), status.Corrupt, []string{`"a"`, "dimension 0 is 18446744073709551615"}},
		"2^32 by 2^32":       {one(4, "a", uint32(2), uint64(1)<<32, uint64(1)<<32, uint32(0), uint64(0)), status.Corrupt, []string{`"a"`, "overflows"}},
		"2^60 of 8 bytes":    {one(4, "a", uint32(1), uint64(1)<<60, uint32(27), uint64(0)), status.Corrupt, []string{`"a"`, "overflows"}},
		"row of 33 in q8_0":  {one(80, "a", uint32(2), uint64(33), uint64(2), uint32(8), uint64(0)), status.Corrupt, []string{`"a"`, "33", "32"}},
		"row of 32 in q4_K":  {one(80, "a", uint32(2), uint64(32), uint64(8), uint32(12), uint64(0)), status.Corrupt, []string{`"a"`, "256"}},
		"scalar in q8_0":     {one(80, "a", uint32(0), uint32(8), uint64(0)), status.Corrupt, []string{`"a"`}},

		"offset unaligned": {one(80, "a", uint32(1), uint64(1), uint32(0), uint64(8)), status.Corrupt, []string{`"a"`, "offset 8", "alignment 32"}},
		"offset beyond":    {one(80, "a", uint32(1), uint64(1), uint32(0), uint64(1)<<40), status.Corrupt, []string{`"a"`, "1099511627776"}},
		"offset 2^64-32":   {one(80, "a", uint32(1), uint64(1), uint32(0), uint64(math.MaxUint64-31)), status.Corrupt, []string{`"a"`, "18446744073709551584"}},
		"hole":             {one(80, "a", uint32(1), uint64(1), uint32(0), uint64(32)), status.Corrupt, []string{`"a"`, "hole"}},
		"overlap": {header(2, 0).put("a", uint32(1), uint64(16), uint32(0), uint64(0), "b", uint32(0), uint32(0), uint64(32)).
			pad(32).put(make([]byte, 128)).Bytes(), status.Corrupt, []string{`"b"`, "overlaps"}},
		"reversed": {header(2, 0).put("a", uint32(0), uint32(0), uint64(32), "b", uint32(0), uint32(0), uint64(0)).
			pad(32).put(make([]byte, 128)).Bytes(), status.Corrupt, []string{`"a"`, "hole"}},
		"too long": {one(80, "a", uint32(1), uint64(21), uint32(0), uint64(0)), status.Corrupt, []string{`"a"`, "84 bytes", "beyond the end"}},
		"huge":     {one(80, "a", uint32(1), uint64(1)<<59, uint32(0), uint64(0)), status.Corrupt, []string{`"a"`, "beyond the end"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.file)
			requireError(t, err, c.code, c.words...)
		})
	}
	_, err := parse(two(1, array(maxNesting-1)...))
	require.NoError(t, err, "as deep as is allowed")
}

func TestAFileThatShrinks(t *testing.T) {
	b := two(0)
	_, err := Parse(bytes.NewReader(b[:60]), int64(len(b)))
	requireError(t, err, status.IO, "at byte 60", "shorter")
}

// Whatever a file says, its header costs little time and less than 100 MB. All
// that was ever allocated is counted, not only what was held at one time.
func TestHostileFilesCostLittle(t *testing.T) {
	strs := func(n int) []byte {
		return header(0, 1).put("k", metadata.KindArray, metadata.KindString, uint64(n), make([]byte, 8*n)).Bytes()
	}
	tensors := header(tensorfile.MaxTensors, 0)
	for i := range tensorfile.MaxTensors {
		tensors.put(fmt.Sprintf("%032d", i), uint32(4), []uint64{1, 1, 1, 0}, uint32(0), uint64(0))
	}
	keys := header(0, tensorfile.MaxMetadataKeys)
	for i := range tensorfile.MaxMetadataKeys {
		keys.put(fmt.Sprintf("%032d", i), metadata.KindString, strings.Repeat("x", 400))
	}
	arrays := header(0, 1).put("k", metadata.KindArray, metadata.KindArray, uint64(3_000_000))
	arrays.Write(bytes.Repeat((&file{}).put(metadata.KindU8, uint64(0)).Bytes(), 3_000_000))
	for name, c := range map[string]struct {
		file []byte
		size int64 // what the file claims to be
		code status.Code
	}{
		"empty strings":              {strs(5_000_000), 0, status.OK},
		"empty arrays":               {arrays.Bytes(), 0, status.OK},
		"strings beyond the limit":   {strs(8_000_000), 0, status.Unsupported},
		"tensors":                    {tensors.Bytes(), 0, status.OK},
		"keys":                       {keys.Bytes(), 0, status.OK},
		"a file of 2^62, all zero":   {header(1<<50, 1<<50).Bytes(), 1 << 62, status.Unsupported},
		"a string in a file of 2^62": {header(0, 1).put("k", metadata.KindString, uint64(1)<<61).Bytes(), 1 << 62, status.Unsupported},
		"an array in a file of 2^62": {header(0, 1).put("k", metadata.KindArray, metadata.KindF64, uint64(1)<<58).Bytes(), 1 << 62, status.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			size := max(c.size, int64(len(c.file)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			table, err := Parse(zeroAfter(c.file), size)
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			require.Equal(t, c.code, status.Of(err), "%v", err)
			checkResult(t, table, err, size)
			allocated := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
			t.Logf("%.0f MB, %v", allocated, took)
			require.Less(t, allocated, 100.0)
			// Shared machines and the race detector need slack: it is 0.2 s at most.
			require.Less(t, took, 10*time.Second)
		})
	}
}

// zeroAfter reads as a file's beginning, followed by zeros without end.
type zeroAfter []byte

func (z zeroAfter) ReadAt(p []byte, offset int64) (int, error) {
	clear(p)
	if offset < int64(len(z)) {
		copy(p, z[offset:])
	}
	return len(p), nil
}

func realFile(tb testing.TB) []byte {
	tb.Helper()
	folder := os.Getenv("QTSACCEL_SHARED_DATA")
	if folder == "" {
		tb.Skip("QTSACCEL_SHARED_DATA is not set: no real model to read")
	}
	b, err := os.ReadFile(filepath.Join(folder, "stories260k", "stories260K_f32.gguf"))
	require.NoError(tb, err)
	return b
}

func TestRealModelAndItsTruncations(t *testing.T) {
	b := realFile(t)
	table, err := parse(b)
	require.NoError(t, err)
	require.Len(t, table.Entries, 47)
	require.Equal(t, "llama", table.Metadata["general.architecture"].String())
	require.Equal(t, "512", table.Metadata["llama.context_length"].String())
	require.Equal(t, "1e-05", table.Metadata["llama.attention.layer_norm_rms_epsilon"].String())
	var tokens []string
	require.NoError(t, json.Unmarshal([]byte(table.Metadata["tokenizer.ggml.tokens"].String()), &tokens))
	require.Len(t, tokens, 512)
	require.Equal(t, []string{"<unk>", "<s>", "</s>", "<0x00>"}, tokens[:4])

	data := int(table.Entries[0].Offset)
	for n := 0; n < len(b); n++ {
		if n > data {
			n += 9973
		}
		_, err := parse(b[:min(n, len(b)-1)])
		requireError(t, err, status.Corrupt)
	}
}

func BenchmarkParse(b *testing.B) {
	f := realFile(b)
	for b.Loop() {
		if _, err := parse(f); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(two(0))
	f.Add(two(3, alignmentKey, metadata.KindU32, uint32(32), "s", metadata.KindString, "text", "l", metadata.KindArray, metadata.KindString, uint64(2), "x", "yz"))
	f.Add(one(80, "a", uint32(4), []uint64{0, 1, 2, 3}, uint32(39), uint64(0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := parse(b)
		checkResult(t, table, err, int64(len(b)))
	})
}
