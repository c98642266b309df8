package gguf

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// kind is the type of a metadata value, by its number in the file.
type kind uint32

const (
	kindU8 kind = iota
	kindI8
	kindU16
	kindI16
	kindU32
	kindI32
	kindF32
	kindBool
	kindString
	kindArray
	kindU64
	kindI64
	kindF64
	kinds // how many there are
)

// kindBytes is the size of a value, or the least that it takes: a string's
// length, an array's kind and count.
var kindBytes = [kinds]int64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

var kindNames = [kinds]string{"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"}

// maxNesting is how many arrays may lie in each other.
const maxNesting = 16

// Value is a metadata value as its bytes in the file, which were checked. It
// becomes text when it is asked for: a vocabulary as Go values would take many
// times its bytes.
type Value struct {
	kind kind
	raw  []byte
}

// kind reads the number of a kind.
func (c *cursor) kind(what string) (kind, error) {
	at := c.pos
	n, err := c.u32(what)
	if err == nil && n >= uint32(kinds) {
		err = tensorfile.Corruptf(at, "%s is %d, there is none above %d", what, n, kinds-1)
	}
	return kind(n), err
}

// value passes a value and checks it on the way.
func (c *cursor) value(k kind, nesting int) error {
	switch k {
	case kindBool:
		return c.bools(1)
	case kindString:
		n, err := c.u64("the length of a string")
		if err == nil {
			_, err = c.take(n, "a string")
		}
		return err
	case kindArray:
		return c.array(nesting + 1)
	default:
		_, err := c.take(uint64(kindBytes[k]), "a value")
		return err
	}
}

func (c *cursor) bools(n uint64) error {
	at := c.pos
	b, err := c.take(n, "booleans")
	for i, v := range b {
		if v > 1 {
			return tensorfile.Corruptf(at+int64(i), "a boolean is %d, not 0 or 1", v)
		}
	}
	return err
}

func (c *cursor) array(nesting int) error {
	if nesting > maxNesting {
		return tensorfile.Corruptf(c.pos, "arrays are nested deeper than %d", maxNesting)
	}
	of, err := c.kind("the type of an array's elements")
	if err != nil {
		return err
	}
	n, err := c.count("the length of an array", kindBytes[of])
	if err != nil {
		return err
	}
	switch of {
	case kindBool:
		return c.bools(n)
	case kindString, kindArray:
		for range n {
			if err := c.value(of, nesting); err != nil {
				return err
			}
		}
		return nil
	default:
		_, err = c.take(n*uint64(kindBytes[of]), "an array")
		return err
	}
}

// String gives the value as text, an array as JSON. Bytes that are not UTF-8, as
// some vocabularies have, become U+FFFD; numbers that JSON does not have, null.
func (v Value) String() string {
	if v.kind == kindString {
		return strings.ToValidUTF8(string(v.raw[8:]), "\uFFFD")
	}
	text, _ := v.kind.append(nil, v.raw, false)
	return string(text)
}

// append writes the value at the beginning of raw to dst, and gives what follows
// it in raw.
func (k kind) append(dst, raw []byte, inJSON bool) (written, rest []byte) {
	size := kindBytes[k]
	b, rest := raw[:size], raw[size:]
	le := binary.LittleEndian
	switch k {
	case kindU8:
		dst = strconv.AppendUint(dst, uint64(b[0]), 10)
	case kindI8:
		dst = strconv.AppendInt(dst, int64(int8(b[0])), 10)
	case kindU16:
		dst = strconv.AppendUint(dst, uint64(le.Uint16(b)), 10)
	case kindI16:
		dst = strconv.AppendInt(dst, int64(int16(le.Uint16(b))), 10)
	case kindU32:
		dst = strconv.AppendUint(dst, uint64(le.Uint32(b)), 10)
	case kindI32:
		dst = strconv.AppendInt(dst, int64(int32(le.Uint32(b))), 10)
	case kindU64:
		dst = strconv.AppendUint(dst, le.Uint64(b), 10)
	case kindI64:
		dst = strconv.AppendInt(dst, int64(le.Uint64(b)), 10)
	case kindF32:
		dst = appendFloat(dst, float64(math.Float32frombits(le.Uint32(b))), 32, inJSON)
	case kindF64:
		dst = appendFloat(dst, math.Float64frombits(le.Uint64(b)), 64, inJSON)
	case kindBool:
		dst = strconv.AppendBool(dst, b[0] == 1)
	case kindString:
		n := le.Uint64(b)
		dst, rest = appendJSONString(dst, rest[:n]), rest[n:]
	case kindArray:
		of, n := kind(le.Uint32(b)), le.Uint64(b[4:])
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, rest = of.append(dst, rest, true)
		}
		dst = append(dst, ']')
	default: // kind passes no other
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
	case kindU8, kindI8, kindU16, kindI16, kindU32, kindI32, kindU64, kindI64:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// Kind names the type of the value: "u32", "string", "array".
func (v Value) Kind() string { return kindNames[v.kind] }

// alignment reads general.alignment.
func (v Value) alignment() (int64, error) {
	if v.kind != kindU32 {
		return 0, status.Errorf(status.Corrupt, "it is %s, not u32", kindNames[v.kind])
	}
	n := binary.LittleEndian.Uint32(v.raw)
	if n == 0 || n&(n-1) != 0 {
		return 0, status.Errorf(status.Corrupt, "it is %d, not a power of two", n)
	}
	return int64(n), nil
}
