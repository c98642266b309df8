package split

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

// made is a matrix and, made from the same numbers without this package, its values.
type made struct {
	Split
	values []float64
}

// scaleKind makes a scale as numbers of a type have it.
type scaleKind func(r *rand.Rand) float64

func anyF32(r *rand.Rand) float64 { return float64(float32(0.001 + 0.01*r.Float64())) }
func anyF16(r *rand.Rand) float64 { return float64(1024+r.IntN(1024)) / (1 << 18) }
func anyBF16(r *rand.Rand) float64 {
	return float64(128+r.IntN(128)) / (1 << 15)
}

// makeMatrix fills a described matrix with random numbers.
func makeMatrix(m Split, offsets bool, kind scaleKind) made {
	r := rand.New(rand.NewPCG(9, uint64(m.Bits)))
	blocks := m.Columns / m.block()
	put := func(b []byte, v float64) {
		switch m.ScaleDType {
		case tensor.F16:
			binary.LittleEndian.PutUint16(b, tensor.F32ToF16(float32(v)))
		case tensor.BF16:
			binary.LittleEndian.PutUint16(b, tensor.F32ToBF16(float32(v)))
		default:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
		}
	}
	s, l := m.scaleStrides(), m.levelStrides()
	_, width := m.ScaleDType.Block()
	m.Scales = make([]byte, s[0]*(m.Rows-1)+s[1]*(blocks-1)+width)
	if offsets {
		m.Offsets = make([]byte, len(m.Scales))
	}
	rowBytes := m.Columns * int64(m.Bits) / 8
	m.Levels = make([]byte, l[0]*(m.Rows-1)+l[1]*(rowBytes-1)+1)
	out := made{m, make([]float64, m.Rows*m.Columns)}
	for row := range m.Rows {
		var scale, offset float64
		for c := range m.Columns {
			if c%m.block() == 0 {
				scale = kind(r)
				put(m.Scales[row*s[0]+c/m.block()*s[1]:], scale)
				if offsets {
					offset = -kind(r) * 8 // exact in every type
					put(m.Offsets[row*s[0]+c/m.block()*s[1]:], offset)
				}
			}
			raw := r.IntN(1 << m.Bits)
			level := raw
			if m.Signed && raw >= 1<<m.Bits/2 {
				level -= 1 << m.Bits
			}
			out.values[row*m.Columns+c] = scale*float64(level-int(m.Zero)) + offset
			at, shift := c, 0
			if m.Bits == 4 {
				at, shift = c/2, int(c%2)*4
				switch m.Nibbles {
				case HighFirst:
					shift = 4 - shift
				case Halves:
					at, shift = c/32*16+c%16, int(c%32/16)*4
				default:
				}
			}
			m.Levels[row*l[0]+at*l[1]] |= byte(raw) << shift
		}
	}
	return out
}

// storeMatrix imports a matrix, and gives what it dequantises to.
func storeMatrix(t *testing.T, m *Split, d tensor.DType) ([]float32, Loss) {
	t.Helper()
	w := weights.New()
	defer w.Release()
	_, loss, err := Add(w, "m", m, d)
	require.NoError(t, err)
	data, err := weightstest.TensorOf(t, w, "m").Freeze()
	require.NoError(t, err)
	values := make([]float32, m.Rows*m.Columns)
	require.NoError(t, quant.Decode(d, values, data))
	return values, loss
}

