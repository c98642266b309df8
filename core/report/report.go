// Package report tells what the library reports, to people as text and to programs as
// JSON.
package report

import (
	"encoding/json"

	"qtsaccel/core/abi"
	"qtsaccel/core/status"
)

// Format is the form of a report; the values are the header's QTSA_FORMAT_*.
type Format int32

// The formats.
const (
	Text Format = abi.FormatText
	JSON Format = abi.FormatJSON
)

// Report is what a report says. Package json writes it for programs.
type Report interface {
	// Text writes it for people.
	Text() string
}

// Write writes a report. INVALID_ARGUMENT: the format is none.
func (f Format) Write(r Report) (string, error) {
	switch f {
	case Text:
		return r.Text(), nil
	case JSON:
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return "", status.Errorf(status.Internal, "report: %w", err)
		}
		return string(text), nil
	default:
		return "", status.Errorf(status.InvalidArgument, "format is %d, want 0 (text) or 1 (JSON)", int32(f))
	}
}
