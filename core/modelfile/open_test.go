package modelfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/safetensors"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

func shared(tb testing.TB, parts ...string) string {
	tb.Helper()
	folder := os.Getenv("QTSACCEL_SHARED_DATA")
	if folder == "" {
		tb.Skip("QTSACCEL_SHARED_DATA is not set: no real files to open")
	}
	return filepath.Join(append([]string{folder}, parts...)...)
}

// write puts a file into the test's folder and gives its path.
func write(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "file")
	require.NoError(tb, os.WriteFile(path, content, 0o600))
	return path
}

func safetensorsFile(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// mixed is a file whose tensors are too small, too large and too empty to be read
// in one way, each byte telling where it stands.
func mixed() (file []byte, sizes []int) {
	sizes = []int{1, 7, 0, 300_000, 64, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2*pieceBytes + 5, 0, 2}
	var fields []string
	end := 0
	for i, n := range sizes {
		fields = append(fields, fmt.Sprintf(`"t%d":{"dtype":"I8","shape":[%d],"data_offsets":[%d,%d]}`, i, n, end, end+n))
		end += n
	}
	data := make([]byte, end)
	for i := range data {
		data[i] = pattern(i)
	}
	return safetensorsFile("{"+strings.Join(fields, ",")+"}", data), sizes
}

func pattern(i int) byte { return byte(i ^ i>>8 ^ i>>16*37) }

func TestOpenReadsEveryByteOnceIntoItsPlace(t *testing.T) {
	weightstest.LeavesNothing(t)
	file, sizes := mixed()
	w, err := Open(write(t, file), Options{})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, len(sizes), w.Len())
	at := 0
	for i, n := range sizes {
		data, err := weightstest.TensorOf(t, w, fmt.Sprintf("t%d", i)).Freeze()
		require.NoError(t, err)
		require.Len(t, data, n)
		require.True(t, n == 0 || weightstest.Aligned(data))
		for j, v := range data {
			if v != pattern(at+j) {
				t.Fatalf("tensor %d of %d bytes: byte %d is %d, want %d", i, n, j, v, pattern(at+j))
			}
		}
		at += n
	}
}

// The same model in both formats: the same names, shapes and bytes.
func TestBothFormatsOfAModelAgree(t *testing.T) {
	weightstest.LeavesNothing(t)
	gguf, err := Open(shared(t, "stories260k", "stories260K_f32.gguf"), Options{})
	require.NoError(t, err)
	defer gguf.Release()
	safe, err := Open(shared(t, "stories260k", "stories260K_f32.safetensors"), Options{})
	require.NoError(t, err)
	defer safe.Release()
	require.Equal(t, 47, gguf.Len())
	require.Equal(t, gguf.Len(), safe.Len())
	for i := range gguf.Len() {
		a, err := gguf.At(i)
		require.NoError(t, err)
		b := weightstest.TensorOf(t, safe, a.Name)
		require.Equal(t, a.Type.String(), b.Type.String(), a.Name)
		one, err := a.Freeze()
		require.NoError(t, err)
		other, err := b.Freeze()
		require.NoError(t, err)
		require.Equal(t, string(one), string(other), a.Name)
		require.True(t, weightstest.Aligned(one) && weightstest.Aligned(other))
	}
	require.Equal(t, "f32[64, 172]", weightstest.TensorOf(t, gguf, "blk.0.ffn_down.weight").Type.String(), "row-major")
	for w, want := range map[*weights.Weights]map[string]string{
		gguf: {"general.name": "stories260K", "llama.block_count": "5"},
		safe: {"license": "MIT", "n_head": "8"},
	} {
		for k, v := range want {
			got, err := w.Metadata(k)
			require.NoError(t, err)
			require.Equal(t, v, got.String())
		}
	}
	_, err = gguf.Find("blk.0.ffn_dwn.weight")
	weightstest.RequireError(t, err, status.NotFound, "among 47", `did you mean "blk.0.ffn_down.weight"?`)
}

func TestOpenedTensorsCanBeSetUntilTheyAreUsed(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, err := Open(write(t, safetensorsFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, []byte("abcd"))), Options{})
	require.NoError(t, err)
	defer w.Release()
	require.NoError(t, w.Set("a", []byte("ABCD")))
	require.NoError(t, w.Declare("b", weightstest.F32(1)))
	weightstest.RequireError(t, w.Declare("a", weightstest.F32(1)), status.AlreadyExists)
	data, err := weightstest.TensorOf(t, w, "a").Freeze()
	require.NoError(t, err)
	require.Equal(t, "ABCD", string(data))
	weightstest.RequireError(t, w.Set("a", []byte("abcd")), status.InvalidState)
}

