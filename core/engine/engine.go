// Package engine has the backends of a process: each is opened once and shared by its
// users, who are sessions and operator-level calls.
package engine

import (
	"errors"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/refcount"
)

// Backend is a backend that its users share; it is closed when the last lets go.
type Backend struct {
	impl   backend.Backend
	report *choice.Report
	calls  *oplevel.Calls
	debug  func(line string)
	refs   refcount.Counter
}

// Open makes a backend as [choice.Choose] does, with one reference.
func Open(r choice.Request, getenv func(string) string, providers map[string]choice.Provider) (*Backend, error) {
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

// Impl is the backend itself. It is open as long as the caller holds a reference.
func (b *Backend) Impl() backend.Backend { return b.impl }

// Debug is told, a line at a time, what the backend's users do; nil: nobody wants to
// know.
func (b *Backend) Debug() func(line string) { return b.debug }

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
func (b *Backend) Report() *choice.Report {
	now := *b.report
	now.Backend = b.impl.Info()
	return &now
}

// Name is what computes, then the device's own name.
func (b *Backend) Name() string {
	i := b.report.Backend
	return i.Name + " (" + i.Description + ")"
}
