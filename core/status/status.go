// Package status holds the codes that every call of the library ends with, and
// the error value that carries one of them with the words for a person.
package status

import (
	"errors"
	"fmt"
)

// Code is the result of a call. Zero is success; errors are negative and their
// values never change, since hosts compile them in (QTSA_ERR_* of the header).
type Code int32

// The codes. Their order in the header is the order here.
const (
	OK                Code = 0
	InvalidArgument   Code = -1
	InvalidHandle     Code = -2
	ShapeMismatch     Code = -3
	Unsupported       Code = -4
	NotFound          Code = -5
	OutOfMemory       Code = -6
	IO                Code = -7
	Corrupt           Code = -8
	DeviceUnavailable Code = -9
	DeviceLost        Code = -10
	Busy              Code = -11
	Cancelled         Code = -12
	Forked            Code = -13
	NotWorthwhile     Code = -14
	AlreadyExists     Code = -15
	InvalidState      Code = -16
	Timeout           Code = -17
	VersionMismatch   Code = -18
	Internal          Code = -19
)

var names = map[Code]string{
	OK: "OK", InvalidArgument: "INVALID_ARGUMENT", InvalidHandle: "INVALID_HANDLE",
	ShapeMismatch: "SHAPE_MISMATCH", Unsupported: "UNSUPPORTED", NotFound: "NOT_FOUND",
	OutOfMemory: "OUT_OF_MEMORY", IO: "IO", Corrupt: "CORRUPT",
	DeviceUnavailable: "DEVICE_UNAVAILABLE", DeviceLost: "DEVICE_LOST", Busy: "BUSY",
	Cancelled: "CANCELLED", Forked: "FORKED", NotWorthwhile: "NOT_WORTHWHILE",
	AlreadyExists: "ALREADY_EXISTS", InvalidState: "INVALID_STATE", Timeout: "TIMEOUT",
	VersionMismatch: "VERSION_MISMATCH", Internal: "INTERNAL",
}

// String gives the code's name as it stands in the header, without the prefix;
// "UNKNOWN" for a value that is none.
func (c Code) String() string {
	if n, ok := names[c]; ok {
		return n
	}
	return "UNKNOWN"
}

// Error is an error with a code. Its text is for people and names what was
// wrong and where; programs look at the code.
type Error struct {
	Code Code
	text string
	err  error
}

func (e *Error) Error() string { return e.text }

// Unwrap gives the error that was wrapped with %w, if any.
func (e *Error) Unwrap() error { return e.err }

// Errorf makes an error with a code; the format is fmt.Errorf's.
func Errorf(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, text: err.Error(), err: errors.Unwrap(err)}
}

// Wrapf puts words in front of an error and keeps its code. A nil error stays nil.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Of(err), text: fmt.Sprintf(format, args...) + ": " + err.Error(), err: err}
}

// Of gives an error's code: OK for nil, Internal for an error without one.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
