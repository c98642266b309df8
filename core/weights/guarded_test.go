package weights

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// A panic on a thread that reads, converts or fills is the caller's error, not the
// process's end.
func TestAPanicOfAnEncoderIsAnError(t *testing.T) {
	leavesNothing(t)
	path, _ := floatsFile(t, tensor.Shape{1024, 1024}, tensor.Shape{256, 512})
	for name, encode := range map[string]Encoder{
		"a panic": func(tensor.DType, []byte, []float32, []float32) error { panic("on demand") },
		"an index": func(_ tensor.DType, dst []byte, src, _ []float32) error {
			dst[len(src)*9] = 1
			return nil
		},
	} {
		w, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: encode})
		require.Nil(t, w, name)
		requireError(t, err, status.Internal, path, "panic at guarded_test.go:")
	}
	err := eachOf(4, smallWork, func(from, _ int64) error {
		if from == 0 {
			panic("in the first part")
		}
		return nil
	})
	requireError(t, err, status.Internal, "in the first part", "guarded_test.go:")
}

// A matrix that cannot be added leaves no memory in the weights, however often it is
// tried, and its name free.
func TestAMatrixThatIsNotAddedTakesNoMemory(t *testing.T) {
	w := New()
	defer w.Release()
	for _, n := range []int64{32, 1024} { // small pieces share a mapping, large ones have their own
		m := Matrix{Rows: n, Columns: n, Bits: 8, Signed: true, ScaleDType: tensor.F32, Levels: make([]byte, n*n), Scales: infinite(make([]byte, 4*n))}
		for i := range m.Levels {
			m.Levels[i] = 1
		}
		before := mem.Live()
		for range 50 {
			_, _, err := w.AddMatrix("m", &m, tensor.Q8_0)
			requireError(t, err, status.InvalidArgument, `"m"`)
		}
		require.Equal(t, before, mem.Live())
		require.Zero(t, w.Len())
	}
}

// Data that cannot be stored half-way is no data: nothing computes with it.
func TestDataThatCannotBeStoredIsNone(t *testing.T) {
	leavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("a", typed(tensor.F16, 2, 2)))
	require.NoError(t, w.Set("a", make([]byte, 8)))
	err := w.SetArray("a", Array{Type: f32(2, 2), Data: bytesOfFloats([]float32{1, 2, 3, 1e6})})
	requireError(t, err, status.InvalidArgument, "1e+06")
	_, err = tensorOf(t, w, "a").Freeze()
	requireError(t, err, status.InvalidState, "no data")
	require.NoError(t, w.SetArray("a", Array{Type: f32(2, 2), Data: bytesOfFloats([]float32{1, 2, 3, 4})}))
	data, err := tensorOf(t, w, "a").Freeze()
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44}, data)
}
