package weights

import (
	"fmt"
	"sync"
	"sync/atomic"

	"qtsaccel/core/status"
)

// Copy is a tensor's data as a backend keeps it: memory of the device, a
// repacked layout, or on a CPU no more than a description that points at the
// host memory.
type Copy interface {
	// Free gives the copy back. It is called once, from any goroutine, also
	// while the backend works on other things; never after [DeviceCopies.Close]
	// has returned. It must not call the DeviceCopies it came from.
	Free()
}

// DeviceCopies are the copies that one backend has made, one per tensor and
// layout, however many sessions use it. The zero value is ready. Its methods may
// be called from any goroutine.
//
// A copy lives until the last reference to its tensor's weights goes, or the
// backend closes. So whatever computes with a copy must hold a reference
// meanwhile: an executable calls [Tensor.Retain] for each of its weights when it
// is built and [Tensor.Release] when it is closed.
type DeviceCopies struct {
	// Budget is how many bytes the copies may take together, 0: as many as the
	// device gives. It is set before the first copy is made.
	Budget int64

	batch  sync.Mutex // held by GetAll
	mu     sync.Mutex // held while copies are freed, never while one is made; guards of
	closed bool
	used   atomic.Int64 // bytes of the copies that are made or being made
	of     map[*Weights]map[copyKey]*deviceCopy
}

type copyKey struct {
	tensor *Tensor
	layout any
}

// deviceCopy is a copy that is made, being made under its lock, or gone.
type deviceCopy struct {
	mu    sync.Mutex
	copy  Copy
	gone  bool
	bytes atomic.Int64 // written under mu; read without it, which is held while the copy is made
}

// Get gives the copy of a tensor in a layout, any comparable value of the
// backend's own. The first call freezes the tensor and makes the copy with its
// data; calls at the same time wait for it. If create fails, so does the call,
// and the next one tries again. create must not call the DeviceCopies. bytes is the
// memory that the copy takes, 0 where it lies in the tensor's own.
//
// INVALID_STATE: the tensor has no data yet, the weights were released, or the
// DeviceCopies are closed; OUT_OF_MEMORY: the budget has not so many bytes left.
func (c *DeviceCopies) Get(t *Tensor, layout any, bytes int64, create func(data []byte) (Copy, error)) (Copy, error) {
	data, err := t.Freeze()
	if err != nil {
		return nil, err
	}
	if !t.weights.use() {
		return nil, errReleased()
	}
	defer t.weights.Release() // after the copy's lock: it may be the last, and free the copy
	e, err := c.entry(t, layout)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, errClosed(t)
	}
	if e.copy == nil {
		err := c.reserve(bytes)
		if err == nil {
			if e.copy, err = create(data); err != nil {
				e.copy = nil
				c.used.Add(-bytes)
			}
		}
		if err != nil {
			return nil, status.Wrapf(err, "tensor %q, %v", t.Name, t.Type)
		}
		e.bytes.Store(bytes)
	}
	return e.copy, nil
}

// Missing is a tensor without a copy, of which one is to be made of so many bytes.
type Missing struct {
	Tensor *Tensor
	Bytes  int64
	entry  *deviceCopy
}

// GetAll sees to it that each of the tensors has a copy in a layout. create makes
// those that are missing, in any order, and tells of each that is ready; those stay,
// also where it fails. Gets for one of the tensors wait for it. bytes says what the
// copy of a tensor takes. Errors are those of [DeviceCopies.Get]; where the budget is
// too small for all that is missing, none is made.
func (c *DeviceCopies) GetAll(tensors []*Tensor, layout any, bytes func(*Tensor) int64,
	create func(missing []Missing, ready func(i int, made Copy)) error,
) error {
	c.batch.Lock() // two batches could wait for each other's entries
	defer c.batch.Unlock()
	missing, err := c.missing(tensors, layout, bytes)
	// After the copies' locks: a reference may be the last, and free the copy.
	defer func() {
		for _, m := range missing {
			m.Tensor.Release()
		}
	}()
	if err != nil || len(missing) == 0 {
		return err
	}
	defer func() {
		for _, m := range missing {
			m.entry.mu.Unlock()
		}
	}()
	absent := missing[:0:0]
	total := int64(0)
	for _, m := range missing {
		m.entry.mu.Lock()
		if m.entry.gone {
			err = errClosed(m.Tensor)
		} else if m.entry.copy == nil {
			absent = append(absent, m)
			total += m.Bytes
		}
	}
	if err != nil || len(absent) == 0 {
		return err
	}
	if err := c.reserve(total); err != nil {
		return status.Wrapf(err, "%s", nameOf(absent))
	}
	err = create(absent, func(i int, made Copy) {
		absent[i].entry.copy = made
		absent[i].entry.bytes.Store(absent[i].Bytes)
		total -= absent[i].Bytes
	})
	c.used.Add(-total)
	return err
}

