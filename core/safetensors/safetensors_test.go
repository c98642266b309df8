package safetensors

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

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// file is a file with that header and data bytes of data.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// entry describes a tensor as JSON.
func entry(name, dtype, shape string, begin, end int) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":[%s],"data_offsets":[%d,%d]}`, name, dtype, shape, begin, end)
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
	header := `{` + entry("b", "BF16", "2, 3", 4, 16) + ` , "__metadata__": {"format":"pt", "é\n":"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"},` +
		entry("a", "I8", "4", 0, 4) + "}\n   "
	table, err := parse(file(header, 16))
	require.NoError(t, err)
	start := int64(8 + len(header))
	require.Equal(t, []tensorfile.Entry{
		{Name: "a", Type: tensor.Type{DType: tensor.I8, Shape: tensor.Shape{4}}, Offset: start, Bytes: 4},
		{Name: "b", Type: tensor.Type{DType: tensor.BF16, Shape: tensor.Shape{2, 3}}, Offset: start + 4, Bytes: 12},
	}, table.Entries, "in the order of their data")
	require.Len(t, table.Metadata, 2)
	require.Equal(t, "pt", table.Metadata["format"].String())
	require.Equal(t, "é😀\"\\/\b\f\n\r\t", table.Metadata["é\n"].String())
}

func TestWhatTheFormatAllows(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":                       file(`{}`, 0),
		"only metadata":                 file(`{"__metadata__":{}}`, 0),
		"scalar":                        file(`{`+entry("a", "F32", "", 0, 4)+`}`, 4),
		"empty tensors":                 file(`{`+entry("a", "F32", "0", 0, 0)+`,`+entry("b", "F32", "1", 0, 4)+`,`+entry("c", "F32", "2,0", 4, 4)+`}`, 4),
		"no alignment":                  file(`{`+entry("a", "I8", "1", 0, 1)+`,`+entry("b", "I64", "1", 1, 9)+`}`, 9),
		"unknown field":                 file(`{"a":{"x":[{"y":[1.5e-3,-0,0.5,1E+9]},true,false,null,"s",{},[]],"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 2),
		"a tensor with an escaped name": file(`{"\u0061\"":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 2),
	} {
		table, err := parse(b)
		require.NoError(t, err, name)
		checkResult(t, table, err, int64(len(b)))
	}
	for _, dtype := range []string{"F32", "F16", "BF16", "I8", "I16", "I32", "I64"} {
		want, err := tensor.ParseDType(strings.ToLower(dtype))
		require.NoError(t, err)
		_, bytes := want.Block()
		table, err := parse(file(`{`+entry("a", dtype, "3", 0, 3*int(bytes))+`}`, 3*int(bytes)))
		require.NoError(t, err)
		require.Equal(t, want, table.Entries[0].Type.DType)
	}
}

