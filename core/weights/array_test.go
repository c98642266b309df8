package weights

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights/weightstest"
)

func i32Bytes(v ...int32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func TestStridedArrays(t *testing.T) {
	weightstest.LeavesNothing(t)
	// 0 to 23 as [2, 3, 4], row-major.
	base := make([]int32, 24)
	for i := range base {
		base[i] = int32(i)
	}
	for name, c := range map[string]struct {
		shape   tensor.Shape
		strides []int64
		origin  int64
		want    []int32
	}{
		"dense":              {tensor.Shape{2, 3, 4}, nil, 0, base},
		"dense, by strides":  {tensor.Shape{2, 3, 4}, []int64{48, 16, 4}, 0, base},
		"transposed":         {tensor.Shape{4, 3}, []int64{4, 16}, 0, []int32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		"axes swapped":       {tensor.Shape{3, 2, 4}, []int64{16, 48, 4}, 0, []int32{0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23}},
		"every second":       {tensor.Shape{6}, []int64{8}, 4, []int32{1, 3, 5, 7, 9, 11}},
		"backwards":          {tensor.Shape{2, 4}, []int64{-16, -4}, 4 * 7, []int32{7, 6, 5, 4, 3, 2, 1, 0}},
		"one of each column": {tensor.Shape{3, 1}, []int64{16, 999}, 4, []int32{1, 5, 9}},
		"repeated":           {tensor.Shape{2, 3}, []int64{0, 4}, 8, []int32{2, 3, 4, 2, 3, 4}},
		"scalar":             {tensor.Shape{}, []int64{}, 92, []int32{23}},
	} {
		w := New()
		typ := tensor.Type{DType: tensor.I32, Shape: c.shape}
		require.NoError(t, w.Declare("a", typ))
		require.NoError(t, w.SetArray("a", Array{Type: typ, Strides: c.strides, Data: i32Bytes(base...), Origin: c.origin}), name)
		got, err := weightstest.TensorOf(t, w, "a").Freeze()
		require.NoError(t, err)
		require.Equal(t, i32Bytes(c.want...), got, name)
		w.Release()
	}
}

// A transposed f32 array becomes a q8_0 tensor as its dense copy does, on several
// threads.
func TestArraysAreConverted(t *testing.T) {
	weightstest.LeavesNothing(t)
	const rows, columns = 700, 1024
	dense, transposed := make([]float32, rows*columns), make([]float32, rows*columns)
	for r := range rows {
		for c := range columns {
			v := float32(math.Sin(float64(r*columns+c))) * float32(r+1)
			dense[r*columns+c], transposed[c*rows+r] = v, v
		}
	}
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q5_1, tensor.F16, tensor.BF16, tensor.F32} {
		w := New()
		require.NoError(t, w.Declare("a", weightstest.Typed(d, rows, columns)))
		require.NoError(t, w.SetArray("a", Array{Type: weightstest.F32(rows, columns), Strides: []int64{4, 4 * rows}, Data: weightstest.Floats(transposed)}))
		got, err := weightstest.TensorOf(t, w, "a").Freeze()
		require.NoError(t, err)
		want := make([]byte, len(got))
		require.NoError(t, quant.Encode(d, want, dense))
		require.Equal(t, want, got, "%v", d)
		w.Release()
	}
}

func TestWrongArrays(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("a", weightstest.Typed(tensor.Q8_0, 2, 32)))
	require.NoError(t, w.Declare("i", weightstest.Typed(tensor.I8, 2)))
	require.NoError(t, w.Declare("k", weightstest.Typed(tensor.Q4_K, 1, 256)))
	ok := make([]byte, 256)
	nan := weightstest.Floats([]float32{float32(math.NaN())})
	for _, c := range []struct {
		name  string
		a     Array
		code  status.Code
		words []string
	}{
		{"none", Array{}, status.NotFound, []string{"none"}},
		{"a", Array{Type: weightstest.F32(2, 33), Data: ok}, status.ShapeMismatch, []string{`"a", q8_0[2, 32]`, "f32[2, 33]"}},
		{"a", Array{Type: weightstest.F32(2, 32), Data: ok[:255]}, status.ShapeMismatch, []string{"from byte 0 to 256 of 255"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{4, 8}, Data: ok[:255]}, status.ShapeMismatch, []string{"from byte 0 to 256 of 255"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{-4, 4}, Data: ok}, status.ShapeMismatch, []string{"from byte -4"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{4}, Data: ok}, status.InvalidArgument, []string{"1 strides for f32[2, 32]"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{math.MaxInt64, 4}, Data: ok}, status.InvalidArgument, []string{"larger than any memory"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{math.MinInt64, 4}, Data: ok}, status.InvalidArgument, []string{"larger than any memory"}},
		{"a", Array{Type: weightstest.Typed(tensor.Q8_0, 2, 32), Strides: []int64{34, 1}, Data: ok}, status.InvalidArgument, []string{"dense"}},
		{"a", Array{Type: weightstest.Typed(tensor.I32, 2, 32), Data: ok}, status.Unsupported, []string{"i32 cannot be converted to q8_0"}},
		{"i", Array{Type: weightstest.F32(2), Data: ok}, status.Unsupported, []string{"f32 cannot be converted to i8"}},
		{"k", Array{Type: weightstest.Typed(tensor.F16, 1, 256), Data: ok[:0]}, status.ShapeMismatch, []string{"of 0"}},
		{"k", Array{Type: weightstest.Typed(tensor.F16, 1, 256), Data: make([]byte, 512)}, status.Unsupported, []string{"q4_K"}},
		{"a", Array{Type: weightstest.F32(2, 32), Strides: []int64{0, 0}, Data: nan}, status.InvalidArgument, []string{"row 0", "element 0 is NaN"}},
	} {
		weightstest.RequireError(t, w.SetArray(c.name, c.a), c.code, c.words...)
	}
	require.NoError(t, w.SetArray("a", Array{Type: weightstest.F32(2, 32), Data: ok}), "the next right call")
	_, err := weightstest.TensorOf(t, w, "a").Freeze()
	require.NoError(t, err)
	weightstest.RequireError(t, w.SetArray("a", Array{Type: weightstest.F32(2, 32), Data: ok}), status.InvalidState, "in use by a plan")
}

