package weights

import (
	"sync"

	"qtsaccel/core/status"
)

// Copy is a tensor's data as a backend keeps it: memory of the device, a
// rearranged layout, or on a CPU no more than a description that points at the
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
	mu     sync.Mutex // held while copies are freed, never while one is made
	closed bool
	of     map[*Weights]map[copyKey]*deviceCopy
}

type copyKey struct {
	tensor *Tensor
	layout any
}

// deviceCopy is a copy that is made, being made under its lock, or gone.
type deviceCopy struct {
	mu   sync.Mutex
	copy Copy
	gone bool
}

// Get gives the copy of a tensor in a layout, any comparable value of the
// backend's own. The first call freezes the tensor and makes the copy with its
// data; calls at the same time wait for it. If create fails, so does the call,
// and the next one tries again. create must not call the DeviceCopies.
//
// INVALID_STATE: the tensor has no data yet, the weights were released, or the
// DeviceCopies are closed.
func (c *DeviceCopies) Get(t *Tensor, layout any, create func(data []byte) (Copy, error)) (Copy, error) {
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
		made, err := create(data)
		if err != nil {
			return nil, status.Wrapf(err, "tensor %q, %v", t.Name, t.Type)
		}
		e.copy = made
	}
	return e.copy, nil
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
		e.free()
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
			e.free()
		}
	}
	c.of = nil
}

func (e *deviceCopy) free() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.copy != nil {
		e.copy.Free()
	}
	e.copy, e.gone = nil, true
}