// Tensors of types and ranks that the library has not are listed like the others.
func TestForeignTensors(t *testing.T) {
	for name, c := range map[string]struct {
		shape string
		bytes int
		want  string // what it is read as
		why   string
	}{
		"BOOL":    {"1,8", 8, "i8[1, 8]", ""},
		"U8":      {"4", 4, "i16[4]", ""},
		"U16":     {"4", 8, "i32[4]", ""},
		"U32":     {"", 4, "i64[]", ""},
		"F64":     {"2,1", 16, "f32[2, 1]", ""},
		"F8_E4M3": {"4", 4, "f16[4]", ""},
		"F8_E5M2": {"4", 4, "f16[4]", ""},
		"F8_E8M0": {"4", 4, "f32[4]", ""},
		"U64":     {"4", 32, "", "the library has no type U64"},
		"F4":      {"4", 2, "", "the library has no type F4"},
		"NVFP4":   {"2,64", 72, "", "the library has no type NVFP4"},
		"f32":     {"4", 16, "", "the library has no type f32"},
		"F32":     {"1,1,1,1,2", 8, "f32[1, 1, 1, 2]", ""},
		"F16":     {"2,1,1,1,2", 8, "", "it has 5 dimensions"},
		"I8":      {"2,0,9223372036854775807,1,2", 0, "", "it has 5 dimensions"},
	} {
		b := file(`{`+entry("x", name, c.shape, 0, c.bytes)+`,`+entry("y", "F32", "2", c.bytes, c.bytes+8)+`}`, c.bytes+8)
		table, err := parse(b)
		require.NoError(t, err, name)
		checkResult(t, table, nil, int64(len(b)))
		x := table.Entries[0]
		require.EqualValues(t, c.bytes, x.Bytes, name)
		require.Equal(t, name, x.Foreign.DType)
		require.Equal(t, "["+strings.ReplaceAll(c.shape, ",", ", ")+"]", x.Foreign.Shape.String())
		require.Contains(t, x.Foreign.Why, c.why)
		require.Equal(t, c.why == "", x.Foreign.Why == "")
		if c.want != "" {
			require.Equal(t, c.want, x.Type.String())
		} else {
			require.Zero(t, x.Type.DType)
		}
		require.Nil(t, table.Entries[1].Foreign)
	}
	for words, b := range map[string][]byte{
		"takes 4 bytes":              file(`{`+entry("a", "U8", "4", 0, 3)+`}`, 3),
		"takes 16 bytes":             file(`{`+entry("a", "F64", "2", 0, 8)+`}`, 8),
		"takes 8 bytes":              file(`{`+entry("a", "F32", "1,1,1,1,2", 0, 4)+`}`, 4),
		"overflows":                  file(`{`+entry("a", "NEW", "4294967296,4294967296,1,1,1", 0, 4)+`}`, 4),
		"no tensor has more than 32": file(`{`+entry("a", "F32", strings.Repeat("1,", 32)+"1", 0, 4)+`}`, 4),
		"its type is":                file(`{`+entry("a", "two words", "1", 0, 4)+`}`, 4),
	} {
		_, err := parse(b)
		requireError(t, err, status.Corrupt, words)
	}
}