func TestMatricesWithoutLoss(t *testing.T) {
	weightstest.LeavesNothing(t)
	for name, c := range map[string]struct {
		m       Split
		offsets bool
		scales  scaleKind
		want    tensor.DType
	}{
		"int8, f32 scales that f16 has":    {Split{Rows: 7, Columns: 96, Bits: 8, Signed: true, Block: 32, ScaleDType: tensor.F32}, false, anyF16, tensor.Q8_0},
		"int8, a scale per row":            {Split{Rows: 7, Columns: 96, Bits: 8, Signed: true, ScaleDType: tensor.F16}, false, anyF16, tensor.Q8_0},
		"uint8 around 128":                 {Split{Rows: 7, Columns: 96, Bits: 8, Zero: 128, Block: 96, ScaleDType: tensor.F16}, false, anyF16, tensor.Q8_0},
		"4 bits around 8":                  {Split{Rows: 3, Columns: 128, Bits: 4, Zero: 8, Block: 32, ScaleDType: tensor.F16}, false, anyF16, tensor.Q4_0},
		"signed 4 bits":                    {Split{Rows: 3, Columns: 128, Bits: 4, Signed: true, Block: 128, ScaleDType: tensor.F16, Nibbles: HighFirst}, false, anyF16, tensor.Q4_0},
		"as ggml":                          {Split{Rows: 3, Columns: 128, Bits: 4, Zero: 8, Block: 32, ScaleDType: tensor.F16, Nibbles: Halves}, false, anyF16, tensor.Q4_0},
		"4 bits around 5":                  {Split{Rows: 3, Columns: 128, Bits: 4, Zero: 5, Block: 64, ScaleDType: tensor.F16}, false, func(r *rand.Rand) float64 { return anyF16(r) }, tensor.Q5_0},
		"4 bits around 0":                  {Split{Rows: 3, Columns: 128, Bits: 4, Block: 64, ScaleDType: tensor.F16}, false, anyF16, tensor.Q4_1},
		"MLX, 4 bits, 32":                  {Split{Rows: 5, Columns: 256, Bits: 4, Block: 32, ScaleDType: tensor.F16}, true, anyF16, tensor.Q4_1},
		"MLX, 4 bits, 64":                  {Split{Rows: 5, Columns: 256, Bits: 4, Block: 64, ScaleDType: tensor.F16}, true, anyF16, tensor.Q4_1},
		"MLX, 4 bits, 128, bf16":           {Split{Rows: 5, Columns: 256, Bits: 4, Block: 128, ScaleDType: tensor.BF16}, true, anyBF16, tensor.Q4_1},
		"transposed int8":                  {Split{Rows: 7, Columns: 96, Bits: 8, Signed: true, Block: 32, ScaleDType: tensor.F32, LevelStrides: [2]int64{1, 7}, ScaleStrides: [2]int64{4, 28}}, false, anyF16, tensor.Q8_0},
		"rows with something between them": {Split{Rows: 7, Columns: 96, Bits: 4, Zero: 8, Block: 32, ScaleDType: tensor.F32, LevelStrides: [2]int64{50, 1}, ScaleStrides: [2]int64{20, 4}}, false, anyF16, tensor.Q4_0},
		"many rows":                        {Split{Rows: 1000, Columns: 1024, Bits: 4, Block: 64, ScaleDType: tensor.F16}, true, anyF16, tensor.Q4_1},
	} {
		m := makeMatrix(c.m, c.offsets, c.scales)
		got, err := m.Stored()
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		values, loss := storeMatrix(t, &m.Split, got)
		require.Equal(t, Loss{Exact: true}, loss, name)
		for i, v := range values {
			if v != float32(m.values[i]) {
				t.Fatalf("%s: element %d is %v, want %v", name, i, v, m.values[i])
			}
		}
	}
}

