package metadata

import (
	"encoding/binary"
	"math"

	"qtsaccel/core/abi"
	"qtsaccel/core/status"
)

// Type is what a value is or, of an array, its elements are. The numbers are the
// header's QTSA_METADATA_*.
type Type int32

// The types. Whole and real numbers come in several sizes, which [Description] names.
const (
	TypeInt   Type = abi.MetadataInt
	TypeFloat Type = abi.MetadataFloat
	TypeBool  Type = abi.MetadataBool
	TypeText  Type = abi.MetadataString
	TypeArray Type = abi.MetadataArray // arrays in an array
)

var kindTypes = [Kinds]Type{
	KindU8: TypeInt, KindI8: TypeInt, KindU16: TypeInt, KindI16: TypeInt, KindU32: TypeInt, KindI32: TypeInt, KindU64: TypeInt, KindI64: TypeInt,
	KindF32: TypeFloat, KindF64: TypeFloat, KindBool: TypeBool, KindString: TypeText, KindArray: TypeArray,
}

// Description says what a value is.
type Description struct {
	Type    Type
	IsArray bool
	Count   int64  // of an array's elements; 1 of what is none
	Stored  string // how the file has the value or elements: "u32", "f64", "string"
}

func (d Description) String() string {
	if d.IsArray {
		return "an array of " + d.Stored
	}
	return d.Stored
}

// Describe says what the value is.
func (v Value) Describe() Description {
	of, n, _ := v.elements()
	return Description{kindTypes[of], v.kind == KindArray, n, of.String()}
}

// elements gives an array's elements, or the value as the only one.
func (v Value) elements() (of Kind, n int64, raw []byte) {
	if v.kind != KindArray {
		return v.kind, 1, v.raw
	}
	le := binary.LittleEndian
	return Kind(le.Uint32(v.raw)), int64(le.Uint64(v.raw[4:])), v.raw[12:]
}

func (v Value) wrongType(want string) error {
	return status.Errorf(status.InvalidArgument, "it is %v, not %s", v.Describe(), want)
}

// Ints gives as many whole numbers as dst has room for. INVALID_ARGUMENT: the value is of
// another type, or a number is beyond an int64.
func (v Value) Ints(dst []int64) error {
	of, n, raw := v.elements()
	if kindTypes[of] != TypeInt {
		return v.wrongType("whole numbers")
	}
	le := binary.LittleEndian
	size := kindBytes[of]
	for i := range min(n, int64(len(dst))) {
		b := raw[i*size:]
		switch of {
		case KindU8:
			dst[i] = int64(b[0])
		case KindI8:
			dst[i] = int64(int8(b[0]))
		case KindU16:
			dst[i] = int64(le.Uint16(b))
		case KindI16:
			dst[i] = int64(int16(le.Uint16(b)))
		case KindU32:
			dst[i] = int64(le.Uint32(b))
		case KindI32:
			dst[i] = int64(int32(le.Uint32(b)))
		default:
			dst[i] = int64(le.Uint64(b))
			if of == KindU64 && dst[i] < 0 {
				return status.Errorf(status.InvalidArgument, "element %d is %d, more than an int64 holds", i, le.Uint64(b))
			}
		}
	}
	return nil
}

// Floats gives real numbers likewise.
func (v Value) Floats(dst []float64) error {
	of, n, raw := v.elements()
	if kindTypes[of] != TypeFloat {
		return v.wrongType("real numbers")
	}
	for i := range min(n, int64(len(dst))) {
		if of == KindF32 {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		} else {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
	}
	return nil
}

// Bools gives booleans likewise, 0 or 1 each.
func (v Value) Bools(dst []int32) error {
	of, n, raw := v.elements()
	if of != KindBool {
		return v.wrongType("booleans")
	}
	for i := range min(n, int64(len(dst))) {
		dst[i] = int32(raw[i])
	}
	return nil
}

// Texts gives strings, byte for byte as the file has them, which need not be UTF-8.
func (v Value) Texts() ([][]byte, error) {
	of, n, raw := v.elements()
	if of != KindString {
		return nil, v.wrongType("strings")
	}
	if v.kind == KindString {
		return [][]byte{raw}, nil
	}
	texts := make([][]byte, n)
	for i := range texts {
		length := binary.LittleEndian.Uint64(raw)
		texts[i], raw = raw[8:8+length:8+length], raw[8+length:]
	}
	return texts, nil
}