func TestWrongFiles(t *testing.T) {
	length := func(n uint64, rest string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
	}
	good := entry("a", "F32", "1", 0, 4)
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for name, c := range map[string]struct {
		file  []byte
		code  status.Code
		words []string
	}{
		"empty":                      {nil, status.Corrupt, []string{"byte 0", "has 0"}},
		"seven bytes":                {make([]byte, 7), status.Corrupt, []string{"has 7"}},
		"no header":                  {make([]byte, 8), status.Corrupt, []string{"byte 8", `begins with ""`}},
		"header beyond file":         {length(3, "{}"), status.Corrupt, []string{"byte 0", "length is 3", "2 bytes"}},
		"header of 2^63":             {length(1<<63, "{}"), status.Corrupt, []string{"9223372036854775808"}},
		"header of 2^64-1":           {length(math.MaxUint64, "{}"), status.Corrupt, []string{"18446744073709551615"}},
		"not an object":              {file(`[]`, 0), status.Corrupt, []string{"byte 8", `begins with "[]", not "{"`}},
		"space before":               {file(` {}`, 0), status.Corrupt, []string{"byte 8"}},
		"only a brace":               {file(`{`, 0), status.Corrupt, []string{"byte 9", "text ends"}},
		"not JSON":                   {file(`{a}`, 0), status.Corrupt, []string{"byte 9", "'a'", "a string"}},
		"no colon":                   {file(`{"a"}`, 0), status.Corrupt, []string{"byte 12", `':'`}},
		"comma at the end":           {file(`{`+good+`,}`, 4), status.Corrupt, []string{`'}'`}},
		"no comma":                   {file(`{`+good+good+`}`, 4), status.Corrupt, []string{`','`}},
		"text after":                 {file(`{`+good+`}x`, 4), status.Corrupt, []string{`'x'`, "header's end"}},
		"zero byte after":            {file("{"+good+"}\x00", 4), status.Corrupt, []string{`'\x00'`}},
		"not UTF-8":                  {file("{\xff}", 0), status.Corrupt, []string{"byte 9", "0xff", "not UTF-8"}},
		"name not UTF-8":             {file("{\"a\xff\":{}}", 0), status.Corrupt, []string{"byte 10", `a\xff`, "not UTF-8"}},
		"name with escape not UTF-8": {file("{\"\\n\xff\":{}}", 0), status.Corrupt, []string{"byte 10", "not UTF-8"}},
		"name with zero byte":        {file(`{"a\u0000":{}}`, 0), status.Corrupt, []string{"byte 9", `a\x00`, "zero byte"}},
		"control character":          {file("{\"a\n\":{}}", 0), status.Corrupt, []string{"byte 11", "0x0a"}},
		"control after escape":       {file("{\"a\\n\n\":{}}", 0), status.Corrupt, []string{"byte 13", "0x0a"}},
		"string without end":         {file(`{"a`, 0), status.Corrupt, []string{"does not end"}},
		"string ends in escape":      {file(`{"a\`, 0), status.Corrupt, []string{"does not end"}},
		"escaped without end":        {file(`{"a\n`, 0), status.Corrupt, []string{"does not end"}},
		"unknown escape":             {file(`{"a\x":{}}`, 0), status.Corrupt, []string{"byte 10", `\\x`, "wrong escape"}},
		"short escape":               {file(`{"a\u12":{}}`, 0), status.Corrupt, []string{"wrong escape"}},
		"signed escape":              {file(`{"a\u+123":{}}`, 0), status.Corrupt, []string{"wrong escape"}},
		"half a surrogate pair":      {file(`{"a\ud800":{}}`, 0), status.Corrupt, []string{"wrong escape"}},
		"surrogates reversed":        {file(`{"\ude00\ud83d":{}}`, 0), status.Corrupt, []string{"wrong escape"}},

		"tensor twice":             {file(`{`+good+`,`+entry("a", "F32", "1", 4, 8)+`}`, 8), status.Corrupt, []string{"byte 62", `"a"`, "twice"}},
		"tensor twice, escaped":    {file(`{`+good+`,"\u0061":{}}`, 8), status.Corrupt, []string{`"a"`, "twice"}},
		"metadata key, zero byte":  {file(`{"__metadata__":{"k\u0000":"1"}}`, 0), status.Corrupt, []string{`"k\x00"`, "zero byte"}},
		"metadata twice":           {file(`{"__metadata__":{},"__metadata__":{}}`, 0), status.Corrupt, []string{"__metadata__", "twice"}},
		"metadata key twice":       {file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), status.Corrupt, []string{`"k"`, "twice"}},
		"metadata number":          {file(`{"__metadata__":{"k":1}}`, 0), status.Corrupt, []string{`"k"`, "a string"}},
		"metadata no object":       {file(`{"__metadata__":"x"}`, 0), status.Corrupt, []string{"__metadata__", `'{'`}},
		"dtype twice":              {file(`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), status.Corrupt, []string{`"a"`, "dtype is there twice"}},
		"no dtype":                 {file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), status.Corrupt, []string{`"a"`, "no dtype"}},
		"no shape":                 {file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), status.Corrupt, []string{`"a"`, "no shape"}},
		"no data_offsets":          {file(`{"a":{"dtype":"F32","shape":[1]}}`, 4), status.Corrupt, []string{`"a"`, "no data_offsets"}},
		"tensor no object":         {file(`{"a":[]}`, 0), status.Corrupt, []string{`"a"`, `'{'`}},
		"dtype no string":          {file(`{"a":{"dtype":1}}`, 0), status.Corrupt, []string{`"a"`, "its dtype"}},
		"negative dimension":       {file(`{`+entry("a", "F32", "-1", 0, 4)+`}`, 4), status.Corrupt, []string{`"a"`, "its shape", "not negative"}},
		"fraction":                 {file(`{`+entry("a", "F32", "1.5", 0, 4)+`}`, 4), status.Corrupt, []string{`"a"`, "its shape"}},
		"dimension 01":             {file(`{`+entry("a", "F32", "01", 0, 4)+`}`, 4), status.Corrupt, []string{"begins with 0"}},
		"dimension 2^63":           {file(`{`+entry("a", "F32", "9223372036854775808", 0, 4)+`}`, 4), status.Corrupt, []string{`"a"`, "2^63"}},
		"dimension of 40 digits":   {file(`{`+entry("a", "F32", strings.Repeat("9", 40), 0, 4)+`}`, 4), status.Corrupt, []string{"2^63"}},
		"2^32 by 2^32":             {file(`{`+entry("a", "F32", "4294967296,4294967296", 0, 4)+`}`, 4), status.Corrupt, []string{`"a"`, "overflows"}},
		"2^60 of 8 bytes":          {file(`{`+entry("a", "I64", "1152921504606846976", 0, 8)+`}`, 8), status.Corrupt, []string{`"a"`, "overflows"}},
		"shape no array":           {file(`{"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}}`, 4), status.Corrupt, []string{"its shape", `'['`}},
		"size does not agree":      {file(`{`+entry("a", "F32", "2", 0, 4)+`}`, 4), status.Corrupt, []string{`"a"`, "8 bytes", "4 apart"}},
		"one offset":               {file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}}`, 0), status.Corrupt, []string{"1 numbers, not 2"}},
		"three offsets":            {file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}}`, 0), status.Corrupt, []string{"3 numbers, not 2"}},
		"offsets reversed":         {file(`{`+entry("a", "F32", "1", 4, 0)+`}`, 4), status.Corrupt, []string{`"a"`, "reversed", "4 is beyond 0"}},
		"offset of 2^64":           {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616]}}`, 4), status.Corrupt, []string{"data_offsets", "2^63"}},
		"beyond the end":           {file(`{`+entry("a", "F32", "2", 0, 8)+`}`, 4), status.Corrupt, []string{`"a"`, "beyond the 4 bytes"}},
		"overlap":                  {file(`{`+good+`,`+entry("b", "F32", "1", 2, 6)+`}`, 6), status.Corrupt, []string{`"b"`, `overlap tensor "a"`}},
		"hole":                     {file(`{`+good+`,`+entry("b", "F32", "1", 8, 12)+`}`, 12), status.Corrupt, []string{`"b"`, "hole from 4"}},
		"hole at the beginning":    {file(`{`+entry("a", "F32", "1", 4, 8)+`}`, 8), status.Corrupt, []string{`"a"`, "hole from 0"}},
		"data after the last":      {file(`{`+good+`}`, 9), status.Corrupt, []string{"5 bytes", "no tensor"}},
		"nested 10,000 deep":       {file(`{"a":{"x":`+deep(10_000)+`}}`, 0), status.Corrupt, []string{`"a"`, "deeper than 64", `"x"`}},
		"objects nested":           {file(`{"a":{"x":`+strings.Repeat(`{"y":`, 10_000), 0), status.Corrupt, []string{"deeper than 64"}},
		"nested instead of tensor": {file(`{"a":`+deep(10_000)+`}`, 0), status.Corrupt, []string{`"a"`}},
		"unknown word":             {file(`{"a":{"x":nul}}`, 0), status.Corrupt, []string{"a value"}},
		"no value":                 {file(`{"a":{"x":}}`, 0), status.Corrupt, []string{"a value"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.file)
			requireError(t, err, c.code, c.words...)
		})
	}
}

// Every word that JSON takes for a number passes, and no other.
func TestNumbers(t *testing.T) {
	for _, word := range []string{
		"", "-", "0", "-0", "00", "01", "1", "12", "1.", ".5", "1.5", "-1.25", "1e", "1e5", "1E+5", "1e-", "1.e5",
		"1.5e-07", "+1", "1x", "e5", "0.0.0", "Infinity", "NaN", "0x10", "--1",
	} {
		require.Equal(t, json.Valid([]byte(word)), number(word), word)
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	b := file(`{"__metadata__":{"k":"v"},`+entry("a", "F32", "2", 0, 8)+`,`+entry("b", "I8", "3", 8, 11)+`}  `, 11)
	_, err := parse(b)
	require.NoError(t, err)
	for n := range b {
		_, err := parse(b[:n])
		requireError(t, err, status.Corrupt)
	}
}

// No byte of a header, changed to anything, may do more than give an error.
func TestEveryByteChanged(t *testing.T) {
	b := file(`{"__metadata__":{"k":"v\n"},`+entry("a", "F32", "2", 0, 8)+`,`+entry("b", "I8", "3", 8, 11)+`}  `, 11)
	for i := range len(b) - 11 {
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
	names, next := map[string]bool{}, int64(-1)
	for _, e := range table.Entries {
		if names[e.Name] || e.Foreign == nil && (e.Type.Check(true) != nil || e.Type.Bytes() != e.Bytes) || e.Bytes < 0 || next >= 0 && e.Offset != next || e.Offset+e.Bytes > size {
			t.Fatalf("%+v is wrong in %+v of %d bytes", e, table.Entries, size)
		}
		names[e.Name], next = true, e.Offset+e.Bytes
	}
	if next >= 0 && next != size {
		t.Fatalf("%+v leaves something of %d bytes", table.Entries, size)
	}
}

// What this parser takes, encoding/json takes too, with the same content.
func checkAgainstJSON(t *testing.T, b []byte, table *tensorfile.Table) {
	t.Helper()
	n := binary.LittleEndian.Uint64(b)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatalf("encoding/json: %v in %q", err, b[8:8+n])
	}
	var metadata map[string]string
	if m, ok := header[metadataKey]; ok {
		if err := json.Unmarshal(m, &metadata); err != nil {
			t.Fatal(err)
		}
		delete(header, metadataKey)
	}
	if len(header) != len(table.Entries) || len(metadata) != len(table.Metadata) {
		t.Fatalf("%+v, %v of %q", table.Entries, table.Metadata, b)
	}
	for k, v := range metadata {
		if got, ok := table.Metadata[k]; !ok || got.String() != v {
			t.Fatalf("metadata %q is %v, want %q", k, got, v)
		}
	}
	for _, e := range table.Entries {
		var want struct {
			DType   string `json:"dtype"`
			Shape   []int64
			Offsets []int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(header[e.Name], &want); err != nil {
			t.Fatal(err)
		}
		dtype, shape := want.DType, tensor.Shape(want.Shape)
		if e.Foreign != nil {
			dtype, shape = e.Foreign.DType, e.Foreign.Shape
		} else if e.Type.DType != dtypes[dtype] {
			dtype = ""
		} else {
			shape = e.Type.Shape
		}
		if !shape.Equal(want.Shape) || dtype != want.DType || e.Offset != 8+int64(n)+want.Offsets[0] {
			t.Fatalf("%+v, want %+v", e, want)
		}
	}
}

func TestAFileThatShrinks(t *testing.T) {
	b := file(`{`+entry("a", "F32", "1", 0, 4)+`}`, 4)
	for n, where := range map[int]string{3: "at byte 3", 8: "at byte 8", 20: "at byte 20"} {
		_, err := Parse(bytes.NewReader(b[:n]), int64(len(b)))
		requireError(t, err, status.IO, where, "shorter")
	}
}

// Whatever a file says, its header costs little time and less than 100 MB. All
// that was ever allocated is counted, not only what was held at one time.
func TestHostileFilesCostLittle(t *testing.T) {
	tensors := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("," + entry(fmt.Sprintf("%0150d", i), "F32", "1,1,1,0", 0, 0))
		}
		return "{" + b.String()[1:] + "}"
	}
	metadata := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":"%s"`, i, value)
		}
		return `{"__metadata__":{` + b.String()[1:] + `}}`
	}
	const most = tensorfile.MaxHeaderBytes
	for name, c := range map[string]struct {
		file []byte
		code status.Code
	}{
		"tensors":                   {file(tensors(tensorfile.MaxTensors), 0), status.OK},
		"tensors over the limit":    {file(tensors(tensorfile.MaxTensors+1), 0), status.Unsupported},
		"metadata":                  {file(metadata(tensorfile.MaxMetadataKeys, strings.Repeat("x", 600)), 0), status.OK},
		"metadata with escapes":     {file(metadata(tensorfile.MaxMetadataKeys, strings.Repeat(`\n`, 300)), 0), status.OK},
		"metadata over the limit":   {file(metadata(tensorfile.MaxMetadataKeys+1, ""), 0), status.Unsupported},
		"metadata with backslashes": {file(metadata(tensorfile.MaxMetadataKeys, strings.Repeat(`\\`, 300)), 0), status.OK},
		"one string":                {file(`{"`+strings.Repeat("x", most-4)+`"}`, 0), status.Corrupt},
		"one string of escapes":     {file(`{"`+strings.Repeat(`\u00e9`, (most-4)/6)+`"}`, 0), status.Corrupt},
		"brackets":                  {file(`{"a":{"x":`+strings.Repeat(`[`, most-20), 0), status.Corrupt},
		"a long array":              {file(`{"a":{"x":[`+strings.Repeat(`0,`, most/2-20), 0), status.Corrupt},
		"a long shape":              {file(`{"a":{"shape":[`+strings.Repeat(`0,`, most/2-20)+`0]`, 0), status.Corrupt},
		"many unknown fields":       {file(`{"a":{`+strings.Repeat(`"":0,`, most/5-20), 0), status.Corrupt},
		"white space":               {file(`{`+strings.Repeat(` `, most-2)+`}`, 0), status.OK},
		"a header over the limit":   {file(`{`+strings.Repeat(` `, most-1)+`}`, 0), status.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			table, err := parse(c.file)
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			require.Equal(t, c.code, status.Of(err), "%.300v", err)
			checkResult(t, table, err, int64(len(c.file)))
			if err != nil {
				require.Less(t, len(err.Error()), 2000)
			}
			allocated := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
			t.Logf("%.0f MB, %v", allocated, took)
			require.Less(t, allocated, 100.0)
			// Shared machines and the race detector need slack.
			require.Less(t, took, 10*time.Second)
		})
	}
}

