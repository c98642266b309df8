// Package tensor holds what a tensor is before any device: its element type,
// its shape, and the bytes that both come to.
package tensor

import "qtsaccel/core/status"

// DType is the type of a tensor's elements. The values are pinned: the header's
// QTSA_DTYPE_* are the same numbers. Zero is no type, so that a field left
// unset is found.
type DType int32

// The element types. Quantised types pack a block of elements of one row
// together; see [DType.Block].
const (
	// Foreign is what a tensor of a file has whose type or rank is none of the library's:
	// it is listed, and not used. It is not valid elsewhere.
	Foreign DType = 0

	F32   DType = 1
	F16   DType = 2
	BF16  DType = 3
	I8    DType = 8
	I16   DType = 9
	I32   DType = 10
	I64   DType = 11
	Q8_0  DType = 32
	Q4_0  DType = 33
	Q4_1  DType = 34
	Q5_0  DType = 35
	Q5_1  DType = 36
	Q2_K  DType = 48
	Q3_K  DType = 49
	Q4_K  DType = 50
	Q5_K  DType = 51
	Q6_K  DType = 52
	IQ4NL DType = 64
	MXFP4 DType = 65
)

// layout is the one table of the types' names and sizes. The block sizes of the
// quantised types are those of the GGUF format.
var layout = map[DType]struct {
	name  string
	block int64 // elements
	bytes int64 // of one block
}{
	F32: {"f32", 1, 4}, F16: {"f16", 1, 2}, BF16: {"bf16", 1, 2},
	I8: {"i8", 1, 1}, I16: {"i16", 1, 2}, I32: {"i32", 1, 4}, I64: {"i64", 1, 8},
	Q8_0: {"q8_0", 32, 34}, Q4_0: {"q4_0", 32, 18}, Q4_1: {"q4_1", 32, 20},
	Q5_0: {"q5_0", 32, 22}, Q5_1: {"q5_1", 32, 24},
	Q2_K: {"q2_K", 256, 84}, Q3_K: {"q3_K", 256, 110}, Q4_K: {"q4_K", 256, 144},
	Q5_K: {"q5_K", 256, 176}, Q6_K: {"q6_K", 256, 210},
	IQ4NL: {"iq4_nl", 32, 18}, MXFP4: {"mxfp4", 32, 17},
}

// Valid says whether d is one of the types above.
func (d DType) Valid() bool { _, ok := layout[d]; return ok }

// String gives the type's name in lower case, "invalid" for none.
func (d DType) String() string {
	if l, ok := layout[d]; ok {
		return l.name
	}
	if d == Foreign {
		return "foreign"
	}
	return "invalid"
}

// ParseDType finds a type by the name that [DType.String] gives.
func ParseDType(name string) (DType, error) {
	for d, l := range layout {
		if l.name == name {
			return d, nil
		}
	}
	return 0, status.Errorf(status.InvalidArgument, "unknown dtype %q", name)
}

// Block gives how many elements of one row are stored together, and the bytes
// that they take. Both are 0 for an invalid type.
func (d DType) Block() (elements, bytes int64) { l := layout[d]; return l.block, l.bytes }

// BytesOf is the size of elements in whole blocks.
func (d DType) BytesOf(elements int64) int64 {
	block, bytes := d.Block()
	return elements / block * bytes
}

// ElementsOf is how many elements whole blocks of a size have.
func (d DType) ElementsOf(bytes int64) int64 {
	block, size := d.Block()
	return bytes / size * block
}

// Float says whether elements are real numbers kept one by one.
func (d DType) Float() bool { return d == F32 || d == F16 || d == BF16 }

// Integer says whether elements are whole numbers.
func (d DType) Integer() bool { return d == I8 || d == I16 || d == I32 || d == I64 }

// Quantised says whether elements are kept in blocks with shared scales.
func (d DType) Quantised() bool { return layout[d].block > 1 }
