package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// scaled is a matrix of which each row has a scale of its own, with its values.
func scaled(m Matrix, scales ...float32) (Matrix, []float64) {
	m.Rows, m.ScaleDType = int64(len(scales)), tensor.F32
	m.Levels = make([]byte, m.Rows*m.Columns*int64(m.Bits)/8)
	blocks := m.Columns / m.block()
	values := make([]float64, m.Rows*m.Columns)
	for i := range values {
		row, column := i/int(m.Columns), i%int(m.Columns)
		level := (i*7)%15 - 7
		if m.Bits == 8 {
			m.Levels[i] = byte(int8(level * 16))
			level *= 16
		} else {
			m.Levels[i/2] |= byte(level+8) << (4 * (i % 2))
		}
		values[row*int(m.Columns)+column] = float64(scales[row]) * float64(level)
	}
	for _, s := range scales {
		for range blocks {
			m.Scales = binary.LittleEndian.AppendUint32(m.Scales, math.Float32bits(s))
		}
	}
	return m, values
}

var (
	int8Matrix = Matrix{Columns: 64, Bits: 8, Signed: true, Block: 32}
	int4Matrix = Matrix{Columns: 64, Bits: 4, Zero: 8, Block: 64}
	oddMatrix  = Matrix{Columns: 50, Bits: 8, Signed: true, Block: 25}
)

// Whatever the scales, every value of a matrix is within 2^-11 of itself, in a type
// that the report names.
func TestSmallAndLargeScalesKeepTheirValues(t *testing.T) {
	leavesNothing(t)
	for name, c := range map[string]struct {
		m      Matrix
		scales []float32
		want   tensor.DType
	}{
		"int8, as always":         {int8Matrix, []float32{1e-2, 1e-4}, tensor.Q8_0},
		"int8, small":             {int8Matrix, []float32{1e-5, 2e-5}, tensor.F16},
		"int8, one row is small":  {int8Matrix, []float32{1e-2, 1e-6}, tensor.F32},
		"int8, vanishing":         {int8Matrix, []float32{2e-8, 1e-30}, tensor.F32},
		"int8, large":             {int8Matrix, []float32{7e4, 1}, tensor.F32},
		"int8, too fine for f16":  {int8Matrix, []float32{6.2e-5, 100.5 / (1 << 24)}, tensor.F16},
		"int8, denormal, exact":   {int8Matrix, []float32{0x1p-24, 0x5p-24}, tensor.Q8_0},
		"4 bits, as always":       {int4Matrix, []float32{1e-2, 1e-4}, tensor.Q4_0},
		"4 bits, small":           {int4Matrix, []float32{1e-6, 1e-2}, tensor.F32},
		"4 bits, large":           {int4Matrix, []float32{7e4}, tensor.F32},
		"no blocks of 32":         {oddMatrix, []float32{1e-2, 1e-4}, tensor.F16},
		"no blocks of 32, small":  {oddMatrix, []float32{1e-2, 1e-8}, tensor.F32},
		"no blocks of 32, large":  {oddMatrix, []float32{1e3}, tensor.F32},
		"anew as q8_0 would lose": {Matrix{Columns: 64, Bits: 8, Signed: true, Block: 16}, []float32{1e-9}, tensor.F32},
	} {
		m, values := scaled(c.m, c.scales...)
		w := New()
		typ, loss, err := w.AddMatrix("m", &m, 0)
		require.NoError(t, err, name)
		require.Equal(t, c.want, typ.DType, name)
		stored, err := m.Stored()
		require.NoError(t, err, name)
		require.Equal(t, c.want, stored, name)
		data, err := tensorOf(t, w, "m").Freeze()
		require.NoError(t, err)
		got := make([]float32, len(values))
		require.NoError(t, quant.Decode(typ.DType, got, data))
		for i, v := range got {
			require.LessOrEqual(t, math.Abs(float64(v)-values[i]), math.Abs(values[i])/2048, "%s: element %d is %v, want %v", name, i, v, values[i])
		}
		require.LessOrEqual(t, loss.MaxRelative, 1.0/2048, name)
		w.Release()
	}
	// Rows of zeros have any scale.
	m, _ := scaled(int8Matrix, 1e-2, 1e-12)
	clear(m.Levels[64:])
	d, err := m.Stored()
	require.NoError(t, err)
	require.Equal(t, tensor.Q8_0, d)
}

