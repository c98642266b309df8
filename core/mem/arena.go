package mem

import (
	"errors"
	"sync"

	"qtsaccel/core/status"
)

const (
	// chunkBytes is how much an arena maps at a time.
	chunkBytes = 1 << 20
	// ownBytes and more get a mapping of their own, so that a chunk's end is
	// never a large loss.
	ownBytes = chunkBytes / 4
)

// Arena gives many pieces of memory that all go back at once. The zero value is
// ready. Its methods may be called from any goroutine.
type Arena struct {
	mu     sync.Mutex
	maps   [][]byte
	rest   []byte // of the newest chunk
	closed bool
}

// Alloc gives n bytes, all zero, aligned to [Alignment], valid until Free. Errors
// are those of [Alloc]; INVALID_STATE after Free.
func (a *Arena) Alloc(n int64) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, status.Errorf(status.InvalidState, "%d bytes wanted of an arena that was freed", n)
	}
	if n <= 0 || n >= ownBytes {
		return a.mapped(n)
	}
	padded := (n + Alignment - 1) / Alignment * Alignment
	if padded > int64(len(a.rest)) {
		chunk, err := a.mapped(chunkBytes)
		if err != nil {
			return nil, status.Wrapf(err, "chunk for %d bytes", n)
		}
		a.rest = chunk
	}
	b := a.rest[:n:n]
	a.rest = a.rest[padded:]
	return b, nil
}

// Keep takes over what [Alloc] gave, filled meanwhile, and gives it as a piece of the
// arena's: small ones are copied to the others, and b goes back. So whoever may fail
// while it fills memory leaves nothing in the arena. Where Keep fails, b is still the
// caller's.
func (a *Arena) Keep(b []byte) ([]byte, error) {
	if n := len(b); n > 0 && n < ownBytes {
		piece, err := a.Alloc(int64(n))
		if err != nil {
			return nil, err
		}
		copy(piece, b)
		return piece, Free(b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, status.Errorf(status.InvalidState, "%d bytes given to an arena that was freed", len(b))
	}
	if len(b) > 0 {
		a.maps = append(a.maps, b)
	}
	return b, nil
}

func (a *Arena) mapped(n int64) ([]byte, error) {
	b, err := Alloc(n)
	if err == nil && n > 0 {
		a.maps = append(a.maps, b)
	}
	return b, err
}

// Free gives all pieces back. Freeing twice is fine.
func (a *Arena) Free() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, b := range a.maps {
		errs = append(errs, Free(b))
	}
	a.maps, a.rest, a.closed = nil, nil, true
	return errors.Join(errs...)
}
