package tensorfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"qtsaccel/core/tensor"
)

// MaxRank is how many dimensions a file's tensor may have to be listed at all.
const MaxRank = 32

// Foreign says of a tensor of a file what the library has otherwise, or not at all.
type Foreign struct {
	DType string       // what the file calls the element type
	Shape tensor.Shape // as the file has it
	// Why the tensor cannot be used; "": it can, as the type of its [Entry].
	Why string
	// Widen makes elements of that type of elements as they lie in the file, which have
	// ElementBytes each; nil: they are the same.
	Widen        func(dst, src []byte)
	ElementBytes int64
	// Rounded: Widen rounds f64 numbers to f32.
	Rounded bool
	// Number is the type's number in GGUF files, where that is what the file is.
	Number *uint32
}

// Element is how a file has the elements of a tensor.
type Element struct {
	Name  string
	DType tensor.DType // what they are read as; 0: the library has no such type
	// Block elements take Bytes bytes in the file; 0: that is not known.
	Block, Bytes int64
	widen        func(dst, src []byte)
}

// Native is the element of a type that the library has.
func Native(d tensor.DType, name string) Element {
	block, bytes := d.Block()
	return Element{Name: name, DType: d, Block: block, Bytes: bytes}
}

// Unknown is an element of a type that the library lacks; blocks of bytes, 0 where that
// is not known.
func Unknown(name string, block, bytes int64) Element {
	return Element{Name: name, Block: block, Bytes: bytes}
}

var le = binary.LittleEndian

// The element types that the library reads as wider ones: all of them exactly but F64,
// which is rounded to f32.
var (
	Bool = Element{"BOOL", tensor.I8, 1, 1, func(dst, src []byte) {
		for i, v := range src {
			dst[i] = 0
			if v != 0 {
				dst[i] = 1
			}
		}
	}}
	U8 = Element{"U8", tensor.I16, 1, 1, func(dst, src []byte) {
		for i, v := range src {
			le.PutUint16(dst[2*i:], uint16(v))
		}
	}}
	U16 = Element{"U16", tensor.I32, 1, 2, func(dst, src []byte) {
		for i := range len(src) / 2 {
			le.PutUint32(dst[4*i:], uint32(le.Uint16(src[2*i:])))
		}
	}}
	U32 = Element{"U32", tensor.I64, 1, 4, func(dst, src []byte) {
		for i := range len(src) / 4 {
			le.PutUint64(dst[8*i:], uint64(le.Uint32(src[4*i:])))
		}
	}}
	F64 = Element{"F64", tensor.F32, 1, 8, func(dst, src []byte) {
		for i := range len(src) / 8 {
			le.PutUint32(dst[4*i:], math.Float32bits(float32(math.Float64frombits(le.Uint64(src[8*i:])))))
		}
	}}
	// F8E4M3 has no infinity, and a NaN of each sign: "OCP 8-bit Floating Point
	// Specification", E4M3. Exponents have a bias of 7, those of f16 15.
	F8E4M3 = Element{"F8_E4M3", tensor.F16, 1, 1, func(dst, src []byte) {
		for i, v := range src {
			le.PutUint16(dst[2*i:], e4m3[v])
		}
	}}
	// F8E5M2 is the upper half of an f16.
	F8E5M2 = Element{"F8_E5M2", tensor.F16, 1, 1, func(dst, src []byte) {
		for i, v := range src {
			le.PutUint16(dst[2*i:], uint16(v)<<8)
		}
	}}
	// F8E8M0 is a power of two, 2^(e-127), and 255 a NaN: scales of OCP's Microscaling
	// formats.
	F8E8M0 = Element{"F8_E8M0", tensor.F32, 1, 1, func(dst, src []byte) {
		for i, v := range src {
			power := math.Ldexp(1, int(v)-127)
			if v == 255 {
				power = math.NaN()
			}
			le.PutUint32(dst[4*i:], math.Float32bits(float32(power)))
		}
	}}
)

// e4m3 are the f16 numbers of all E4M3 ones.
var e4m3 = func() (of [256]uint16) {
	for v := range of {
		exponent, mantissa := v>>3&15, float64(v&7)
		var f float64
		switch {
		case v&0x7f == 0x7f:
			f = math.NaN()
		case exponent == 0:
			f = math.Ldexp(mantissa/8, -6)
		default:
			f = math.Ldexp(1+mantissa/8, exponent-7)
		}
		of[v] = tensor.F32ToF16(float32(f)) | uint16(v&0x80)<<8
	}
	return of
}()

// Named is the same element under another file's name.
func (el Element) Named(name string) Element {
	el.Name = name
	return el
}

// Describe makes an entry, without name and place, of a tensor that a file describes at
// an offset. Its size is -1 where that is not known. CORRUPT: a shape that cannot be.
func (el Element) Describe(shape tensor.Shape, offset int64) (Entry, error) {
	if el.DType != 0 && el.widen == nil && len(shape) <= tensor.MaxRank {
		e := Entry{Type: tensor.Type{DType: el.DType, Shape: shape}}
		var err error
		e.Bytes, err = CheckType(e.Type, offset)
		return e, err
	}
	// As rows and what is above them: whatever the rank, sizes are checked alike.
	of := tensor.Type{DType: tensor.I8, Shape: shape}
	f := &Foreign{DType: el.Name, Shape: shape, Widen: el.widen, ElementBytes: el.Bytes, Rounded: el.widen != nil && el.Bytes == 8}
	folded, ok := fold(shape)
	if !ok {
		return Entry{}, Corruptf(offset, "%s%v overflows: it has more than 2^59 elements", el.Name, shape)
	}
	of.Shape = folded
	if _, err := CheckType(of, offset); err != nil {
		return Entry{}, err
	}
	e := Entry{Type: tensor.Type{DType: el.DType, Shape: folded}, Bytes: -1, Foreign: f}
	if el.Block > 0 {
		if row := shape.Dim(-1); row%el.Block != 0 {
			return Entry{}, Corruptf(offset, "a row of %d elements cannot be %s: rows are multiples of %d", row, el.Name, el.Block)
		}
		n := folded.Elements() / el.Block
		if n > math.MaxInt64/el.Bytes {
			return Entry{}, Corruptf(offset, "%s%v is larger than any file", el.Name, shape)
		}
		e.Bytes = n * el.Bytes
	}
	switch {
	case el.DType == 0:
		f.Why = fmt.Sprintf("the library has no type %s", el.Name)
	case len(dropOnes(shape)) > tensor.MaxRank:
		f.Why = fmt.Sprintf("it has %d dimensions, at most %d are supported", len(shape), tensor.MaxRank)
	}
	if f.Why != "" {
		e.Type.DType, f.Widen = 0, nil
	}
	return e, nil
}

// dropOnes leaves out leading dimensions of 1 beyond what the library has.
func dropOnes(shape tensor.Shape) tensor.Shape {
	for len(shape) > tensor.MaxRank && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// fold makes a shape one of at most MaxRank dimensions of as many elements: leading
// ones are left out, and what is too much then is multiplied together. False: the
// product overflows.
func fold(shape tensor.Shape) (tensor.Shape, bool) {
	shape = dropOnes(shape)
	more := len(shape) - tensor.MaxRank
	if more <= 0 {
		return shape, true
	}
	product := int64(1)
	for _, d := range shape[:more+1] {
		if d < 0 || d > 0 && product > math.MaxInt64/d {
			return nil, false
		}
		product *= d
	}
	return append(tensor.Shape{product}, shape[more+1:]...), true
}
