package modelfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

func TestSavedAsItWasRead(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := shared(t, "stories260k", "stories260K_f32.gguf")
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, placement := range []weights.Placement{weights.Copied, weights.Mapped} {
		w, err := Open(path, Options{Placement: placement})
		require.NoError(t, err)
		saved := filepath.Join(t.TempDir(), "größer, mit Leerzeichen.gguf")
		require.NoError(t, Save(w, saved, nil, nil))
		w.Release()
		got, err := os.ReadFile(saved)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%v: %d bytes, want %d", placement, len(got), len(want))
	}
}

// From safetensors: metadata becomes text, and all can be read again.
func TestSavedFromAnotherFormat(t *testing.T) {
	weightstest.LeavesNothing(t)
	safe, err := Open(shared(t, "stories260k", "stories260K_f32.safetensors"), Options{})
	require.NoError(t, err)
	defer safe.Release()
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, Save(safe, path, nil, nil))
	back, err := Open(path, Options{})
	require.NoError(t, err)
	defer back.Release()
	requireSameTensors(t, safe, back)
	for _, key := range safe.MetadataKeys() {
		want, err := safe.Metadata(key)
		require.NoError(t, err)
		got, err := back.Metadata(key)
		require.NoError(t, err)
		require.Equal(t, want, got, key)
	}
}

func requireSameTensors(t *testing.T, want, got *weights.Weights) {
	t.Helper()
	require.Equal(t, want.Len(), got.Len())
	for i := range want.Len() {
		a, err := want.At(i)
		require.NoError(t, err)
		b := weightstest.TensorOf(t, got, a.Name)
		require.Equal(t, a.Type.String(), b.Type.String(), a.Name)
		require.True(t, bytes.Equal(dataOf(t, a), dataOf(t, b)), a.Name)
	}
}

func TestSavedFromMemory(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("a", weightstest.F32(2, 3)))
	require.NoError(t, w.Declare("scalar", weightstest.F32()))
	require.NoError(t, w.Declare("q", tensor.Type{DType: tensor.Q8_0, Shape: tensor.Shape{3, 64}}))
	path := filepath.Join(t.TempDir(), "model.gguf")
	weightstest.RequireError(t, Save(w, path, nil, nil), status.InvalidState, `"a"`, "no data")
	for name, size := range map[string]int{"a": 24, "scalar": 4, "q": 204} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i*7 + len(name))
		}
		require.NoError(t, w.Set(name, data))
	}
	var steps int
	require.NoError(t, Save(w, path, nil, func(done, total int64) bool {
		steps++
		return done <= total
	}))
	require.Positive(t, steps)
	back, err := Open(path, Options{})
	require.NoError(t, err)
	defer back.Release()
	requireSameTensors(t, w, back)
	version, err := back.Metadata("general.quantization_version")
	require.NoError(t, err)
	require.Equal(t, "2", version.String())
	require.NoError(t, w.Set("a", make([]byte, 24)), "saving freezes nothing")

	want := map[string]string{
		"general.architecture": "test", "a.count": "4294967295", "a.negative": "-7", "a.large": "-4294967296",
		"a.real": "0.5", "a.list": "[1,-2,3]", "a.long": "[4294967296]", "a.reals": "[0.25,-1]", "general.alignment": "64",
	}
	more := []metadata.Pair{
		{Key: "general.architecture", Value: metadata.Text("before")},
		{Key: "a.count", Value: metadata.Int(1<<32 - 1)},
		{Key: "a.negative", Value: metadata.Int(-7)},
		{Key: "a.large", Value: metadata.Int(-1 << 32)},
		{Key: "a.real", Value: metadata.Float(0.5)},
		{Key: "a.list", Value: metadata.Ints([]int64{1, -2, 3})},
		{Key: "a.long", Value: metadata.Ints([]int64{1 << 32})},
		{Key: "a.reals", Value: metadata.Floats([]float64{0.25, -1})},
		{Key: "general.alignment", Value: metadata.Int(64)},
		{Key: "general.architecture", Value: metadata.Text("test")}, // a second time
	}
	require.NoError(t, Save(w, path, more, nil), "over an older file")
	described, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer described.Release()
	requireSameTensors(t, w, described)
	for key, v := range want {
		got, err := described.Metadata(key)
		require.NoError(t, err)
		require.Equal(t, v, got.String(), key)
	}
	require.True(t, weightstest.Aligned(dataOf(t, weightstest.TensorOf(t, described, "q"))), "the file's alignment is 64 now")
	changed := filepath.Join(t.TempDir(), "changed.gguf")
	require.NoError(t, Save(described, changed, []metadata.Pair{{Key: "a.count", Value: metadata.Int(3)}}, nil))
	again, err := Open(changed, Options{})
	require.NoError(t, err)
	defer again.Release()
	count, err := again.Metadata("a.count")
	require.NoError(t, err)
	require.Equal(t, "3", count.String())
	require.Equal(t, described.MetadataKeys(), again.MetadataKeys(), "in its place")
	for words, v := range map[string]metadata.Pair{
		"general.alignment":                        {Key: "general.alignment", Value: metadata.Int(5)},
		"2147483648, at most 1048576":              {Key: "general.alignment", Value: metadata.Int(1 << 31)},
		`metadata key "" is empty`:                 {Value: metadata.Int(1)},
		`metadata key "a\xff" is empty, not UTF-8`: {Key: "a\xff", Value: metadata.Int(1)},
	} {
		require.ErrorContains(t, Save(w, path, []metadata.Pair{v}, nil), words)
	}
	require.NoError(t, Save(back, path, nil, nil), "over the file itself")
}

