package handle

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"qtsaccel/core/status"
)

// Object is what a handle stands for. The table calls Release once, when the
// handle is freed and nothing that was acquired through it is in use any more.
type Object interface{ Release() }

// Table holds the objects of all kinds. Its methods may be called from any
// goroutine.
type Table struct {
	salt   uint64
	chunks [maxSlots / chunkSlots]atomic.Pointer[[chunkSlots]slot]
	live   [kinds]atomic.Int64

	mu     sync.Mutex // guards what follows, and the making of chunks
	opened uint32     // slots that were ever used
	unused []uint32   // of these, the ones to be used again
}

// Slots are made by the chunk and never move, so that a lookup needs no lock.
const chunkSlots = 1 << 10

// A slot serves one handle after the other, each with a generation of its own.
type slot struct {
	// state is, from the highest bit, whether the handle is valid (1), the
	// handle's generation and kind (28), and how many use the object (32).
	state  atomic.Uint64
	object Object
	index  uint32
}

const (
	valid     = 1 << 63
	users     = 1<<32 - 1
	kindShift = 32
	genShift  = kindShift + kindBits
)

// idle is the state of a slot with a valid handle that nobody uses.
func idle(generation uint32, k Kind) uint64 {
	return valid | uint64(generation)<<genShift | uint64(k)<<kindShift
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{salt: rand.Uint64() >> (64 - valueBits)} }

// Live counts the objects of a kind that were added and not released yet.
func (t *Table) Live(k Kind) int64 { return t.live[k].Load() }

func (t *Table) add(k Kind, object Object) (Handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s *slot
	if n := len(t.unused); n > 0 {
		s = t.at(t.unused[n-1])
		t.unused = t.unused[:n-1]
	} else {
		if t.opened == maxSlots {
			return 0, status.Errorf(status.OutOfMemory, "all %d handles are in use", maxSlots)
		}
		c := &t.chunks[t.opened/chunkSlots]
		if c.Load() == nil {
			c.Store(new([chunkSlots]slot))
		}
		s = t.at(t.opened)
		s.index = t.opened
		t.opened++
	}
	generation := uint32(s.state.Load()>>genShift)&maxGeneration + 1
	s.object = object
	s.state.Store(idle(generation, k)) // from here on it can be looked up
	t.live[k].Add(1)
	return sealed(s.index, generation, k, t.salt), nil
}

// at gives a slot, nil where none was made yet.
func (t *Table) at(index uint32) *slot {
	c := t.chunks[index/chunkSlots].Load()
	if c == nil {
		return nil
	}
	return &c[index%chunkSlots]
}

// acquire finds the slot of a handle and counts the caller among its users; nil
// where the handle is none of this kind.
func (t *Table) acquire(h Handle, k Kind) *slot {
	if h.kind() != k || !h.intact(t.salt) {
		return nil
	}
	s := t.at(h.index())
	if s == nil {
		return nil
	}
	for want := idle(h.generation(), k); ; {
		now := s.state.Load()
		if now&^users != want {
			return nil
		}
		if s.state.CompareAndSwap(now, now+1) {
			return s
		}
	}
}

// release ends one use. After the handle was freed, the last to do so lets the
// object go.
func (t *Table) release(s *slot) {
	if now := s.state.Add(^uint64(0)); now&(valid|users) == 0 {
		t.retire(s)
	}
}

func (t *Table) free(h Handle, k Kind) error {
	s := t.acquire(h, k)
	if s == nil {
		return t.explain(h, k)
	}
	if now := s.state.And(^uint64(valid)); now&valid == 0 {
		t.release(s) // another thread freed it between these lines
		return t.explain(h, k)
	}
	t.release(s)
	return nil
}

// retire lets a slot's object go and keeps the slot for another, unless its
// generations are used up: reuse must never bring an old handle back to life.
func (t *Table) retire(s *slot) {
	object, state := s.object, s.state.Load()
	s.object = nil
	k := Kind(state>>kindShift) & (1<<kindBits - 1)
	if uint32(state>>genShift)&maxGeneration < maxGeneration {
		t.mu.Lock()
		t.unused = append(t.unused, s.index)
		t.mu.Unlock()
	}
	object.Release()
	t.live[k].Add(-1)
}

// explain says what is wrong with a handle that could not be acquired.
func (t *Table) explain(h Handle, want Kind) error {
	switch {
	case h == 0:
		return status.Errorf(status.InvalidHandle, "handle is null, want a %v", want)
	case h>>32 == 0 || h>>31 == 1<<33-1: // cut to 32 bits, and perhaps widened with its sign
		return status.Errorf(status.InvalidHandle, "handle %#x is truncated to 32 bits, want a %v", uint64(h), want)
	case !h.intact(t.salt) || h.kind() == 0 || int(h.kind()) >= kinds || !t.issued(h):
		return status.Errorf(status.InvalidHandle, "handle %#x is none that this library gave out, want a %v", uint64(h), want)
	}
	if s := t.acquire(h, h.kind()); s != nil {
		t.release(s)
		return status.Errorf(status.InvalidHandle, "handle is a %v, want a %v", h.kind(), want)
	}
	if h.kind() != want {
		return status.Errorf(status.InvalidHandle, "handle is a freed %v, want a %v", h.kind(), want)
	}
	return status.Errorf(status.InvalidHandle, "handle is freed; it was a %v", want)
}

// issued says whether the handle's slot has reached its generation.
func (t *Table) issued(h Handle) bool {
	s := t.at(h.index())
	return s != nil && h.generation() > 0 && h.generation() <= uint32(s.state.Load()>>genShift)&maxGeneration
}
