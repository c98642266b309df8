// Package split stores quantised matrices whose values lie apart from their scales, as
// systems other than ggml keep them, in tensors of weights.
package split

import (
	"encoding/binary"
	"errors"
	"math"

	"qtsaccel/core/abi"
	"qtsaccel/core/mem"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// NibbleOrder is where the two elements of a byte of 4-bit levels are. The values
// are the header's QTSA_NIBBLES_*.
type NibbleOrder int32

const (
	// LowFirst has element 2k in the low half of byte k, as MLX has it.
	LowFirst NibbleOrder = abi.NibblesLowFirst
	// HighFirst has it in the high half.
	HighFirst NibbleOrder = abi.NibblesHighFirst
	// Halves has, in each 16 bytes, 32 elements: k in the low half of byte k and
	// k+16 in the high half, as ggml has it.
	Halves NibbleOrder = abi.NibblesHalves
)

// Split describes a quantised matrix [rows, columns], which is [n_out, n_in], the
// way systems other than ggml keep it: levels, scales and offsets apart.
//
//	value = scale * (level - Zero) + offset
//
// Scales and offsets count for Block columns of a row. For instance, int8 with an
// f32 scale per 32 weights is {Bits: 8, Signed: true, Block: 32, ScaleDType: F32};
// MLX's affine 4-bit is {Bits: 4, Block: 64, ScaleDType: F16} with offsets.
type Split struct {
	Rows, Columns int64
	Bits          int   // 8 or 4
	Signed        bool  // levels are two's complement, else unsigned
	Zero          int32 // the level of an offset's value, -256 to 256
	Block         int64 // columns, a divisor of Columns; 0: all
	Nibbles       NibbleOrder

	// Levels has the bytes of all rows: a row's are Columns*Bits/8 in number.
	Levels       []byte
	LevelStrides [2]int64 // bytes from a row to the next, and from a byte of a row to the next; 0: dense

	ScaleDType tensor.DType // f32, f16 or bf16
	// Scales and Offsets are [Rows, Columns/Block]; Offsets may be nil.
	Scales, Offsets []byte
	ScaleStrides    [2]int64 // bytes along both dimensions, of offsets too; 0: dense
}

// Loss is what storing a matrix as another type has changed.
type Loss struct {
	// Exact: every value is the f32 nearest to the matrix's own.
	Exact bool
	// MaxAbsolute is the largest difference of a value; MaxRelative that of one in
	// proportion to its magnitude, of those that are not 0.
	MaxAbsolute, MaxRelative float64
}

// Check finds what is wrong with a description; Levels, Scales and Offsets are not
// looked at.
func (m *Split) Check() error {
	invalid := func(format string, args ...any) error { return status.Errorf(status.InvalidArgument, format, args...) }
	if err := (tensor.Type{DType: tensor.F32, Shape: tensor.Shape{m.Rows, m.Columns}}).Check(false); err != nil {
		return err
	}
	switch {
	case m.Bits != 8 && m.Bits != 4:
		return invalid("the levels have %d bits, want 8 or 4", m.Bits)
	case m.Columns*int64(m.Bits)%8 != 0:
		return invalid("a row of %d levels of 4 bits is no whole number of bytes", m.Columns)
	case m.Zero < -256 || m.Zero > 256:
		return invalid("the zero is %d, want -256 to 256", m.Zero)
	case m.Block < 0 || m.Columns%m.block() != 0:
		return invalid("a row of %d is no whole number of blocks of %d", m.Columns, m.Block)
	case !m.ScaleDType.Float():
		return invalid("scales are %v, want f32, f16 or bf16", m.ScaleDType)
	case m.Nibbles < LowFirst || m.Nibbles > Halves:
		return invalid("the order of nibbles is %d, want 0 to 2", m.Nibbles)
	case m.Bits == 4 && m.Nibbles == Halves && m.Columns%32 != 0:
		return invalid("a row of %d has no whole number of 32 levels in halves", m.Columns)
	}
	if _, err := m.LevelBytes(); err != nil {
		return err
	}
	_, err := m.ScaleBytes()
	return err
}

func (m *Split) block() int64 {
	if m.Block == 0 {
		return m.Columns
	}
	return m.Block
}

// LevelBytes is how many bytes the levels reach over.
func (m *Split) LevelBytes() (int64, error) {
	return m.reach("levels", tensor.I8, m.Columns*int64(m.Bits)/8, m.levelStrides())
}

// ScaleBytes is how many bytes the scales reach over, and the offsets.
func (m *Split) ScaleBytes() (int64, error) {
	return m.reach("scales", m.ScaleDType, m.Columns/m.block(), m.scaleStrides())
}

func (m *Split) reach(what string, d tensor.DType, columns int64, strides [2]int64) (int64, error) {
	before, after, err := weights.Reach(tensor.Type{DType: d, Shape: tensor.Shape{m.Rows, columns}}, strides[:])
	if err == nil && before < 0 {
		err = status.Errorf(status.InvalidArgument, "strides %v are negative", strides)
	}
	return after, status.Wrapf(err, "%s", what)
}

func (m *Split) levelStrides() [2]int64 { return dense(m.LevelStrides, m.Columns*int64(m.Bits)/8, 1) }

func (m *Split) scaleStrides() [2]int64 {
	_, width := m.ScaleDType.Block()
	return dense(m.ScaleStrides, m.Columns/m.block(), width)
}

// dense fills in the strides that are 0.
func dense(s [2]int64, columns, width int64) [2]int64 {
	if s[1] == 0 {
		s[1] = width
	}
	if s[0] == 0 {
		s[0] = columns * width
	}
	return s
}

// levels is the range that levels minus Zero have.
func (m *Split) levels() (least, most int32) {
	n := int32(1) << m.Bits
	least = -m.Zero
	if m.Signed {
		least -= n / 2
	}
	return least, least + n - 1
}

// direct are the types that keep the levels as they are, the smallest first: what
// they can hold is d * level with a level in the range, or d * level + m with one
// of 16 or 32.
var direct = []struct {
	dtype       tensor.DType
	least, most int32
	offset      bool
}{
	{tensor.Q4_0, -8, 7, false},
	{tensor.Q4_1, 0, 15, true},
	{tensor.Q5_0, -16, 15, false},
	{tensor.Q5_1, 0, 31, true},
	{tensor.Q8_0, -128, 127, false},
}

// keepsLevels says whether a type can hold the matrix with its very levels, scales
// and offsets rounded to f16; and what is added to a level then.
func (m *Split) keepsLevels(d tensor.DType) (shift int32, ok bool) {
	if m.block()%32 != 0 {
		return 0, false
	}
	least, most := m.levels()
	for _, t := range direct {
		switch {
		case t.dtype != d:
		case t.offset:
			return -least, most-least <= t.most
		default:
			return 0, m.Offsets == nil && least >= t.least && most <= t.most
		}
	}
	return 0, false
}

// Stored is the type that a matrix is stored in where the host names none: the
// smallest that keeps its levels and loses nothing, or only by rounding scales to f16,
// by 2^-11 of each at most. Where none keeps the levels, q8_0, or f16 where rows are no
// multiple of 32. And where scales or values are beyond those types, f16 if that has
// every value to within 2^-11, else f32.
func (m *Split) Stored() (tensor.DType, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	first := tensor.DType(0)
	for _, t := range direct {
		if _, ok := m.keepsLevels(t.dtype); !ok {
			continue
		}
		if first == 0 {
			first = t.dtype
		}
		if m.eachScale(t.dtype, func(v float32) bool { return tensor.F16ToF32(tensor.F32ToF16(v)) == v }) {
			return t.dtype, nil
		}
	}
	if first != 0 && m.eachScale(first, quant.Fits) {
		return first, nil
	}
	if first == 0 && m.Columns%32 == 0 {
		first = tensor.Q8_0
	}
	for _, d := range []tensor.DType{first, tensor.F16} {
		if d == 0 {
			continue
		}
		switch ok, err := m.fits(d); {
		case err != nil:
			return 0, err
		case ok:
			return d, nil
		}
	}
	return tensor.F32, nil
}

// eachScale says whether each of the numbers that a type's blocks have in f16 passes.
func (m *Split) eachScale(d tensor.DType, pass func(float32) bool) bool {
	shift, _ := m.keepsLevels(d)
	for row := range m.Rows {
		for b := range m.Columns / m.block() {
			scale, offset := m.scale(row, b)
			if !pass(float32(scale)) || (d == tensor.Q4_1 || d == tensor.Q5_1) && !pass(float32(offset-scale*float64(shift))) {
				return false
			}
		}
	}
	return true
}

// check is Check, and whether all is there that is described.
func (m *Split) check() error {
	if err := m.Check(); err != nil {
		return err
	}
	levels, err := m.LevelBytes()
	if err != nil {
		return err
	}
	scales, err := m.ScaleBytes()
	if err != nil {
		return err
	}
	for what, c := range map[string]struct {
		data []byte
		want int64
	}{"levels": {m.Levels, levels}, "scales": {m.Scales, scales}, "offsets": {m.Offsets, scales}} {
		if int64(len(c.data)) < c.want && (what != "offsets" || c.data != nil) {
			return status.Errorf(status.ShapeMismatch, "the %s take %d bytes, there are %d", what, c.want, len(c.data))
		}
	}
	return nil
}

// scale gives scale and offset of a block.
func (m *Split) scale(row, block int64) (scale, offset float64) {
	s := m.scaleStrides()
	at := row*s[0] + block*s[1]
	scale = m.number(m.Scales[at:])
	if m.Offsets != nil {
		offset = m.number(m.Offsets[at:])
	}
	return scale, offset
}

func (m *Split) number(b []byte) float64 {
	switch m.ScaleDType {
	case tensor.F16:
		return float64(tensor.F16ToF32(binary.LittleEndian.Uint16(b)))
	case tensor.BF16:
		return float64(tensor.BF16ToF32(binary.LittleEndian.Uint16(b)))
	default:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
}

// readLevels gives a row's levels, Zero taken away.
func (m *Split) readLevels(dst []int32, row int64) {
	s := m.levelStrides()
	at := row * s[0]
	put := func(i int, raw byte, bits int) {
		if m.Signed {
			shift := 8 - bits
			dst[i] = int32(int8(raw<<shift)>>shift) - m.Zero
		} else {
			dst[i] = int32(raw) - m.Zero
		}
	}
	if m.Bits == 8 {
		for i := range dst {
			put(i, m.Levels[at+int64(i)*s[1]], 8)
		}
		return
	}
	for k := range len(dst) / 2 {
		b := m.Levels[at+int64(k)*s[1]]
		first, second := 2*k, 2*k+1
		switch m.Nibbles {
		case HighFirst:
			first, second = second, first
		case Halves:
			first = k/16*32 + k%16
			second = first + 16
		default:
		}
		put(first, b&15, 4)
		put(second, b>>4, 4)
	}
}

// Add adds a tensor to weights with the values of a matrix, as a type, 0 for
// [Split.Stored], and gives its type. Errors are those of [weights.Weights.Declare];
// SHAPE_MISMATCH: data that is too short; INVALID_ARGUMENT: see [Split.Check], or values
// that the type cannot hold; UNSUPPORTED: a type that is only read here. The weights
// have no such tensor then.
func Add(w *weights.Weights, name string, m *Split, d tensor.DType) (tensor.Type, Loss, error) {
	if err := w.Use(); err != nil {
		return tensor.Type{}, Loss{}, err
	}
	defer w.Release()
	t, loss, err := add(w, name, m, d)
	return t, loss, status.Wrapf(err, "tensor %q", name)
}

func add(w *weights.Weights, name string, m *Split, d tensor.DType) (t tensor.Type, loss Loss, err error) {
	if err = weights.CheckName(name); err != nil {
		return t, loss, err
	}
	if err = m.check(); err != nil {
		return t, loss, err
	}
	if d == 0 {
		if d, err = m.Stored(); err != nil {
			return t, loss, err
		}
	}
	t = tensor.Type{DType: d, Shape: tensor.Shape{m.Rows, m.Columns}}
	if err = t.Check(false); err != nil {
		return t, loss, err
	}
	if !quant.CanEncode(d) {
		return t, loss, status.Errorf(status.Unsupported, "a matrix cannot be stored as %v", d)
	}
	if i, err := w.Find(name); err == nil {
		return t, loss, status.Errorf(status.AlreadyExists, "it exists already, as tensor %d", i)
	}
	data, err := mem.Alloc(t.Bytes()) // the arena's only once nothing can fail any more
	if err != nil {
		return t, loss, err
	}
	if loss, err = m.store(data, d); err == nil {
		err = w.AddFilled(name, t, data)
	}
	if err != nil {
		return t, loss, errors.Join(err, mem.Free(data))
	}
	return t, loss, nil
}