func shared(tb testing.TB, parts ...string) string {
	tb.Helper()
	folder := os.Getenv("QTSACCEL_SHARED_DATA")
	if folder == "" {
		tb.Skip("QTSACCEL_SHARED_DATA is not set: no real files to read")
	}
	return filepath.Join(append([]string{folder}, parts...)...)
}

// The format's own test files behave as its own reader says.
func TestTheFormatsOwnFiles(t *testing.T) {
	text, err := os.ReadFile(shared(t, "safetensors-malformed", "expected.json"))
	require.NoError(t, err)
	var files []struct {
		File, Expect string
		Bytes        int
	}
	require.NoError(t, json.Unmarshal(text, &files))
	require.NotEmpty(t, files)
	// What their reader's errors are called here.
	words := map[string]string{
		"MetadataIncompleteBuffer":                        "belong to no tensor",
		"InvalidHeader":                                   `begins with "\xff"`,
		"InvalidHeaderDeserialization":                    "text ends",
		"ValidationOverflow":                              "overflows",
		"InvalidOffset":                                   "data_offsets",
		"reject (format spec: duplicate keys disallowed)": "twice",
	}
	for _, f := range files {
		t.Run(f.File, func(t *testing.T) {
			b, err := os.ReadFile(shared(t, "safetensors-malformed", f.File))
			require.NoError(t, err)
			require.Len(t, b, f.Bytes)
			table, err := parse(b)
			if f.Expect == "OK" {
				require.NoError(t, err)
				checkAgainstJSON(t, b, table)
				return
			}
			word, known := words[f.Expect]
			require.True(t, known, f.Expect)
			requireError(t, err, status.Corrupt, word)
		})
	}
}

