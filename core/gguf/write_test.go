package gguf

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// again writes a table as a file, without the tensors' data.
func again(t *testing.T, table *tensorfile.Table) *Layout {
	t.Helper()
	pairs := make([]Pair, len(table.Keys))
	for i, key := range table.Keys {
		pairs[i] = Pair{key, ValueOf(table.Metadata[key])}
	}
	tensors := make([]Named, len(table.Entries))
	for i, e := range table.Entries {
		tensors[i] = Named{Name: e.Name, Type: e.Type}
	}
	layout, err := Lay(pairs, tensors)
	if v, ok := table.Metadata[alignmentKey]; ok && status.Of(err) == status.Unsupported {
		n, _ := ValueOf(v).Int()
		require.Greater(t, n, int64(maxWrittenAlignment))
		return nil
	}
	require.NoError(t, err)
	return layout
}

// requireSameAgain parses what again has written and compares.
func requireSameAgain(t *testing.T, table *tensorfile.Table) {
	t.Helper()
	layout := again(t, table)
	if layout == nil || layout.Size > 1<<20 {
		return
	}
	content := make([]byte, layout.Size)
	copy(content, layout.Header)
	back, err := parse(content)
	require.NoError(t, err)
	require.Equal(t, table.Keys, back.Keys)
	for key, v := range table.Metadata {
		require.Equal(t, v.String(), back.Metadata[key].String(), key)
	}
	require.Len(t, back.Entries, len(table.Entries))
	for i, e := range back.Entries {
		require.Equal(t, table.Entries[i].Name, e.Name)
		require.True(t, table.Entries[i].Type.Equal(e.Type))
		require.Equal(t, layout.Offsets[i], e.Offset)
	}
}

func TestWrittenHeadersAreRead(t *testing.T) {
	for _, b := range [][]byte{
		two(0), header(0, 0).Bytes(),
		two(3, alignmentKey, kindU32, uint32(32), "s", kindString, "text", "l", kindArray, kindString, uint64(2), "x", "yz"),
	} {
		table, err := parse(b)
		require.NoError(t, err)
		requireSameAgain(t, table)
	}
}

// The header of a real file comes out as the same bytes.
func TestARealHeaderAgain(t *testing.T) {
	b := realFile(t)
	table, err := parse(b)
	require.NoError(t, err)
	layout := again(t, table)
	require.Equal(t, b[:len(layout.Header)], layout.Header)
	require.EqualValues(t, len(b), layout.Size)
	for i, e := range table.Entries {
		require.Equal(t, e.Offset, layout.Offsets[i])
	}
}

func TestWhatCannotBeLaid(t *testing.T) {
	for words, pairs := range map[string][]Pair{
		"has a zero byte":        {{"a\x00b", Int(1)}},
		"there twice":            {{"a", Int(1)}, {"a", Int(2)}},
		`"" is empty`:            {{"", Int(1)}},
		"it is string, not u32":  {{alignmentKey, Text("32")}},
		"it is 0, not a power":   {{alignmentKey, Int(0)}},
		"it is 48, not a power":  {{alignmentKey, Int(48)}},
		"at most 1048576 is wri": {{alignmentKey, Int(1 << 21)}},
	} {
		_, err := Lay(pairs, nil)
		require.ErrorContains(t, err, words)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		v          Value
		kind, text string
		whole      bool
	}{
		{Text(`a"b`), "string", `a"b`, false},
		{Int(0), "u32", "0", true},
		{Int(1<<32 - 1), "u32", "4294967295", true},
		{Int(1 << 32), "i64", "4294967296", true},
		{Int(-1 << 31), "i32", "-2147483648", true},
		{Int(-1<<31 - 1), "i64", "-2147483649", true},
		{Float(0.1), "f32", "0.1", false},
		{Ints(nil), "array", "[]", false},
		{Ints([]int64{1, -1 << 31}), "array", "[1,-2147483648]", false},
		{Ints([]int64{1 << 31}), "array", "[2147483648]", false},
		{Floats([]float64{1.5}), "array", "[1.5]", false},
	} {
		require.Equal(t, c.kind, c.v.Kind())
		require.Equal(t, c.text, c.v.String())
		_, whole := c.v.Int()
		require.Equal(t, c.whole, whole, c.text)
	}
	_, whole := Value{kindU64, []byte{255, 255, 255, 255, 255, 255, 255, 255}}.Int()
	require.False(t, whole, "2^64-1 is no int64")
	require.Equal(t, "i8", ValueOf(Value{kindI8, []byte{1}}).Kind())
	require.Equal(t, "string", ValueOf(tensor.F32).Kind())
}

// Every file that is read can be written, and read again.
func FuzzWrite(f *testing.F) {
	f.Add(two(0))
	if folder := os.Getenv("QTSACCEL_SHARED_DATA"); folder != "" {
		f.Add(realFile(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := parse(b); err == nil {
			requireSameAgain(t, table)
		}
	})
}