// nameOf names what is missing in a message.
func nameOf(missing []Missing) string {
	if len(missing) == 1 {
		return fmt.Sprintf("tensor %q, %v", missing[0].Tensor.Name, missing[0].Tensor.Type)
	}
	return fmt.Sprintf("%d tensors", len(missing))
}

// missing gives the tensors with their entries, each once. The caller releases them.
func (c *DeviceCopies) missing(tensors []*Tensor, layout any, bytes func(*Tensor) int64) (missing []Missing, err error) {
	seen := make(map[*Tensor]struct{}, len(tensors))
	for _, t := range tensors {
		if _, ok := seen[t]; ok {
			continue
		}
		seen[t] = struct{}{}
		if _, err := t.Freeze(); err != nil {
			return missing, err
		}
		if !t.weights.use() {
			return missing, errReleased()
		}
		missing = append(missing, Missing{Tensor: t, Bytes: bytes(t)})
		e, err := c.entry(t, layout)
		if err != nil {
			return missing, err
		}
		missing[len(missing)-1].entry = e
	}
	return missing, nil
}

// reserve takes bytes of the budget; used.Add gives them back.
func (c *DeviceCopies) reserve(bytes int64) error {
	for {
		used := c.used.Load()
		if free := c.Budget - used; c.Budget > 0 && bytes > free {
			return status.Errorf(status.OutOfMemory, "%d bytes wanted, %d free of the backend's budget of %d for weights", bytes, free, c.Budget)
		}
		if c.used.CompareAndSwap(used, used+bytes) {
			return nil
		}
	}
}

// Bytes is the memory that the copies of weights take, in all layouts: of those that
// are complete. It waits for none that is being made.
func (c *DeviceCopies) Bytes(w *Weights) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := int64(0)
	for _, e := range c.of[w] {
		total += e.bytes.Load()
	}
	return total
}

func errClosed(t *Tensor) error {
	return status.Errorf(status.InvalidState, "tensor %q: the backend was closed", t.Name)
}

// entry finds or adds the place of a copy. The caller holds a reference to the
// tensor's weights.
func (c *DeviceCopies) entry(t *Tensor, layout any) (*deviceCopy, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed(t)
	}
	if c.of == nil {
		c.of = map[*Weights]map[copyKey]*deviceCopy{}
	}
	if c.of[t.weights] == nil {
		c.of[t.weights] = map[copyKey]*deviceCopy{}
		t.weights.mu.Lock()
		t.weights.copies[c] = struct{}{}
		t.weights.mu.Unlock()
	}
	key := copyKey{t, layout}
	e := c.of[t.weights][key]
	if e == nil {
		e = &deviceCopy{}
		c.of[t.weights][key] = e
	}
	return e, nil
}

// drop frees the copies of weights whose last reference has gone: no Get for them
// is under way.
func (c *DeviceCopies) drop(w *Weights) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.of[w] {
		c.used.Add(-e.free())
	}
	delete(c.of, w)
}

// Close frees all copies; a Get under way ends first. Nothing computes with them
// any more. Closing twice is fine.
func (c *DeviceCopies) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for w, copies := range c.of {
		w.mu.Lock()
		delete(w.copies, c)
		w.mu.Unlock()
		for _, e := range copies {
			c.used.Add(-e.free())
		}
	}
	c.of = nil
}

// free gives the copy back, and how many bytes that were.
func (e *deviceCopy) free() (bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.copy != nil {
		e.copy.Free()
	}
	e.copy, e.gone = nil, true
	return e.bytes.Swap(0)
}
