// Package fallback puts one backend behind another: what the first, a GPU, does not
// compute goes to the second, a CPU. It is a backend itself, made of two others of
// which it knows the interface only.
//
// A program is cut into segments of nodes that one device computes after another
// (partition.go). A segment is a program of its own (segment.go); what one makes
// and another needs is copied between them (executable.go). A program that the
// first backend computes alone is handed to it as it is and costs nothing more.
package fallback

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// device says which of the two backends something is on.
type device int

const (
	primary device = iota
	companion
)

// Backend is two backends as one.
type Backend struct {
	of [2]backend.Backend
}

// New gives a primary backend a companion to fall back on; both are closed with the result.
func New(first, second backend.Backend) *Backend {
	return &Backend{of: [2]backend.Backend{first, second}}
}

// Info is the primary's, with a note on the companion.
func (b *Backend) Info() backend.Info {
	info, other := b.of[primary].Info(), b.of[companion].Info()
	info.Notes = append(slices.Clip(info.Notes),
		fmt.Sprintf("fallback, for what it does not compute: %s (%s)", other.Name, other.Description))
	return info
}

// Own says whether the primary computes a call itself.
func (b *Backend) Own(c *ops.Call) bool { return b.of[primary].Supports(c) }

// Fallback is the companion.
func (b *Backend) Fallback() backend.Backend { return b.of[companion] }

// Supports takes what the primary computes and, of what it does not, what cannot be
// taken apart: the parts of the rest may be its own.
func (b *Backend) Supports(c *ops.Call) bool {
	return b.Own(c) || !c.Op.Writes && !c.Decomposes() && b.of[companion].Supports(c)
}

// NewStream makes a stream on both.
func (b *Backend) NewStream() (backend.Stream, error) {
	s := &stream{backend: b, states: map[string]tensor.Type{}, spare: map[string][]string{}}
	var err error
	for d := range b.of {
		if s.on[d], err = b.of[d].NewStream(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Upload puts tensors onto the primary; the companion takes what it needs when it does.
func (b *Backend) Upload(tensors []*weights.Tensor, progress func(done int64) bool) error {
	return b.of[primary].Upload(tensors, progress)
}

// WeightBytes is what weights take on the primary.
func (b *Backend) WeightBytes(w *weights.Weights) int64 { return b.of[primary].WeightBytes(w) }

// Close closes both.
func (b *Backend) Close() error { return errors.Join(b.of[primary].Close(), b.of[companion].Close()) }

// stream is a stream on each; the state is the primary's.
type stream struct {
	backend *Backend
	on      [2]backend.Stream
	states  map[string]tensor.Type
	// Places on the primary for what one of its segments leaves to a later one, by
	// type. They are states of ours, and serve every executable: runs take turns.
	spare map[string][]string
}

func (s *stream) AddState(name string, t tensor.Type) error {
	if err := s.on[primary].AddState(name, t); err != nil {
		return err
	}
	s.states[name] = t
	return nil
}

func (s *stream) ResetState() error { return s.on[primary].ResetState() }

func (s *stream) ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error {
	return s.on[primary].ReadState(name, offset, dst, n)
}

func (s *stream) WriteState(name string, offset int64, src unsafe.Pointer, n int64) error {
	return s.on[primary].WriteState(name, offset, src, n)
}

func (s *stream) Build(p *graph.Program) (backend.Executable, error) {
	where := s.backend.assign(p)
	if slices.Contains(where, companion) {
		return s.build(p, where)
	}
	return s.on[primary].Build(p)
}

func (s *stream) Close() error {
	var errs []error
	for _, on := range s.on {
		if on != nil {
			errs = append(errs, on.Close())
		}
	}
	return errors.Join(errs...)
}

// place gives the n-th state for handing on a value of a type.
func (s *stream) place(t tensor.Type, n int) (string, error) {
	key := t.String()
	for len(s.spare[key]) <= n {
		name := fmt.Sprintf("\x00between segments: %s #%d", key, len(s.spare[key]))
		if err := s.on[primary].AddState(name, t); err != nil {
			return "", err
		}
		s.spare[key] = append(s.spare[key], name)
	}
	return s.spare[key][n], nil
}
