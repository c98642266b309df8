package gguf

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// again writes a table as a file, without the tensors' data.
func again(t *testing.T, table *tensorfile.Table) *Layout {
	t.Helper()
	pairs := make([]metadata.Pair, len(table.Keys))
	for i, key := range table.Keys {
		pairs[i] = metadata.Pair{Key: key, Value: table.Metadata[key]}
	}
	tensors := make([]Named, len(table.Entries))
	for i, e := range table.Entries {
		tensors[i] = Named{Name: e.Name, Type: e.Type}
	}
	layout, err := NewLayout(pairs, tensors)
	if v, ok := table.Metadata[alignmentKey]; ok && status.Of(err) == status.Unsupported {
		n, _ := v.Int()
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
		two(3, alignmentKey, metadata.KindU32, uint32(32), "s", metadata.KindString, "text", "l", metadata.KindArray, metadata.KindString, uint64(2), "x", "yz"),
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

func TestWhatCannotBeLaidOut(t *testing.T) {
	for words, pairs := range map[string][]metadata.Pair{
		"has a zero byte":        {{Key: "a\x00b", Value: metadata.Int(1)}},
		"there twice":            {{Key: "a", Value: metadata.Int(1)}, {Key: "a", Value: metadata.Int(2)}},
		`"" is empty`:            {{Key: "", Value: metadata.Int(1)}},
		"it is string, not u32":  {{Key: alignmentKey, Value: metadata.Text("32")}},
		"it is 0, not a power":   {{Key: alignmentKey, Value: metadata.Int(0)}},
		"it is 48, not a power":  {{Key: alignmentKey, Value: metadata.Int(48)}},
		"at most 1048576 is wri": {{Key: alignmentKey, Value: metadata.Int(1 << 21)}},
	} {
		_, err := NewLayout(pairs, nil)
		require.ErrorContains(t, err, words)
	}
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
