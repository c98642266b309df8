// Package oplevel runs single operators on a backend for hosts that keep a graph of
// their own: products over one input, fused convolution, attention, and any other
// operator of the table.
//
// Behind each call stands a small program, built once for its operator, attributes,
// shapes and weights ([builder] writes it), kept by a worker ([worker], one stream
// of the backend each), and found again by its key. A call leases a worker, uploads,
// computes, downloads, and gives the worker back; when all are out it waits. The
// second call of a kind builds nothing and allocates nothing.
//
// To add a call of its own shape, write one file as matmul.go is: check the
// arguments, write the key, and build the graph of a call that is met first.
package oplevel

import (
	"sync"
	"sync/atomic"
	"time"

	"qtsaccel/core/abi"
	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// Flags say what to do with a call that the device should not or cannot run; the
// values are the header's.
type Flags int32

// The flags.
const (
	// OnlyIfWorthwhile declines, with [ErrDeclined], what [Calls.Wants] advises
	// against.
	OnlyIfWorthwhile Flags = abi.OnlyIfWorthwhile
	// OnCPUIfDeclined computes on the CPU fallback what was declined, and
	// what the device cannot do or has no memory for.
	OnCPUIfDeclined Flags = abi.OnCPUIfDeclined
)

func (f Flags) check() error {
	if unknown := f &^ (OnlyIfWorthwhile | OnCPUIfDeclined); unknown != 0 {
		return status.Errorf(status.InvalidArgument, "flags has %#x, which means nothing", int32(unknown))
	}
	return nil
}

// ErrDeclined is the error of a call that was declined: NOT_WORTHWHILE. It is always
// the same, so that declining costs nothing.
var ErrDeclined = status.Errorf(status.NotWorthwhile, "the device is not worth its while for this call")

// Owner is whoever must live as long as a matrix does.
type Owner interface {
	Retain()
	Release()
}

// Calls are the operator-level calls on one backend. Their methods may be used from
// any goroutine.
type Calls struct {
	impl   backend.Backend
	info   backend.Info
	owner  Owner
	getenv func(string) string
	// supports says what the backend computes by itself: what it would leave to
	// its fallback counts as declined.
	supports func(*ops.Call) bool
	// fallback has the calls on what the backend leaves its own work to; they compute
	// what is declined. Nil where there is none.
	fallback *Calls

	mu       sync.Mutex // guards what follows
	returned sync.Cond  // a worker has become free
	free     []*worker  // the one used last at the end
	opened   int
	requests []*request // to be used again

	sweeps atomic.Uint64 // counts released matrices
	stats  stats
	wants  wants
}

// maxWorkers bounds the calls of one backend that run side by side.
const maxWorkers = 4

// Around is what surrounds the calls of a backend.
type Around struct {
	Owner  Owner               // retained by each matrix; may be nil
	Getenv func(string) string // reads a variable, "" if unset
}

// New makes the calls of a backend, which stays the caller's and must outlive them.
func New(impl backend.Backend, a Around) *Calls {
	c := &Calls{impl: impl, info: impl.Info(), owner: a.Owner, getenv: a.Getenv, supports: impl.Supports}
	if assisted, ok := impl.(backend.Assisted); ok {
		c.supports = assisted.Own
		c.fallback = New(assisted.Fallback(), Around{Getenv: a.Getenv})
	}
	c.returned.L = &c.mu
	c.stats.since = time.Now()
	return c
}

// Close gives everything back, after a measurement that goes on has ended. No call is
// under way, and no matrix is left.
func (c *Calls) Close() {
	c.wants.lockIdle()
	defer c.wants.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.free {
		w.close()
	}
	c.free, c.opened = nil, 0
	if c.fallback != nil {
		c.fallback.Close()
	}
}

// run makes a call happen, or declines it.
func (c *Calls) run(r *request, write func(*builder)) error {
	if r.flags&OnlyIfWorthwhile != 0 && !c.worthwhile(r.cost, r.work) {
		return c.decline(r, write, ErrDeclined)
	}
	start := time.Now()
	err := c.compute(r, write)
	if err == nil {
		c.stats.ran(r, time.Since(start))
		return nil
	}
	switch status.Of(err) {
	case status.Unsupported:
		return c.decline(r, write, err)
	case status.OutOfMemory: // the device's, which the CPU has no need of
		if r.flags&OnCPUIfDeclined != 0 && !c.info.OnHost {
			return c.decline(r, write, err)
		}
	default:
	}
	return err
}

func (c *Calls) decline(r *request, write func(*builder), reason error) error {
	c.stats.declined(r, reason)
	if r.flags&OnCPUIfDeclined == 0 {
		return reason
	}
	if c.fallback == nil {
		return reason
	}
	r.flags &^= OnlyIfWorthwhile // what is wanted there is as good as anything
	return c.fallback.run(r, write)
}

func (c *Calls) compute(r *request, write func(*builder)) (err error) {
	w, err := c.lease(r.key)
	if err != nil {
		return status.Wrapf(err, "%s", r.op)
	}
	defer func() { c.giveBack(w, err) }()
	p, ok := w.programs.Get(r.key)
	if !ok {
		if p, err = w.build(c, r, write); err != nil {
			return err
		}
	}
	return p.run(w, r)
}
