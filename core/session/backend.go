// Package session runs graphs: a Backend that sessions share, a Session with its
// state, and the Plans that are made on it.
package session

import (
	"errors"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/refcount"
	"qtsaccel/core/status"
)

// Backend is a backend that its users share; it is closed when the last lets go.
type Backend struct {
	impl   backend.Backend
	report *choice.Report
	calls  *oplevel.Calls
	debug  func(line string) // nil: nobody wants to know
	refs   refcount.Counter
}

// OpenBackend makes a backend as [choice.Choose] does, with one reference.
func OpenBackend(r choice.Request, getenv func(string) string, providers map[string]choice.Provider) (*Backend, error) {
	impl, report, err := choice.Choose(r, getenv, providers)
	debugChoice(r.Debug, report, err)
	if err != nil {
		return nil, err
	}
	// Found here, not when an operator-level call first asks for it.
	if _, err := oplevel.CalibrationWanted(getenv); err != nil {
		return nil, errors.Join(err, impl.Close())
	}
	b := &Backend{impl: impl, report: report, debug: r.Debug}
	b.calls = oplevel.New(impl, oplevel.Around{Owner: b, Getenv: getenv})
	return b, nil
}

// Calls are the operator-level calls on the backend.
func (b *Backend) Calls() *oplevel.Calls { return b.calls }

// Retain adds a reference.
func (b *Backend) Retain() { b.refs.Retain() }

// Release gives one back.
func (b *Backend) Release() {
	if b.refs.Release() {
		b.calls.Close()
		// Nobody is left whom an error could reach.
		_ = b.impl.Close()
	}
}

// Report tells how the backend was chosen and what it is, with what it has come to note
// since.
func (b *Backend) Report(f Format) (string, error) {
	now := *b.report
	now.Backend = b.impl.Info()
	if f == JSON {
		return now.JSON()
	}
	return now.Text(), nil
}

// Name is what computes, then the device's own name.
func (b *Backend) Name() string {
	i := b.report.Backend
	return i.Name + " (" + i.Description + ")"
}

// Format is the form of a report; the values are the header's QTSA_FORMAT_*.
type Format int32

// The formats.
const (
	Text Format = 0
	JSON Format = 1
)

// Check says whether the format is one of those.
func (f Format) Check() error {
	if f != Text && f != JSON {
		return status.Errorf(status.InvalidArgument, "format is %d, want 0 (text) or 1 (JSON)", int32(f))
	}
	return nil
}
