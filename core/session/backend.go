// Package session runs graphs: a Backend that sessions share, a Session with its
// state, and the Plans that are made on it.
package session

import (
	"sync/atomic"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// Backend is a backend that its users share; it is closed when the last lets go.
type Backend struct {
	impl   backend.Backend
	report *choice.Report
	refs   atomic.Int64
}

// OpenBackend makes a backend as [choice.Choose] does, with one reference.
func OpenBackend(r choice.Request, getenv func(string) string, providers map[string]choice.Provider) (*Backend, error) {
	impl, report, err := choice.Choose(r, getenv, providers)
	if err != nil {
		return nil, err
	}
	b := &Backend{impl: impl, report: report}
	b.refs.Store(1)
	return b, nil
}

// Retain adds a reference.
func (b *Backend) Retain() { b.refs.Add(1) }

// Release gives one back.
func (b *Backend) Release() {
	if b.refs.Add(-1) == 0 {
		// Nobody is left whom an error could reach.
		_ = b.impl.Close()
	}
}

// Report tells how the backend was chosen and what it is.
func (b *Backend) Report(f Format) (string, error) {
	if f == JSON {
		return b.report.JSON()
	}
	return b.report.Text(), nil
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
