package gguf

import (
	"encoding/binary"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// maxNesting is how many arrays may lie in each other.
const maxNesting = 16

// kind reads the number of a kind.
func (c *cursor) kind(what string) (metadata.Kind, error) {
	at := c.pos
	n, err := c.u32(what)
	if err == nil && n >= uint32(metadata.Kinds) {
		err = tensorfile.Corruptf(at, "%s is %d, there is none above %d", what, n, metadata.Kinds-1)
	}
	return metadata.Kind(n), err
}

// value passes a value and checks it on the way.
func (c *cursor) value(k metadata.Kind, nesting int) error {
	switch k {
	case metadata.KindBool:
		return c.bools(1)
	case metadata.KindString:
		n, err := c.u64("the length of a string")
		if err == nil {
			_, err = c.take(n, "a string")
		}
		return err
	case metadata.KindArray:
		return c.array(nesting + 1)
	default:
		_, err := c.take(uint64(k.LeastBytes()), "a value")
		return err
	}
}

func (c *cursor) bools(n uint64) error {
	at := c.pos
	b, err := c.take(n, "booleans")
	for i, v := range b {
		if v > 1 {
			return tensorfile.Corruptf(at+int64(i), "a boolean is %d, not 0 or 1", v)
		}
	}
	return err
}

func (c *cursor) array(nesting int) error {
	if nesting > maxNesting {
		return tensorfile.Corruptf(c.pos, "arrays are nested deeper than %d", maxNesting)
	}
	of, err := c.kind("the type of an array's elements")
	if err != nil {
		return err
	}
	n, err := c.count("the length of an array", of.LeastBytes())
	if err != nil {
		return err
	}
	switch of {
	case metadata.KindBool:
		return c.bools(n)
	case metadata.KindString, metadata.KindArray:
		for range n {
			if err := c.value(of, nesting); err != nil {
				return err
			}
		}
		return nil
	default:
		_, err = c.take(n*uint64(of.LeastBytes()), "an array")
		return err
	}
}

// alignmentOf reads general.alignment.
func alignmentOf(v metadata.Value) (int64, error) {
	kind, raw := v.Encoding()
	if kind != metadata.KindU32 {
		return 0, status.Errorf(status.Corrupt, "it is %v, not u32", kind)
	}
	n := binary.LittleEndian.Uint32(raw)
	if n == 0 || n&(n-1) != 0 {
		return 0, status.Errorf(status.Corrupt, "it is %d, not a power of two", n)
	}
	return int64(n), nil
}