func TestRealModels(t *testing.T) {
	for name, tensors := range map[string]int{
		"stories260k/stories260K_f32.safetensors":              47,
		"silero-vad/silero_vad_v6.2_16k_from_onnx.safetensors": 15,
		"lyra-decoder/lyra_decoder_f32.safetensors":            73,
	} {
		b, err := os.ReadFile(shared(t, name))
		require.NoError(t, err)
		table, err := parse(b)
		require.NoError(t, err, name)
		require.Len(t, table.Entries, tensors, name)
		checkResult(t, table, err, int64(len(b)))
		checkAgainstJSON(t, b, table)
		for n := range int(table.Entries[0].Offset) {
			_, err := parse(b[:n])
			requireError(t, err, status.Corrupt)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	f, err := os.ReadFile(shared(b, "stories260k", "stories260K_f32.safetensors"))
	require.NoError(b, err)
	for b.Loop() {
		if _, err := parse(f); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{}`), uint16(0))
	f.Add([]byte(`{"__metadata__":{"k\n":"\u00e9\ud83d\ude00"},`+entry("a", "F32", "2", 0, 8)+`,`+entry("b", "I8", "3", 8, 11)+`}  `), uint16(11))
	f.Add([]byte(`{"a":{"x":[{"y":[1.5e-3]},true,null,"s"],"dtype":"F16","shape":[],"data_offsets":[0,2]}}`), uint16(2))
	f.Add([]byte(`{`+entry("a", "BF16", "2,0", 0, 0)+`}`), uint16(0))
	f.Fuzz(func(t *testing.T, header []byte, data uint16) {
		b := file(string(header), int(data))
		table, err := parse(b)
		checkResult(t, table, err, int64(len(b)))
		if err == nil {
			checkAgainstJSON(t, b, table)
		}
	})
}
