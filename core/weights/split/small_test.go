package split

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

// scaled is a matrix of which each row has a scale of its own, with its values.
func scaled(m Split, scales ...float32) (Split, []float64) {
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
	int8Matrix = Split{Columns: 64, Bits: 8, Signed: true, Block: 32}
	int4Matrix = Split{Columns: 64, Bits: 4, Zero: 8, Block: 64}
	oddMatrix  = Split{Columns: 50, Bits: 8, Signed: true, Block: 25}
)

// Whatever the scales, every value of a matrix is within 2^-11 of itself, in a type
// that the report names.
func TestSmallAndLargeScalesKeepTheirValues(t *testing.T) {
	weightstest.LeavesNothing(t)
	for name, c := range map[string]struct {
		m      Split
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
		"anew as q8_0 would lose": {Split{Columns: 64, Bits: 8, Signed: true, Block: 16}, []float32{1e-9}, tensor.F32},
	} {
		m, values := scaled(c.m, c.scales...)
		w := weights.New()
		typ, loss, err := Add(w, "m", &m, 0)
		require.NoError(t, err, name)
		require.Equal(t, c.want, typ.DType, name)
		stored, err := m.Stored()
		require.NoError(t, err, name)
		require.Equal(t, c.want, stored, name)
		data, err := weightstest.TensorOf(t, w, "m").Freeze()
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
	weightstest.LeavesNothing(t)
	w := weights.New()
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
			_, _, err := Add(w, "m", &m, d)
			words := []string{`"m"`, "row 1", how + " " + d.String()}
			if d == tensor.Q8_0 {
				words = append(words, "block 1", fmt.Sprint("scale is ", scale))
			}
			weightstest.RequireError(t, err, status.InvalidArgument, words...)
		}
		require.Zero(t, w.Len(), "no such tensor then")
	}
	tiny, _ := scaled(int8Matrix, 1e-2, 1e-9)
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0, tensor.IQ4NL, tensor.Q5_1} { // quantised anew
		_, _, err := Add(w, "m", &tiny, d)
		weightstest.RequireError(t, err, status.InvalidArgument, "row 1", "block 0", "scale is 1e-09", "too small for "+d.String())
	}
}
