// Package metadata has the values that a model file says of itself besides its tensors.
package metadata

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is what a value is stored as, by its number in GGUF files.
type Kind uint32

// The kinds.
const (
	KindU8 Kind = iota
	KindI8
	KindU16
	KindI16
	KindU32
	KindI32
	KindF32
	KindBool
	KindString
	KindArray
	KindU64
	KindI64
	KindF64
	Kinds // how many there are
)

// kindBytes is the size of a value, or the least that it takes: a string's
// length, an array's kind and count.
var kindBytes = [Kinds]int64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

var kindNames = [Kinds]string{"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"}

// LeastBytes is the size of a value, or the least that it takes: a string's length, an
// array's kind and count.
func (k Kind) LeastBytes() int64 { return kindBytes[k] }

func (k Kind) String() string { return kindNames[k] }

// Pair is a key with its value.
type Pair struct {
	Key   string
	Value Value
}

// Value is a value as its bytes in a GGUF file. It becomes text when it is asked for: a
// vocabulary as Go values would take many times its bytes. Nobody changes the bytes.
type Value struct {
	kind Kind
	raw  []byte // of a string, without its length in front
}

// Encoded is a value of bytes as GGUF files have them, which were checked; they stay the
// value's.
func Encoded(k Kind, raw []byte) Value {
	if k == KindString {
		raw = raw[8:]
	}
	return Value{k, raw}
}

// Encoding gives the value as GGUF files have it.
func (v Value) Encoding() (k Kind, raw []byte) {
	if v.kind == KindString {
		return v.kind, append(binary.LittleEndian.AppendUint64(nil, uint64(len(v.raw))), v.raw...)
	}
	return v.kind, v.raw
}

// Kind is what the value is stored as.
func (v Value) Kind() Kind { return v.kind }

// String gives the value as text, an array as JSON. Bytes that are not UTF-8, as
// some vocabularies have, become U+FFFD; numbers that JSON does not have, null. The zero
// Value is "none".
func (v Value) String() string {
	if v.kind == KindString {
		return strings.ToValidUTF8(string(v.raw), "\uFFFD")
	}
	if v.raw == nil {
		return "none"
	}
	text, _ := v.kind.append(nil, v.raw, false)
	return string(text)
}

// append writes the value at the beginning of raw to dst, and gives what follows
// it in raw.
func (k Kind) append(dst, raw []byte, inJSON bool) (written, rest []byte) {
	size := kindBytes[k]
	b, rest := raw[:size], raw[size:]
	le := binary.LittleEndian
	switch k {
	case KindU8:
		dst = strconv.AppendUint(dst, uint64(b[0]), 10)
	case KindI8:
		dst = strconv.AppendInt(dst, int64(int8(b[0])), 10)
	case KindU16:
		dst = strconv.AppendUint(dst, uint64(le.Uint16(b)), 10)
	case KindI16:
		dst = strconv.AppendInt(dst, int64(int16(le.Uint16(b))), 10)
	case KindU32:
		dst = strconv.AppendUint(dst, uint64(le.Uint32(b)), 10)
	case KindI32:
		dst = strconv.AppendInt(dst, int64(int32(le.Uint32(b))), 10)
	case KindU64:
		dst = strconv.AppendUint(dst, le.Uint64(b), 10)
	case KindI64:
		dst = strconv.AppendInt(dst, int64(le.Uint64(b)), 10)
	case KindF32:
		dst = appendFloat(dst, float64(math.Float32frombits(le.Uint32(b))), 32, inJSON)
	case KindF64:
		dst = appendFloat(dst, math.Float64frombits(le.Uint64(b)), 64, inJSON)
	case KindBool:
		dst = strconv.AppendBool(dst, b[0] == 1)
	case KindString:
		n := le.Uint64(b)
		dst, rest = appendJSONString(dst, rest[:n]), rest[n:]
	case KindArray:
		of, n := Kind(le.Uint32(b)), le.Uint64(b[4:])
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, rest = of.append(dst, rest, true)
		}
		dst = append(dst, ']')
	default: // there is no other
	}
	return dst, rest
}

// appendFloat writes the fewest digits that give the same number again.
func appendFloat(dst []byte, f float64, bits int, inJSON bool) []byte {
	if inJSON && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

func appendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default: // utf8.RuneError where it is not UTF-8
			dst = utf8.AppendRune(dst, r)
		}
		s = s[n:]
	}
	return append(dst, '"')
}

// Int gives a whole number of any kind that an int64 holds.
func (v Value) Int() (n int64, ok bool) {
	switch v.kind {
	case KindU8, KindI8, KindU16, KindI16, KindU32, KindI32, KindU64, KindI64:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}
