// Package session runs graphs: a Session is one stream of work on a backend, with its
// state, and has the Plans that are made on it.
package session

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/refcount"
	"qtsaccel/core/run"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Session is one stream of work on a backend, with its state. Calls on it take
// turns.
type Session struct {
	backend *engine.Backend
	refs    refcount.Counter

	turn   sync.Mutex // held by whoever uses what follows, but for a cancel
	stream *run.Stream
	states map[string]tensor.Type
}

// New makes a session with one reference; it retains the backend.
func New(b *engine.Backend) (*Session, error) {
	stream, err := run.Open(b.Impl())
	if err != nil {
		return nil, status.Wrapf(err, "session")
	}
	b.Retain()
	return &Session{backend: b, stream: stream, states: map[string]tensor.Type{}}, nil
}

// Retain adds a reference.
func (s *Session) Retain() { s.refs.Retain() }

// Release gives one back.
func (s *Session) Release() {
	if !s.refs.Release() {
		return
	}
	_ = s.stream.Close()
	s.backend.Release()
}

// Reset sets all state to zero.
func (s *Session) Reset() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	return status.Wrapf(s.stream.ResetState(), "reset")
}

// Read copies n bytes of a state from an offset on to dst.
func (s *Session) Read(state string, offset uint64, dst unsafe.Pointer, n uint64) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.checkRange(state, offset, n); err != nil || n == 0 {
		return err
	}
	return status.Wrapf(s.stream.ReadState(state, int64(offset), dst, int64(n)), "read of state %q", state)
}

// Write copies n bytes from src into a state at an offset.
func (s *Session) Write(state string, offset uint64, src unsafe.Pointer, n uint64) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.checkRange(state, offset, n); err != nil || n == 0 {
		return err
	}
	return status.Wrapf(s.stream.WriteState(state, int64(offset), src, int64(n)), "write of state %q", state)
}

func (s *Session) checkRange(state string, offset, n uint64) error {
	t, ok := s.states[state]
	if !ok {
		known := make([]string, 0, len(s.states))
		for name := range s.states {
			known = append(known, fmt.Sprintf("%q", name))
		}
		sort.Strings(known)
		if len(known) == 0 {
			known = []string{"none"}
		}
		return status.Errorf(status.NotFound, "no plan on the session has a state %q; states: %s", state, strings.Join(known, ", "))
	}
	if size := uint64(t.Bytes()); offset > size || n > size-offset {
		return status.Errorf(status.ShapeMismatch, "%d bytes at offset %d are asked for, state %q (%v) has %d", n, offset, state, t, size)
	}
	return nil
}

// addStates gives the session the states that a graph declares. Either all are
// had afterwards, or what was there before is unchanged.
func (s *Session) addStates(names []string, types []tensor.Type) error {
	for i, name := range names {
		if have, ok := s.states[name]; ok && !have.Equal(types[i]) {
			return status.Errorf(status.ShapeMismatch, "state %q is %v, the session has it as %v", name, types[i], have)
		}
	}
	for i, name := range names {
		if _, ok := s.states[name]; ok {
			continue
		}
		if err := s.stream.AddState(name, types[i]); err != nil {
			return status.Wrapf(err, "state %q %v", name, types[i])
		}
		s.states[name] = types[i]
	}
	return nil
}

// Cancel asks the run in progress to stop. It waits for nothing.
func (s *Session) Cancel() { s.stream.Cancel() }
