// Package tensorfile is what files of named tensors have in common whatever their
// format: the table that a parser makes of a file's header, the limits that it
// keeps to, and the wording of its errors.
//
// A parser trusts nothing: it checks every length, count and offset against the
// file's size before it allocates or multiplies. Errors are CORRUPT, with the
// byte's offset and the field; UNSUPPORTED for what the format allows and this
// library does not have; IO where the file cannot be read.
package tensorfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Limits on what a header may take, so that no file costs much more than 100 MB
// or a second before its first tensor is read. Real ones stay far below: the
// largest vocabularies take 20 MB, the largest models some ten thousand tensors.
const (
	MaxHeaderBytes  = 40 << 20
	MaxTensors      = 1 << 17
	MaxMetadataKeys = 1 << 16
	MaxShards       = 1 << 10
)

// Table is what a file holds.
type Table struct {
	Entries  []Entry // in the order of their offsets, not overlapping
	Metadata map[string]metadata.Value
	Keys     []string // of Metadata, in the order of the file
}

// Entry is where one tensor's data lies. It is inside the file and as long as the
// type, or the file's own, says. A dimension may be 0.
type Entry struct {
	Name   string
	Type   tensor.Type
	Offset int64 // from the beginning of the file
	Bytes  int64
	// Foreign is nil where the library has the tensor as the file has it. If it cannot be
	// used, Type has no dtype, and as many elements as the file's shape.
	Foreign *Foreign
}

// InFile writes type and shape as the file has them.
func (e *Entry) InFile() string { return e.FileDType() + e.FileShape().String() }

// FileDType is what the file calls the element type: of those that the library has, its
// own name.
func (e *Entry) FileDType() string {
	if e.Foreign != nil {
		return e.Foreign.DType
	}
	return e.Type.DType.String()
}

// FileShape is the shape that the file has.
func (e *Entry) FileShape() tensor.Shape {
	if e.Foreign != nil {
		return e.Foreign.Shape
	}
	return e.Type.Shape
}

// Corruptf makes a CORRUPT error about the field at a byte's offset in the file.
func Corruptf(offset int64, format string, args ...any) error {
	return status.Errorf(status.Corrupt, "at byte %d: %s", offset, fmt.Sprintf(format, args...))
}

// Unsupportedf makes an UNSUPPORTED error about what stands at a byte's offset.
func Unsupportedf(offset int64, format string, args ...any) error {
	return status.Errorf(status.Unsupported, "at byte %d: %s", offset, fmt.Sprintf(format, args...))
}

// ReadAt fills dst from an offset that was inside the file when it was opened.
func ReadAt(r io.ReaderAt, dst []byte, offset int64) error {
	n, err := r.ReadAt(dst, offset)
	if n == len(dst) {
		return nil
	}
	return ReadError(err, offset+int64(n))
}

// ReadError makes an IO error of what reading gave at an offset.
func ReadError(err error, offset int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Errorf(status.IO, "at byte %d: the file has become shorter while it was read", offset)
	}
	return status.Errorf(status.IO, "at byte %d: %w", offset, err)
}

// CheckName finds what is wrong with a tensor's name, which lies at an offset: it
// must be UTF-8 and free of zero bytes, since hosts ask for it as a C text.
func CheckName(name string, offset int64) error {
	return checkText("the tensor name", name, offset)
}

// CheckKey is the same for a metadata key.
func CheckKey(key string, offset int64) error { return checkText("the metadata key", key, offset) }

func checkText(what, text string, offset int64) error {
	if !utf8.ValidString(text) {
		return Corruptf(offset, "%s %.200q is not UTF-8", what, text)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return Corruptf(offset, "%s %.200q has a zero byte", what, text)
	}
	return nil
}

// CheckType finds what is wrong with the type of a tensor that a file describes
// at an offset, and gives the size of its data.
func CheckType(t tensor.Type, offset int64) (bytes int64, err error) {
	if err := t.Check(true); err != nil {
		return 0, Corruptf(offset, "%v", err)
	}
	return t.Bytes(), nil
}
