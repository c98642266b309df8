package gguf

import (
	"encoding/binary"
	"io"

	"qtsaccel/core/tensorfile"
)

// cursor reads a header of unknown length from the file's beginning. What it has
// passed stays in buf: values are kept as slices of it.
type cursor struct {
	r    io.ReaderAt
	size int64 // of the file
	buf  []byte
	pos  int64
}

// readAhead is how much more than what is needed is read at a time.
const readAhead = 256 << 10

// left is how many bytes of the file follow.
func (c *cursor) left() int64 { return c.size - c.pos }

// take gives the next n bytes, valid until the next call of take.
func (c *cursor) take(n uint64, what string) ([]byte, error) {
	if n > uint64(c.left()) {
		return nil, tensorfile.Corruptf(c.pos, "%s takes %d bytes, the file ends after %d", what, n, c.left())
	}
	end := c.pos + int64(n)
	if end > tensorfile.MaxHeaderBytes {
		return nil, tensorfile.Unsupportedf(c.pos, "%s of %d bytes makes the header longer than %d bytes, the most that is supported",
			what, n, tensorfile.MaxHeaderBytes)
	}
	if end > int64(len(c.buf)) {
		if err := c.fill(end); err != nil {
			return nil, err
		}
	}
	b := c.buf[c.pos:end]
	c.pos = end
	return b, nil
}

// fill reads on until buf reaches to end and a little further.
func (c *cursor) fill(end int64) error {
	most := min(c.size, tensorfile.MaxHeaderBytes)
	target := min(end+readAhead, most)
	if target > int64(cap(c.buf)) {
		// Growing by four at a time keeps all buffers together below 4/3 of the last.
		grown := make([]byte, len(c.buf), min(max(target, 4*int64(cap(c.buf))), most))
		copy(grown, c.buf)
		c.buf = grown
	}
	from := len(c.buf)
	if err := tensorfile.ReadAt(c.r, c.buf[from:target], int64(from)); err != nil {
		return err
	}
	c.buf = c.buf[:target]
	return nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number of things that take at least least bytes each, so that no
// number beyond what the file can hold is believed.
func (c *cursor) count(what string, least int64) (uint64, error) {
	at := c.pos
	n, err := c.u64(what)
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left()/least) {
		return 0, tensorfile.Corruptf(at, "%s is %d, more than the %d bytes that follow can hold", what, n, c.left())
	}
	return n, nil
}

// text reads a length and as many bytes.
func (c *cursor) text(what string) (string, error) {
	n, err := c.u64(what)
	if err != nil {
		return "", err
	}
	b, err := c.take(n, what)
	return string(b), err
}