func TestMatricesWithALossThatIsStated(t *testing.T) {
	weightstest.LeavesNothing(t)
	for name, c := range map[string]struct {
		m        Split
		offsets  bool
		scales   scaleKind
		want     tensor.DType
		relative float64 // at most; 0: not bounded
		absolute float64
	}{
		// A scale rounded to f16 is off by 2^-11 at most, and so is every value.
		"int8, any f32 scales": {Split{Rows: 9, Columns: 64, Bits: 8, Signed: true, Block: 32, ScaleDType: tensor.F32}, false, anyF32, tensor.Q8_0, 1.0 / 2048, 0.0008},
		"4 bits, any scales":   {Split{Rows: 9, Columns: 64, Bits: 4, Zero: 8, Block: 32, ScaleDType: tensor.F32}, false, anyF32, tensor.Q4_0, 1.0 / 2048, 0.00005},
		"MLX, any scales":      {Split{Rows: 9, Columns: 64, Bits: 4, Block: 32, ScaleDType: tensor.F32}, true, anyF32, tensor.Q4_1, 0, 0.0002},
		// Blocks that are no multiple of 32, and 8 bits with an offset, are
		// quantised anew: half a step of the largest value.
		"blocks of 16":              {Split{Rows: 9, Columns: 64, Bits: 4, Zero: 8, Block: 16, ScaleDType: tensor.F16}, false, anyF16, tensor.Q8_0, 0, 0.0005},
		"MLX, 8 bits":               {Split{Rows: 9, Columns: 64, Bits: 8, Block: 64, ScaleDType: tensor.F16}, true, anyF16, tensor.Q8_0, 0, 0.0085},
		"rows of no multiple of 32": {Split{Rows: 9, Columns: 50, Bits: 8, Signed: true, Block: 25, ScaleDType: tensor.F16}, false, anyF16, tensor.F16, 1.0 / 2048, 0.0006},
	} {
		m := makeMatrix(c.m, c.offsets, c.scales)
		d, err := m.Stored()
		require.NoError(t, err, name)
		require.Equal(t, c.want, d, name)
		values, loss := storeMatrix(t, &m.Split, d)
		worst, relative := 0.0, 0.0
		for i, v := range values {
			off := math.Abs(float64(v) - m.values[i])
			if v == float32(m.values[i]) {
				continue
			}
			worst = max(worst, off)
			if m.values[i] != 0 {
				relative = max(relative, off/math.Abs(m.values[i]))
			}
		}
		require.False(t, loss.Exact, name)
		require.InDelta(t, worst, loss.MaxAbsolute, 1e-12, name)
		require.InDelta(t, relative, loss.MaxRelative, 1e-9, name)
		require.LessOrEqual(t, worst, c.absolute, name)
		if c.relative > 0 {
			require.LessOrEqual(t, relative, c.relative, name)
		}
		for _, wide := range []tensor.DType{tensor.F32} {
			_, loss := storeMatrix(t, &m.Split, wide)
			require.True(t, loss.Exact, "%s as %v", name, wide)
		}
	}
}

func TestAddingMatrices(t *testing.T) {
	weightstest.LeavesNothing(t)
	m := makeMatrix(Split{Rows: 5, Columns: 64, Bits: 8, Signed: true, Block: 32, ScaleDType: tensor.F32}, false, anyF16)
	w := weights.New()
	defer w.Release()
	for d, want := range map[tensor.DType]tensor.DType{0: tensor.Q8_0, tensor.F16: tensor.F16, tensor.Q4_0: tensor.Q4_0} {
		name := want.String()
		typ, loss, err := Add(w, name, &m.Split, d)
		require.NoError(t, err)
		require.Equal(t, weightstest.Typed(want, 5, 64), typ)
		require.Equal(t, d == 0, loss.Exact)
		data, err := weightstest.TensorOf(t, w, name).Freeze()
		require.NoError(t, err)
		require.Len(t, data, int(typ.Bytes()))
	}
	_, _, err := Add(w, "f16", &m.Split, 0)
	weightstest.RequireError(t, err, status.AlreadyExists, `"f16"`)
	_, _, err = Add(w, "", &m.Split, 0)
	weightstest.RequireError(t, err, status.InvalidArgument, "cannot name")
	_, _, err = Add(w, "x", &m.Split, 99)
	weightstest.RequireError(t, err, status.InvalidArgument, "dtype 99")
	_, _, err = Add(w, "x", &m.Split, tensor.Q4_K)
	weightstest.RequireError(t, err, status.InvalidArgument, "multiple of 256")
	bad := m.Split
	bad.Scales = infinite(bad.Scales)
	_, _, err = Add(w, "x", &bad, 0)
	weightstest.RequireError(t, err, status.InvalidArgument, `"x"`, "row 0", "+Inf")
	_, _, err = Add(w, "x", &m.Split, tensor.Q5_0)
	require.NoError(t, err, "the name is free still")
}