func TestBorrowedArrays(t *testing.T) {
	weightstest.LeavesNothing(t)
	memory, err := mem.Alloc(1024)
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Free(memory)) }()
	for name, c := range map[string]struct {
		a        Array
		borrowed bool
	}{
		"borrowed":          {Array{Type: weightstest.F32(16), Data: memory[64:128]}, true},
		"from 32 on":        {Array{Type: weightstest.F32(16), Data: memory, Origin: 32}, true},
		"not aligned":       {Array{Type: weightstest.F32(16), Data: memory[4:]}, false},
		"strided":           {Array{Type: weightstest.F32(16), Strides: []int64{8}, Data: memory}, false},
		"of another type":   {Array{Type: weightstest.Typed(tensor.F16, 16), Data: memory}, false},
		"without a release": {Array{Type: weightstest.F32(16), Data: memory}, false},
	} {
		w := New()
		require.NoError(t, w.Declare("a", weightstest.F32(16)))
		released := 0
		if name != "without a release" {
			c.a.Release = func() { released++ }
		}
		memory[64] = 1
		require.NoError(t, w.SetArray("a", c.a), name)
		a := weightstest.TensorOf(t, w, "a")
		got, err := a.Freeze()
		require.NoError(t, err)
		if c.borrowed {
			require.Zero(t, released, name)
			require.Same(t, &c.a.Data[c.a.Origin], &got[0], name)
			a.Retain()
			w.Release()
			require.Zero(t, released, "%s: in use", name)
			a.Release()
		} else {
			w.Release()
		}
		if c.a.Release != nil {
			require.Equal(t, 1, released, name)
		}
	}
}

// What is borrowed from a host is never written to: later data goes elsewhere.
func TestSettingABorrowedTensor(t *testing.T) {
	weightstest.LeavesNothing(t)
	memory, err := mem.Alloc(64)
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Free(memory)) }()
	w := New()
	require.NoError(t, w.Declare("a", weightstest.F32(16)))
	released := 0
	borrowed := Array{Type: weightstest.F32(16), Data: memory, Release: func() { released++ }}
	weightstest.RequireError(t, w.SetArray("a", Array{Type: weightstest.F32(17), Data: memory, Release: borrowed.Release}), status.ShapeMismatch)
	require.NoError(t, w.SetArray("a", borrowed))
	require.NoError(t, w.Set("a", bytes.Repeat([]byte{7}, 64)))
	require.Equal(t, make([]byte, 64), memory)
	w.Release()
	require.Equal(t, 1, released)
}

// Values that the tensor's type cannot hold are an error.
func TestAnArrayThatTheTypeCannotHold(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.F16, tensor.IQ4NL} {
		require.NoError(t, w.Declare(d.String(), weightstest.Typed(d, 2, 32)))
		v := make([]float32, 64)
		for i := range v {
			v[i] = float32(i%5) + 1
			if i >= 32 {
				v[i] *= 1e-10
			}
		}
		err := w.SetArray(d.String(), Array{Type: weightstest.F32(2, 32), Data: weightstest.Floats(v)})
		weightstest.RequireError(t, err, status.InvalidArgument, `"`+d.String()+`"`, "row 1", "too small for "+d.String())
	}
}

// Data that cannot be stored half-way is no data: nothing computes with it.
func TestDataThatCannotBeStoredIsNone(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("a", weightstest.Typed(tensor.F16, 2, 2)))
	require.NoError(t, w.Set("a", make([]byte, 8)))
	err := w.SetArray("a", Array{Type: weightstest.F32(2, 2), Data: weightstest.Floats([]float32{1, 2, 3, 1e6})})
	weightstest.RequireError(t, err, status.InvalidArgument, "1e+06")
	_, err = weightstest.TensorOf(t, w, "a").Freeze()
	weightstest.RequireError(t, err, status.InvalidState, "no data")
	require.NoError(t, w.SetArray("a", Array{Type: weightstest.F32(2, 2), Data: weightstest.Floats([]float32{1, 2, 3, 4})}))
	data, err := weightstest.TensorOf(t, w, "a").Freeze()
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44}, data)
}
