package safetensors

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

func parseIndex(text string) (*Index, error) {
	return ParseIndex(strings.NewReader(text), int64(len(text)))
}

func TestParseIndex(t *testing.T) {
	index, err := parseIndex(` {"metadata":{"total_size":[1,{"x":null}]},"weight_map":{"b":"two","a":"one","c":"two","\u00e9":"drei, ü"} } `)
	require.NoError(t, err)
	require.Equal(t, []string{"two", "one", "drei, ü"}, index.Files)
	require.Equal(t, map[string]string{"a": "one", "b": "two", "c": "two", "é": "drei, ü"}, index.Of)
}

func TestEveryTruncationOfAnIndexIsAnError(t *testing.T) {
	text := `{"metadata":{"total_size":1},"weight_map":{"b":"two","a":"one"}}`
	for n := range len(text) {
		_, err := parseIndex(text[:n])
		require.Equal(t, status.Corrupt, status.Of(err), "%q: %v", text[:n], err)
	}
}

func TestHostileIndexesCostLittle(t *testing.T) {
	many := func(n int, entry string) string {
		var b strings.Builder
		b.WriteString(`{"weight_map":{"x":"y"`)
		for i := range n {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String() + "}}"
	}
	for words, text := range map[string]string{
		"more than 1024 files are not supported":     many(2000, `,"%[1]d":"%[1]d"`),
		"more than 131072 tensors are not supported": many(200_000, `,"%d":"y"`),
		"nested deeper": `{"x":` + strings.Repeat(`{"a":`, 100_000),
	} {
		start := time.Now()
		_, err := parseIndex(text)
		require.ErrorContains(t, err, words)
		require.Less(t, time.Since(start), 5*time.Second)
	}
	_, err := ParseIndex(strings.NewReader(""), tensorfile.MaxHeaderBytes+1)
	require.Equal(t, status.Unsupported, status.Of(err))
}

// An index that is read says what Go's own JSON reader finds in it, and leads
// nowhere else.
func FuzzParseIndex(f *testing.F) {
	f.Add(`{"metadata":{"total_size":1},"weight_map":{"b":"two","a":"one"}}`)
	f.Add(`{"weight_map":{"a":"../x"}}`)
	f.Add(`{"weight_map":{"\u0061":"\ud83d\ude00"},"x":[1e5,true]}`)
	f.Fuzz(func(t *testing.T, text string) {
		index, err := parseIndex(text)
		if err != nil {
			require.Contains(t, []status.Code{status.Corrupt, status.Unsupported}, status.Of(err))
			return
		}
		var members map[string]json.RawMessage // a struct's would match in any case of letters
		require.NoError(t, json.Unmarshal([]byte(text), &members))
		var want map[string]string
		require.NoError(t, json.Unmarshal(members["weight_map"], &want))
		require.Equal(t, want, index.Of)
		for name, file := range index.Of {
			require.Contains(t, index.Files, file, name)
			require.Equal(t, file, filepath.Base(file))
		}
	})
}
