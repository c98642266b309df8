package modelfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

// emptyCopy is a copy of a tensor on a device that has nothing to free.
type emptyCopy struct{}

func (emptyCopy) Free() {}

func noCopy([]byte) (weights.Copy, error) { return emptyCopy{}, nil }

// dataOf gives a tensor's data, which may still change.
func dataOf(t *testing.T, x *weights.Tensor) (data []byte) {
	t.Helper()
	require.NoError(t, x.Read(func(now []byte) error { data = now; return nil }))
	return data
}

func requirePattern(t *testing.T, data []byte, tensor int) {
	t.Helper()
	for j, v := range data {
		if v != pattern(j+1000*tensor) {
			t.Fatalf("tensor %d: byte %d is %d, want %d", tensor, j, v, pattern(j+1000*tensor))
		}
	}
}

func TestMappedTensorsAreTheFiles(t *testing.T) {
	weightstest.LeavesNothing(t)
	if !mem.CanMapFiles {
		t.Skip("files cannot be mapped here")
	}
	path := ggufFile(t, weightstest.F32(1000, 3), weightstest.Typed(tensor.Q8_0, 5, 32), weightstest.F32(), weightstest.Typed(tensor.F16, 1<<20))
	before := mem.Live()
	w, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.Size(), mem.Live()-before, "the mapping and nothing else")
	for i, s := range w.Stored() {
		require.Equal(t, weights.Mapped, s.Placement, s.Name)
		data, err := weightstest.TensorOf(t, w, s.Name).Freeze()
		require.NoError(t, err)
		require.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(data)))%weights.Alignment)
		requirePattern(t, data, i)
	}
	require.NoError(t, Save(w, path, nil, nil), "over the file that is mapped")
	requirePattern(t, dataOf(t, weightstest.TensorOf(t, w, "3")), 3)
	w.Release()
}