func TestWhatCannotBeSaved(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("a", weightstest.F32(1<<20)))
	require.NoError(t, w.Set("a", make([]byte, 4<<20)))
	folder := t.TempDir()
	path := filepath.Join(folder, "model.gguf")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))

	weightstest.RequireError(t, Save(w, path, nil, func(int64, int64) bool { return false }), status.Cancelled, "cancelled after ", path)
	weightstest.RequireError(t, Save(w, folder, nil, nil), status.InvalidArgument, "is a directory")
	weightstest.RequireError(t, Save(w, os.DevNull, nil, nil), status.InvalidArgument, "not a regular file")
	weightstest.RequireError(t, Save(w, filepath.Join(folder, "none", "x"), nil, nil), status.IO, "no such file")
	if _, err := os.Stat("/dev/full"); err == nil {
		tensors, layout, err := layoutOf(w, nil)
		require.NoError(t, err)
		device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		full := saver{f: device, layout: layout}
		weightstest.RequireError(t, full.write(tensors), status.IO, "no space left", "after 0 of ")
		require.NoError(t, device.Close())
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left behind")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before", string(content))

	long := weights.New()
	defer long.Release()
	require.NoError(t, long.Declare(string(bytes.Repeat([]byte("x"), 64)), weightstest.F32(1)))
	weightstest.RequireError(t, Save(long, path, nil, nil), status.Unsupported, "64 bytes", "63")
}

// A file that is replaced keeps its place behind links, and who may read it.
// A name may have as many bytes as the file system takes, of characters of several
// bytes too; one more is an error before anything is written.
func TestSavingUnderALongName(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := weights.New()
	defer w.Release()
	require.NoError(t, w.Declare("a", weightstest.F32(4)))
	require.NoError(t, w.Set("a", []byte("0123456789abcdef")))
	folder := t.TempDir()
	for _, name := range []string{strings.Repeat("n", 255), strings.Repeat("n", 246), "x" + strings.Repeat("ü", 127), strings.Repeat("ü", 127)} {
		path := filepath.Join(folder, name)
		for range 2 { // the second takes the place of the first
			require.NoError(t, Save(w, path, nil, nil), name)
		}
		back, err := Open(path, Options{})
		require.NoError(t, err)
		back.Release()
	}
	reported := false
	err := Save(w, filepath.Join(folder, strings.Repeat("n", 256)), nil, func(int64, int64) bool {
		reported = true
		return true
	})
	weightstest.RequireError(t, err, status.IO, "name too long")
	require.False(t, reported)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 4)
}

func TestSavingThroughALink(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, err := Open(ggufFile(t, weightstest.F32(3)), Options{})
	require.NoError(t, err)
	defer w.Release()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(file, []byte("before"), 0o600))
	if err := os.Symlink("file", link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	require.NoError(t, Save(w, link, nil, nil))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	back, err := Open(file, Options{})
	require.NoError(t, err)
	requireSameTensors(t, w, back)
	back.Release()
}

// longEnough is a file whose shortening nobody sees.
type longEnough struct{}

func (longEnough) Read([]byte, int64) error { panic("what is mapped is not read") }
func (longEnough) CheckEnd(int64) error     { return nil }

func TestSavingAMappedFileThatWasCutShort(t *testing.T) {
	weightstest.LeavesNothing(t)
	if !mem.CanMapFiles {
		t.Skip("files cannot be mapped here")
	}
	path := ggufFile(t, weightstest.F32(1<<20))
	w, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer w.Release()
	whole := weightstest.TensorOf(t, w, "0")
	data := dataOf(t, whole)
	require.NoError(t, os.Truncate(path, 1000))
	out := filepath.Join(t.TempDir(), "out")
	weightstest.RequireError(t, Save(w, out, nil, nil), status.IO, "shorter")

	unchecked := weights.New()
	defer unchecked.Release()
	// Beyond what the check sees: the write itself must not end the process.
	require.NoError(t, unchecked.AddOfFile(weights.FileTensor{Name: "0", Type: whole.Type, Data: data, File: longEnough{}}))
	weightstest.RequireError(t, Save(unchecked, out, nil, nil), status.IO, "bad address")
}

// ggufFile writes a file with tensors named by their numbers, whose bytes tell
// where they stand.
func ggufFile(t *testing.T, types ...tensor.Type) string {
	t.Helper()
	w := weights.New()
	defer w.Release()
	for i, typ := range types {
		name := string(rune('0' + i))
		require.NoError(t, w.Declare(name, typ))
		data := make([]byte, typ.Bytes())
		for j := range data {
			data[j] = pattern(j + 1000*i)
		}
		require.NoError(t, w.Set(name, data))
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, Save(w, path, nil, nil))
	return path
}