// A type that is named and cannot hold a scale is an error with the scale, its row and
// its block; nothing is stored as 0.
func TestANamedTypeThatCannotHoldAScale(t *testing.T) {
	leavesNothing(t)
	w := New()
	defer w.Release()
	for _, scale := range []float32{1e-5, 1e-6, 2e-8, 7e4} {
		m, _ := scaled(int8Matrix, 1e-2, scale)
		binary.LittleEndian.PutUint32(m.Scales[8:], math.Float32bits(0.5)) // of block 0
		how := "too small for"
		if scale > 1 {
			how = "too large for"
		}
		for _, d := range []tensor.DType{tensor.Q8_0, tensor.F16} {
			if d == tensor.F16 && scale < 1 {
				continue // beside the 0.5 of its row
			}
			_, _, err := w.AddMatrix("m", &m, d)
			words := []string{`"m"`, "row 1", how + " " + d.String()}
			if d == tensor.Q8_0 {
				words = append(words, "block 1", fmt.Sprint("scale is ", scale))
			}
			requireError(t, err, status.InvalidArgument, words...)
		}
		require.NoError(t, w.Declare(fmt.Sprint(scale), typed(tensor.Q8_0, 2, 64)))
		_, err := w.SetMatrix(fmt.Sprint(scale), &m)
		requireError(t, err, status.InvalidArgument, "row 1", "block 1")
		_, err = tensorOf(t, w, fmt.Sprint(scale)).Freeze()
		requireError(t, err, status.InvalidState, "no data")
	}
	tiny, _ := scaled(int8Matrix, 1e-2, 1e-9)
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0, tensor.IQ4NL, tensor.Q5_1} { // quantised anew
		_, _, err := w.AddMatrix("m", &tiny, d)
		requireError(t, err, status.InvalidArgument, "row 1", "block 0", "scale is 1e-09", "too small for "+d.String())
	}
}

func constantFile(t *testing.T, value float32, shape ...int64) string {
	t.Helper()
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("w", f32(shape...)))
	v := make([]float32, f32(shape...).Shape.Elements())
	for i := range v {
		v[i] = value
	}
	require.NoError(t, w.Set("w", bytesOfFloats(v)))
	path := t.TempDir() + "/w.gguf"
	require.NoError(t, w.Save(path, nil, nil))
	return path
}

// A tensor whose values a rule's type cannot hold stays what it is, and the report says
// why; what is too large is an error.
func TestARuleWhoseTypeCannotHoldTheValues(t *testing.T) {
	leavesNothing(t)
	zeros := func(_ tensor.DType, dst []byte, _, _ []float32) error { clear(dst); return nil }
	infinite := func(_ tensor.DType, dst []byte, _, _ []float32) error {
		for i := range dst {
			dst[i] = 0x7c
		}
		return nil
	}
	for _, shape := range [][]int64{{4, 256}, {3, 1 << 18}, {4096, 256}} { // pieces of several rows, and rows of several pieces
		path := constantFile(t, 1e-10, shape...)
		for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q5_1, tensor.IQ4NL, tensor.F16, tensor.Q4_K} {
			o := Options{Placement: Copied, Rules: []Rule{{Pattern: "*", DType: d}}, Encode: zeros}
			if shape[0] > 4 && d != tensor.Q8_0 {
				continue // one is enough of so much
			}
			w, err := OpenWith(path, o)
			require.NoError(t, err)
			if d == tensor.Q5_1 { // whose blocks keep equal values as their least, if f16 has it
				require.Equal(t, tensor.F32, w.Stored()[0].As)
			}
			x := tensorOf(t, w, "w")
			require.Equal(t, f32(shape...), x.Type, "%v", d)
			data, err := x.Freeze()
			require.NoError(t, err)
			require.Equal(t, float32(1e-10), math.Float32frombits(binary.LittleEndian.Uint32(data[len(data)-4:])))
			require.Equal(t, float32(1e-10), math.Float32frombits(binary.LittleEndian.Uint32(data)))
			r, err := w.Report()
			require.NoError(t, err)
			require.Equal(t, "f32", r.Tensors[0].As)
			require.Contains(t, r.Tensors[0].Note, "too small for "+d.String())
			require.Equal(t, x.Type.Bytes(), r.CopiedBytes)
			w.Release()
		}
	}
	path := constantFile(t, 1e-10, 4, 256)
	_, err := OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q8_0}}, Budget: 4 * 256 * 2})
	requireError(t, err, status.OutOfMemory, "the budget is 2048")
	_, err = OpenWith(path, Options{Rules: []Rule{{Pattern: "*", DType: tensor.Q4_K}}, Encode: infinite})
	requireError(t, err, status.InvalidArgument, `"w"`, "too large for q4_K")
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.F16} {
		_, err = OpenWith(constantFile(t, 1e9, 4, 256), Options{Rules: []Rule{{Pattern: "*", DType: d}}})
		requireError(t, err, status.InvalidArgument, `"w"`, "too large for "+d.String())
	}
	_, err = OpenWith(constantFile(t, math.MaxFloat32, 4, 256), Options{Rules: []Rule{{Pattern: "*", DType: tensor.BF16}}})
	requireError(t, err, status.InvalidArgument, `"w"`, "too large for bf16")
}

// Setting a tensor from an array of another type likewise.
func TestAnArrayThatTheTypeCannotHold(t *testing.T) {
	leavesNothing(t)
	w := New()
	defer w.Release()
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.F16, tensor.IQ4NL} {
		require.NoError(t, w.Declare(d.String(), typed(d, 2, 32)))
		v := make([]float32, 64)
		for i := range v {
			v[i] = float32(i%5) + 1
			if i >= 32 {
				v[i] *= 1e-10
			}
		}
		err := w.SetArray(d.String(), Array{Type: f32(2, 32), Data: bytesOfFloats(v)})
		requireError(t, err, status.InvalidArgument, `"`+d.String()+`"`, "row 1", "too small for "+d.String())
	}
}
