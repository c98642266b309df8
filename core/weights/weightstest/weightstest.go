// Package weightstest has what the tests of weights, their files and split matrices
// share.
package weightstest

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// LeavesNothing fails the test if memory is left mapped at its end.
func LeavesNothing(t *testing.T) {
	before := mem.Live()
	t.Cleanup(func() { require.Equal(t, before, mem.Live(), "bytes live at the test's end") })
}

// RequireError fails the test unless err has the code and all the words.
func RequireError(t *testing.T, err error, code status.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, status.Of(err), "%v", err)
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

// F32 is a type of f32.
func F32(shape ...int64) tensor.Type { return Typed(tensor.F32, shape...) }

// Typed is a type.
func Typed(d tensor.DType, shape ...int64) tensor.Type { return tensor.Type{DType: d, Shape: shape} }

// Floats are the bytes of f32 numbers.
func Floats(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// Aligned says whether data lies as what is copied does.
func Aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%mem.Alignment == 0
}

// Set is weights, of which this package knows no more.
type Set[T any] interface {
	Find(name string) (int, error)
	At(i int) (T, error)
}

// TensorOf gives a tensor by name.
func TensorOf[T any](t *testing.T, w Set[T], name string) T {
	t.Helper()
	i, err := w.Find(name)
	require.NoError(t, err)
	found, err := w.At(i)
	require.NoError(t, err)
	return found
}
