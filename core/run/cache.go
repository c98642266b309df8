package run

import (
	"errors"
	"io"
	"iter"
)

// Cache keeps what is expensive to make, by its key, in place of what was used longest
// ago. It is for one goroutine at a time.
type Cache[V io.Closer] struct {
	maxCount int
	maxBytes int64 // 0: no bound
	entries  map[string]*entry[V]
	bytes    int64
	// The entries as a list by their last use.
	newest, oldest *entry[V]
}

type entry[V io.Closer] struct {
	key          string
	value        V
	bytes        int64
	newer, older *entry[V]
}

// NewCache makes a cache of so many values that take so many bytes, 0 where these have no
// bound; one value is kept whatever it takes.
func NewCache[V io.Closer](maxCount int, maxBytes int64) *Cache[V] {
	return &Cache[V]{maxCount: maxCount, maxBytes: maxBytes, entries: map[string]*entry[V]{}}
}

// Has says whether there is a value, which does not count as use.
func (c *Cache[V]) Has(key []byte) bool { return c.find(key) != nil }

// Get gives a key's value, the zero one where there is none.
func (c *Cache[V]) Get(key []byte) (value V, ok bool) {
	if e := c.newest; e != nil && e.key == string(key) { // nearly always
		return e.value, true
	}
	return c.use(key)
}

func (c *Cache[V]) use(key []byte) (value V, ok bool) {
	e := c.find(key)
	if e == nil {
		return value, false
	}
	c.unlink(e)
	c.link(e)
	return e.value, true
}

func (c *Cache[V]) find(key []byte) *entry[V] {
	e := c.newest
	for range 2 { // of two that take turns it is one of these
		if e == nil {
			return nil
		}
		if e.key == string(key) {
			return e
		}
		e = e.older
	}
	return c.entries[string(key)]
}

// Add keeps a new key's value, and closes what had to make room for it: how many, and
// what went wrong with that.
func (c *Cache[V]) Add(key []byte, value V, bytes int64) (evicted int, err error) {
	for len(c.entries) >= c.maxCount || c.maxBytes > 0 && len(c.entries) > 0 && c.bytes+bytes > c.maxBytes {
		err = errors.Join(err, c.drop(c.oldest))
		evicted++
	}
	e := &entry[V]{key: string(key), value: value, bytes: bytes}
	c.entries[e.key] = e
	c.bytes += bytes
	c.link(e)
	return evicted, err
}

// Bytes is what all values take.
func (c *Cache[V]) Bytes() int64 { return c.bytes }

// All are the values, the one used last first.
func (c *Cache[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for e := c.newest; e != nil; e = e.older {
			if !yield(e.value) {
				return
			}
		}
	}
}

// Drop closes the values of which which says so.
func (c *Cache[V]) Drop(which func(V) bool) (err error) {
	for e := c.newest; e != nil; {
		older := e.older
		if which(e.value) {
			err = errors.Join(err, c.drop(e))
		}
		e = older
	}
	return err
}

// Close closes all values.
func (c *Cache[V]) Close() error { return c.Drop(func(V) bool { return true }) }

func (c *Cache[V]) drop(e *entry[V]) error {
	delete(c.entries, e.key)
	c.bytes -= e.bytes
	c.unlink(e)
	return e.value.Close()
}

// link makes an entry the newest.
func (c *Cache[V]) link(e *entry[V]) {
	e.newer, e.older = nil, c.newest
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
}

func (c *Cache[V]) unlink(e *entry[V]) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
}
