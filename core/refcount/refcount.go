// Package refcount counts the users of an object that goes with the last of them.
package refcount

import "sync/atomic"

// Counter counts references. The zero value has one, its maker's. Its methods may be
// called from any goroutine.
type Counter struct {
	more atomic.Int64 // references beyond the first; -1: the last one has gone
}

// Retain adds a reference, and says whether it could: not once the last one has gone.
func (c *Counter) Retain() bool {
	for {
		n := c.more.Load()
		if n < 0 {
			return false
		}
		if c.more.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back, and says whether it was the last: the object is to be
// freed then. One release too many does nothing.
func (c *Counter) Release() (last bool) {
	for {
		n := c.more.Load()
		if n < 0 {
			return false
		}
		if c.more.CompareAndSwap(n, n-1) {
			return n == 0
		}
	}
}

// Live says whether there is a reference.
func (c *Counter) Live() bool { return c.more.Load() >= 0 }