func TestWrongMatrices(t *testing.T) {
	weightstest.LeavesNothing(t)
	ok := makeMatrix(Split{Rows: 2, Columns: 64, Bits: 4, Block: 32, ScaleDType: tensor.F32}, true, anyF32).Split
	w := weights.New()
	defer w.Release()
	for words, change := range map[string]func(m *Split) status.Code{
		"7 bits":                func(m *Split) status.Code { m.Bits = 7; return status.InvalidArgument },
		"dimension 0":           func(m *Split) status.Code { m.Rows = 0; return status.InvalidArgument },
		"overflows":             func(m *Split) status.Code { m.Rows = 1 << 60; return status.InvalidArgument },
		"whole number of bytes": func(m *Split) status.Code { m.Columns, m.Block = 33, 33; return status.InvalidArgument },
		"zero is 1000":          func(m *Split) status.Code { m.Zero = 1000; return status.InvalidArgument },
		"blocks of 24":          func(m *Split) status.Code { m.Block = 24; return status.InvalidArgument },
		"blocks of -1":          func(m *Split) status.Code { m.Block = -1; return status.InvalidArgument },
		"scales are i8":         func(m *Split) status.Code { m.ScaleDType = tensor.I8; return status.InvalidArgument },
		"order of nibbles is 3": func(m *Split) status.Code { m.Nibbles = 3; return status.InvalidArgument },
		"levels: strides":       func(m *Split) status.Code { m.LevelStrides[0] = -32; return status.InvalidArgument },
		"scales: stride": func(m *Split) status.Code {
			m.ScaleStrides[0] = math.MaxInt64
			return status.InvalidArgument
		},
		"levels take 64 bytes":  func(m *Split) status.Code { m.Levels = m.Levels[:63]; return status.ShapeMismatch },
		"scales take 16 bytes":  func(m *Split) status.Code { m.Scales = nil; return status.ShapeMismatch },
		"offsets take 16 bytes": func(m *Split) status.Code { m.Offsets = m.Offsets[:0]; return status.ShapeMismatch },
		"element 32 is +Inf: its scale is": func(m *Split) status.Code {
			m.Scales = infinite(m.Scales)
			return status.InvalidArgument
		},
	} {
		m := ok
		code := change(&m)
		_, _, err := Add(w, "m", &m, tensor.Q4_1)
		weightstest.RequireError(t, err, code, `"m"`, words)
	}
	wide := makeMatrix(Split{Rows: 2, Columns: 256, Bits: 8, ScaleDType: tensor.F32}, false, anyF32).Split
	_, _, err := Add(w, "m", &wide, tensor.Q4_K)
	weightstest.RequireError(t, err, status.Unsupported, `"m"`, "cannot be stored as q4_K")
	require.Zero(t, w.Len())
	_, loss, err := Add(w, "m", &ok, tensor.Q4_1)
	require.NoError(t, err, "the next right call")
	require.False(t, loss.Exact)
	_, err = weightstest.TensorOf(t, w, "m").Freeze()
	require.NoError(t, err)
}

// infinite makes the second scale infinite.
func infinite(scales []byte) []byte {
	b := append([]byte{}, scales...)
	binary.LittleEndian.PutUint32(b[4:], math.Float32bits(float32(math.Inf(1))))
	return b
}

// A matrix that cannot be added leaves no memory in the weights, however often it is
// tried, and its name free.
func TestAMatrixThatIsNotAddedTakesNoMemory(t *testing.T) {
	w := weights.New()
	defer w.Release()
	for _, n := range []int64{32, 1024} { // small pieces share a mapping, large ones have their own
		m := Split{Rows: n, Columns: n, Bits: 8, Signed: true, ScaleDType: tensor.F32, Levels: make([]byte, n*n), Scales: infinite(make([]byte, 4*n))}
		for i := range m.Levels {
			m.Levels[i] = 1
		}
		before := mem.Live()
		for range 50 {
			_, _, err := Add(w, "m", &m, tensor.Q8_0)
			weightstest.RequireError(t, err, status.InvalidArgument, `"m"`)
		}
		require.Equal(t, before, mem.Live())
		require.Zero(t, w.Len())
	}
}