// A tensor that does not begin at a multiple of the alignment is copied.
func TestUnalignedTensorsAreCopied(t *testing.T) {
	weightstest.LeavesNothing(t)
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[16],"data_offsets":[4,68]},"c":{"dtype":"F32","shape":[7],"data_offsets":[68,96]},"d":{"dtype":"F32","shape":[2],"data_offsets":[96,104]}}`
	for (len(header)+8)%32 != 0 {
		header += " "
	}
	data := make([]byte, 104)
	for i := range data {
		data[i] = pattern(i)
	}
	w, err := Open(write(t, safetensorsFile(header, data)), Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer w.Release()
	at := 0
	for i, want := range []weights.Placement{weights.Mapped, weights.Copied, weights.Copied, weights.Mapped} {
		s := w.Stored()[i]
		require.Equal(t, want, s.Placement, s.Name)
		got, err := weightstest.TensorOf(t, w, s.Name).Freeze()
		require.NoError(t, err)
		require.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(got)))%weights.Alignment)
		require.Equal(t, data[at:at+len(got)], got)
		at += len(got)
	}
}

// Setting a mapped tensor gives it memory of its own: the file is not written to.
func TestSettingAMappedTensor(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(2), weightstest.F32(2))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	w, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer w.Release()
	require.NoError(t, w.Set("0", []byte("ABCDEFGH")))
	got, err := weightstest.TensorOf(t, w, "0").Freeze()
	require.NoError(t, err)
	require.Equal(t, "ABCDEFGH", string(got))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, after)
}

func TestAFileCutShortUnderItsMappingIsFoundWhenItIsUsed(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(4000), weightstest.F32(4000))
	w, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer w.Release()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()-1))
	_, err = weightstest.TensorOf(t, w, "1").Freeze()
	weightstest.RequireError(t, err, status.IO, path, `"1"`, "shorter", fmt.Sprintf("%d bytes, %d are needed", info.Size()-1, info.Size()))
	_, err = weightstest.TensorOf(t, w, "0").Freeze()
	require.NoError(t, err, "it lies before the cut")

	var c weights.DeviceCopies
	defer c.Close()
	_, err = c.Get(weightstest.TensorOf(t, w, "1"), nil, 16000, noCopy)
	weightstest.RequireError(t, err, status.IO, "shorter")
	require.NoError(t, w.Set("1", make([]byte, 16000)), "it can be given otherwise")
	_, err = c.Get(weightstest.TensorOf(t, w, "1"), nil, 16000, noCopy)
	require.NoError(t, err)
}

func TestAMappedFileMayBeRemoved(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(4000))
	w, err := Open(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	defer w.Release()
	require.NoError(t, os.Remove(path))
	data, err := weightstest.TensorOf(t, w, "0").Freeze()
	require.NoError(t, err)
	requirePattern(t, data, 0)
}

// sparse is a valid file of one tensor with so many bytes, of which the disk has
// none.
func sparse(t *testing.T, n int64) string {
	t.Helper()
	header := fmt.Sprintf(`{"a":{"dtype":"I8","shape":[%d],"data_offsets":[0,%d]}}`, n, n)
	for (len(header)+8)%32 != 0 {
		header += " "
	}
	path := write(t, safetensorsFile(header, nil))
	if err := os.Truncate(path, int64(len(header)+8)+n); err != nil {
		t.Skipf("the disk has no sparse files of %d bytes: %v", n, err)
	}
	return path
}

func TestAutoMapsLargeFiles(t *testing.T) {
	weightstest.LeavesNothing(t)
	for size, want := range map[int64]weights.Placement{smallFile: weights.Copied, smallFile + 1: weights.Mapped} {
		w, err := Open(sparse(t, size), Options{})
		require.NoError(t, err)
		if w.Stored()[0].Placement != want && !mem.CanMapFiles {
			t.Skip("files cannot be mapped here")
		}
		require.Equal(t, want, w.Stored()[0].Placement, "%d bytes", size)
		w.Release()
	}
}

// In a large file f32 and bf16 tensors are mapped only from the beginning of a cache
// line.
func TestAutoCopiesWhatWouldBeSlower(t *testing.T) {
	weightstest.LeavesNothing(t)
	if !mem.CanMapFiles {
		t.Skip("files cannot be mapped here")
	}
	var types []tensor.Type
	for _, d := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16, tensor.I32} {
		types = append(types, weightstest.Typed(d, 32), weightstest.Typed(tensor.I8, 32), weightstest.Typed(d, 32), weightstest.Typed(tensor.I8, 32)) // one of the two lies at 64
	}
	path := ggufFile(t, append(types, weightstest.Typed(tensor.I8, smallFile))...)
	w, err := Open(path, Options{})
	require.NoError(t, err)
	defer w.Release()
	c, err := Inspect(path)
	require.NoError(t, err)
	copied := 0
	for i, s := range w.Stored() {
		wide := s.From.DType == tensor.F32 || s.From.DType == tensor.BF16
		want := weights.Mapped
		if wide && c.Tensors[i].Offset%64 != 0 {
			want = weights.Copied
			copied++
		}
		require.Equal(t, want, s.Placement, "%v at %d", s.From, c.Tensors[i].Offset)
		data, err := weightstest.TensorOf(t, w, s.Name).Freeze()
		require.NoError(t, err)
		requirePattern(t, data[:min(len(data), 100)], i)
	}
	require.Equal(t, 2, copied)
}

// A valid file larger than memory: copying says so before anything is read,
// mapping works, and so does what is tried next.
func TestAFileLargerThanMemory(t *testing.T) {
	weightstest.LeavesNothing(t)
	const size = 1 << 42
	path := sparse(t, size)
	_, err := Open(path, Options{Placement: weights.Copied})
	weightstest.RequireError(t, err, status.OutOfMemory, path, "4398046511104 bytes wanted, ", " free")
	plan, err := PlanMemory(path, Options{Placement: weights.Copied})
	require.NoError(t, err)
	require.Equal(t, MemoryPlan{Tensors: 1, FileBytes: size, MemoryBytes: size}, plan)
	for _, placement := range []weights.Placement{weights.Mapped, weights.Auto} {
		w, err := Open(path, Options{Placement: placement})
		require.NoError(t, err)
		data, err := weightstest.TensorOf(t, w, "a").Freeze()
		require.NoError(t, err)
		require.Zero(t, data[size-1])
		w.Release()
	}
}

func TestBudget(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(1000), weightstest.F32(1001))
	plan, err := PlanMemory(path, Options{Placement: weights.Copied})
	require.NoError(t, err)
	require.Equal(t, MemoryPlan{Tensors: 2, FileBytes: 8004, MemoryBytes: 4032 + 4032}, plan)
	_, err = Open(path, Options{Placement: weights.Copied, Budget: plan.MemoryBytes - 1})
	weightstest.RequireError(t, err, status.OutOfMemory, "8064 bytes wanted for 2 tensors, the budget is 8063")
	w, err := Open(path, Options{Placement: weights.Copied, Budget: plan.MemoryBytes})
	require.NoError(t, err)
	w.Release()
	w, err = Open(path, Options{Budget: 1})
	require.NoError(t, err, "auto maps what would not fit")
	require.Equal(t, weights.Mapped, w.Stored()[1].Placement)
	w.Release()
	plan, err = PlanMemory(path, Options{Placement: weights.Mapped})
	require.NoError(t, err)
	require.Equal(t, MemoryPlan{Tensors: 2, FileBytes: 8004, MappedBytes: 8004}, plan)
	_, err = PlanMemory(filepath.Join(t.TempDir(), "none"), Options{})
	weightstest.RequireError(t, err, status.IO, "none")
}

func TestProgressReportsAndCancels(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(3<<20), weightstest.F32(5), weightstest.F32(1<<20))
	const total = 16<<20 + 20
	last := int64(-1)
	w, err := Open(path, Options{Placement: weights.Copied, Progress: func(done, all int64) bool {
		require.Equal(t, int64(total), all)
		require.Greater(t, done, last, "it only grows")
		last = done
		return true
	}})
	require.NoError(t, err)
	w.Release()
	require.Equal(t, int64(total), last)

	for _, at := range []int64{0, 1, total} {
		calls := 0
		_, err = Open(path, Options{Placement: weights.Copied, Progress: func(done, _ int64) bool {
			calls++
			return done < at
		}})
		weightstest.RequireError(t, err, status.Cancelled, path, "of 16777236 bytes")
	}
	mapped := []int64{}
	w, err = Open(path, Options{Placement: weights.Mapped, Progress: func(done, _ int64) bool {
		mapped = append(mapped, done)
		return true
	}})
	require.NoError(t, err)
	w.Release()
	require.Equal(t, []int64{total}, mapped)
}

func TestWrongOptions(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := ggufFile(t, weightstest.F32(1))
	for _, c := range []struct {
		options Options
		code    status.Code
		words   string
	}{
		{Options{Placement: 3}, status.InvalidArgument, "placement is 3"},
		{Options{Budget: -1}, status.InvalidArgument, "budget is -1"},
		{Options{Rules: []Rule{{Pattern: "*", DType: tensor.F32}, {DType: tensor.F16}}}, status.InvalidArgument, "rule 1: the pattern is empty"},
		{Options{Rules: []Rule{{Pattern: "*", DType: tensor.I32}}}, status.InvalidArgument, "i32"},
		{Options{Rules: []Rule{{Pattern: "*", DType: 99}}}, status.InvalidArgument, "invalid"},
		{Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}}, status.Unsupported, "q4_K: it takes ggml"},
	} {
		_, err := Open(path, c.options)
		weightstest.RequireError(t, err, c.code, c.words)
		_, err = PlanMemory(path, c.options)
		weightstest.RequireError(t, err, c.code, c.words)
	}
}
