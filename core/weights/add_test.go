package weights

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

// floatBytes are values as memory has them.
func floatBytes(values ...float32) []byte {
	b := make([]byte, 4*len(values))
	for i, v := range values {
		binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

func TestAdd(t *testing.T) {
	before := mem.Live()
	w := New()
	f32 := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{2, 3}}
	data := floatBytes(1, 4, 2, 5, 3, 6)
	released := 0
	// Transposed, and so copied.
	require.NoError(t, w.Add("turned", Array{Type: f32, Strides: []int64{4, 8}, Data: data, Release: func() { released++ }}))
	require.Equal(t, 1, released)
	added, err := w.At(0)
	require.NoError(t, err)
	content, err := added.Freeze()
	require.NoError(t, err)
	require.Equal(t, floatBytes(1, 2, 3, 4, 5, 6), content)

	// Aligned and dense, and so lent.
	raw := make([]byte, 64+Alignment)
	shift := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % Alignment
	lent := raw[shift : shift+24]
	require.NoError(t, w.Add("lent", Array{Type: f32, Data: lent, Release: func() { released++ }}))
	require.Equal(t, 1, released)
	added, err = w.At(1)
	require.NoError(t, err)
	content, err = added.Freeze()
	require.NoError(t, err)
	require.Same(t, unsafe.SliceData(lent), unsafe.SliceData(content))

	// What fails adds and releases nothing.
	for name, c := range map[string]struct {
		array Array
		code  status.Code
	}{
		"turned": {Array{Type: f32, Data: data, Release: func() { released++ }}, status.AlreadyExists},
		"lent":   {Array{Type: f32, Data: lent, Release: func() { released++ }}, status.AlreadyExists},
		"short":  {Array{Type: f32, Data: data[:20], Release: func() { released++ }}, status.ShapeMismatch},
		"":       {Array{Type: f32, Data: data, Release: func() { released++ }}, status.InvalidArgument},
	} {
		err := w.Add(name, c.array)
		require.Equal(t, c.code, status.Of(err), "%q: %v", name, err)
	}
	require.Equal(t, 1, released)
	require.Equal(t, 2, w.Len())
	w.Release()
	require.Equal(t, 2, released)
	require.Equal(t, before, mem.Live())
}