func TestOpenRefuses(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := t.TempDir()
	unreadable := write(t, []byte("GGUF"))
	require.NoError(t, os.Chmod(unreadable, 0))
	loop := filepath.Join(folder, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	cases := map[string]struct {
		code  status.Code
		words []string
	}{
		folder:                              {status.IO, []string{"is a directory"}},
		filepath.Join(folder, "none"):       {status.IO, []string{"no such file"}},
		filepath.Join(folder, "none", "of"): {status.IO, []string{"no such file"}},
		"":                                  {status.IO, nil},
		folder + "/a\x00b":                  {status.IO, nil},
		loop:                                {status.IO, nil},
		os.DevNull:                          {status.IO, []string{"not a regular file"}},
		write(t, nil):                       {status.Corrupt, []string{"byte 0", "empty"}},
		write(t, []byte("GG")):              {status.Corrupt, []string{"neither", "2 bytes", `"GG"`}},
		write(t, []byte("GGUF")):            {status.Corrupt, []string{"version"}},
		write(t, []byte("PK\x03\x04 is a zip archive")): {status.Corrupt, []string{"neither a GGUF nor a safetensors file", `"PK`}},
		write(t, []byte("12345678{")):                   {status.Corrupt, []string{"byte 0", "the header's length"}},
	}
	if os.Getuid() != 0 {
		cases[unreadable] = struct {
			code  status.Code
			words []string
		}{status.IO, []string{"permission"}}
	}
	for path, c := range cases {
		w, err := Open(path, Options{})
		require.Nil(t, w)
		weightstest.RequireError(t, err, c.code, append(c.words, fmt.Sprintf("%q", path))...)
	}
	if os.Getuid() == 0 {
		t.Log("root reads everything: the unreadable file was left out")
	}
}

// Every error message of the parsers reaches the host with the path in front.
func TestOpenRefusesWhatTheFormatsRefuse(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := shared(t, "safetensors-malformed")
	for file, want := range map[string]status.Code{
		"deserialization.safetensors":              status.OK,
		"zero_sized_tensor.safetensors":            status.OK,
		"gen_duplicate_key.safetensors":            status.Corrupt,
		"gen_hole_between_tensors.safetensors":     status.Corrupt,
		"gen_overlapping_tensors.safetensors":      status.Corrupt,
		"gen_reversed_offsets.safetensors":         status.Corrupt,
		"invalid_header_non_utf8.safetensors":      status.Corrupt,
		"invalid_header_not_json.safetensors":      status.Corrupt,
		"metadata_incomplete_buffer_0.safetensors": status.Corrupt,
		"validation_overflow_1.safetensors":        status.Corrupt,
	} {
		path := filepath.Join(folder, file)
		w, err := Open(path, Options{})
		require.Equal(t, want, status.Of(err), "%s: %v", file, err)
		if err == nil {
			w.Release()
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("%q: ", path))
	}
}

// failingAt reads a file whose end was cut off, or whose disk fails, after its
// header was read.
type failingAt struct {
	file []byte
	end  int64
	err  error
}

func (f failingAt) ReadAt(p []byte, offset int64) (int, error) {
	n := copy(p, f.file[min(offset, f.end):f.end])
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

func TestAFileThatShrinksOrFailsWhileItIsRead(t *testing.T) {
	weightstest.LeavesNothing(t)
	file, _ := mixed()
	whole := failingAt{file, int64(len(file)), nil}
	table, err := safetensors.Parse(whole, int64(len(file)))
	require.NoError(t, err)
	broken := errors.New("input/output error")
	for _, e := range table.Entries {
		for _, end := range []int64{e.Offset, e.Offset + e.Bytes/2, e.Offset + e.Bytes - 1} {
			if end < e.Offset {
				continue
			}
			for _, cause := range []error{nil, broken} {
				at := failingAt{file, end, cause}
				if cause == nil {
					at.err = io.EOF
				}
				err := load(at, table.Entries)
				if cause == nil {
					weightstest.RequireError(t, err, status.IO, "shorter", "at byte ")
				} else {
					weightstest.RequireError(t, err, status.IO, "input/output error", "at byte ")
				}
			}
		}
	}
}

// A file may claim more than there is memory: that is found before it is read.
func TestOutOfMemory(t *testing.T) {
	weightstest.LeavesNothing(t)
	err := load(failingAt{nil, 0, io.EOF}, []tensorfile.Entry{
		{Name: "huge", Type: tensor.Type{DType: tensor.I8, Shape: tensor.Shape{1 << 59}}, Bytes: 1 << 59},
	})
	weightstest.RequireError(t, err, status.OutOfMemory, "1 tensors", "576460752303423488 bytes wanted, ", " free")
}

// load loads tensors from whatever is read.
func load(r io.ReaderAt, entries []tensorfile.Entry) error {
	w := weights.New()
	defer w.Release()
	f := &file{path: "file", r: r}
	s := &source{files: []*file{f}}
	s.add(f, &tensorfile.Table{Entries: entries})
	return s.load(w, Options{Placement: weights.Copied})
}

func TestOpenTakesNoMoreThanTheTensors(t *testing.T) {
	weightstest.LeavesNothing(t)
	file, _ := mixed()
	path := write(t, file)
	var before, after runtime.MemStats
	live := mem.Live()
	runtime.ReadMemStats(&before)
	w, err := Open(path, Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	defer w.Release()
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200_000), "of Go's heap: not the data")
	require.Less(t, mem.Live()-live, int64(len(file))+1024)
}

func BenchmarkOpen(b *testing.B) {
	const n = 256 << 20
	header := fmt.Sprintf(`{"a":{"dtype":"I8","shape":[%d],"data_offsets":[0,%d]},"b":{"dtype":"I8","shape":[%d],"data_offsets":[%d,%d]}}`,
		n-5, n-5, 5, n-5, n)
	path := write(b, safetensorsFile(header, make([]byte, n)))
	b.SetBytes(n)
	for b.Loop() {
		w, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		w.Release()
	}
}
