package tensor

import (
	"strconv"
	"strings"

	"qtsaccel/core/status"
)

// MaxRank is the greatest number of dimensions: ggml has no fifth.
const MaxRank = 4

// maxElements bounds a tensor so that its size in bytes, at 8 an element at
// most, fits in an int64.
const maxElements = 1 << 59

// Shape is a tensor's dimensions, row-major: the outermost first, as in numpy.
// A scalar has no dimension.
type Shape []int64

// String writes the shape as "[2, 3]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// Equal says whether both shapes have the same dimensions.
func (s Shape) Equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// Elements is the product of the dimensions. The shape must have been checked.
func (s Shape) Elements() int64 {
	n := int64(1)
	for _, d := range s {
		n *= d
	}
	return n
}

// Dim gives dimension i; a negative i counts from the end, so -1 is the
// innermost. A dimension that the shape does not have is 1.
func (s Shape) Dim(i int) int64 {
	if i < 0 {
		i += len(s)
	}
	if i < 0 || i >= len(s) {
		return 1
	}
	return s[i]
}

// Type is a tensor's element type and shape.
type Type struct {
	DType DType
	Shape Shape
}

// String writes the type as "f32[2, 3]".
func (t Type) String() string { return t.DType.String() + t.Shape.String() }

// Equal says whether both types are the same.
func (t Type) Equal(o Type) bool { return t.DType == o.DType && t.Shape.Equal(o.Shape) }

// Check finds what is wrong with a type: an invalid dtype, more than [MaxRank]
// dimensions, one below 1, a row length that the dtype's block does not divide,
// or more than 2^59 elements. zeroOK lets dimensions be 0, as in files.
func (t Type) Check(zeroOK bool) error {
	if !t.DType.Valid() {
		return status.Errorf(status.InvalidArgument, "dtype %d is none of the known ones", int32(t.DType))
	}
	if len(t.Shape) > MaxRank {
		return status.Errorf(status.InvalidArgument, "shape %v has %d dimensions, at most %d are supported",
			t.Shape, len(t.Shape), MaxRank)
	}
	for i, d := range t.Shape {
		if d < 0 || d == 0 && !zeroOK {
			return status.Errorf(status.InvalidArgument, "dimension %d of shape %v is %d, it must be at least 1", i, t.Shape, d)
		}
	}
	block, _ := t.DType.Block()
	if row := t.Shape.Dim(-1); t.DType.Quantised() && (len(t.Shape) == 0 || row%block != 0) {
		return status.Errorf(status.InvalidArgument, "a row of %d elements cannot be stored as %v: rows must be a multiple of %d",
			row, t.DType, block)
	}
	total := int64(1)
	for _, d := range t.Shape {
		if d != 0 && total > maxElements/d {
			return status.Errorf(status.InvalidArgument, "%v overflows: it has more than 2^59 elements", t)
		}
		total *= d
	}
	return nil
}

// Bytes is the size of the tensor's data in memory. The type must have been checked.
func (t Type) Bytes() int64 {
	block, bytes := t.DType.Block()
	if block == 0 { // [Foreign]: only its file knows
		return 0
	}
	return t.Shape.Elements() / block * bytes
}
