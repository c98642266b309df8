// Package gguf reads and writes the header of GGUF files, the format of ggml's models,
// versions 2 and 3, little-endian
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
package gguf

import (
	"fmt"
	"io"
	"math"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// Magic is how a file begins.
const Magic = "GGUF"

const (
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
)

// The least that a metadata entry takes (a key of one byte, a value of one) and
// the least that a tensor's description does (no name, no dimension).
const (
	leastMetadata = 8 + 1 + 4 + 1
	leastTensor   = 8 + 4 + 4 + 8
)

// Parse reads the header of a file of size bytes; shapes come out row-major, the
// reverse of the file's order. As in ggml's own reader, tensors must lie one
// after the other in the order of their description, each padded to the
// alignment; the last one's padding may be missing, and anything may follow it.
func Parse(r io.ReaderAt, size int64) (*tensorfile.Table, error) {
	c := &cursor{r: r, size: size}
	tensors, keys, err := c.preamble()
	if err != nil {
		return nil, err
	}
	spans, order, err := c.metadata(keys)
	if err != nil {
		return nil, err
	}
	descriptions, err := c.tensors(tensors)
	if err != nil {
		return nil, err
	}
	alignment := int64(defaultAlignment)
	if s, ok := spans[alignmentKey]; ok {
		if alignment, err = alignmentOf(s.value(c.buf)); err != nil {
			return nil, tensorfile.Corruptf(s.from, "metadata %q: %v", alignmentKey, err)
		}
	}
	table := &tensorfile.Table{Metadata: make(map[string]metadata.Value, len(spans)), Keys: order}
	if table.Entries, err = place(descriptions, c.pos, alignment, size); err != nil {
		return nil, err
	}
	for key, s := range spans {
		table.Metadata[key] = s.value(c.buf)
	}
	return table, nil
}

// preamble reads what every file begins with.
func (c *cursor) preamble() (tensors, keys uint64, err error) {
	magic, err := c.take(uint64(len(Magic)), "the magic number")
	if err != nil {
		return 0, 0, err
	}
	if string(magic) != Magic {
		return 0, 0, tensorfile.Corruptf(0, "the file begins with %q, not %q", magic, Magic)
	}
	at := c.pos
	version, err := c.u32("the version")
	if err != nil {
		return 0, 0, err
	}
	switch {
	case version == 2 || version == 3:
	case version == 0:
		return 0, 0, tensorfile.Corruptf(at, "the version is 0")
	case version&0xffff == 0:
		return 0, 0, tensorfile.Unsupportedf(at, "the version is %#x: big-endian files are not supported", version)
	default:
		return 0, 0, tensorfile.Unsupportedf(at, "the version is %d, only 2 and 3 are supported", version)
	}
	at = c.pos
	if tensors, err = c.count("the number of tensors", leastTensor); err != nil {
		return 0, 0, err
	}
	if tensors > tensorfile.MaxTensors {
		return 0, 0, tensorfile.Unsupportedf(at, "%d tensors, at most %d are supported", tensors, tensorfile.MaxTensors)
	}
	at = c.pos
	if keys, err = c.count("the number of metadata keys", leastMetadata); err != nil {
		return 0, 0, err
	}
	if keys > tensorfile.MaxMetadataKeys {
		return 0, 0, tensorfile.Unsupportedf(at, "%d metadata keys, at most %d are supported", keys, tensorfile.MaxMetadataKeys)
	}
	return tensors, keys, nil
}

// span is where a metadata value lies in the cursor's buf, which moves while it
// grows.
type span struct {
	kind     metadata.Kind
	from, to int64
}

func (s span) value(buf []byte) metadata.Value { return metadata.Encoded(s.kind, buf[s.from:s.to]) }

// metadata passes the keys and their values.
func (c *cursor) metadata(keys uint64) (spans map[string]span, order []string, err error) {
	spans, order = make(map[string]span, keys), make([]string, 0, keys)
	for i := range keys {
		at := c.pos
		key, err := c.text("a key")
		if err != nil {
			return nil, nil, status.Wrapf(err, "metadata key %d", i)
		}
		if key == "" {
			return nil, nil, tensorfile.Corruptf(at, "metadata key %d is empty", i)
		}
		if err := tensorfile.CheckKey(key, at); err != nil {
			return nil, nil, err
		}
		if _, ok := spans[key]; ok {
			return nil, nil, tensorfile.Corruptf(at, "metadata key %.200q is there twice", key)
		}
		k, err := c.kind("the type of a value")
		if err != nil {
			return nil, nil, status.Wrapf(err, "metadata %.200q", key)
		}
		from := c.pos
		if err := c.value(k, 0); err != nil {
			return nil, nil, status.Wrapf(err, "metadata %.200q", key)
		}
		spans[key] = span{k, from, c.pos}
		order = append(order, key)
	}
	return spans, order, nil
}

// description is a tensor as the header describes it, with its offset counted
// from where the data begins.
type description struct {
	tensorfile.Entry
	offset          uint64
	offsetWrittenAt int64
}

func (c *cursor) tensors(n uint64) ([]description, error) {
	all := make([]description, 0, n)
	seen := make(map[string]struct{}, n)
	for i := range n {
		at := c.pos
		name, err := c.text("a name")
		if err != nil {
			return nil, status.Wrapf(err, "tensor %d", i)
		}
		if err := tensorfile.CheckName(name, at); err != nil {
			return nil, err
		}
		if _, ok := seen[name]; ok {
			return nil, tensorfile.Corruptf(at, "tensor %.200q is there twice", name)
		}
		seen[name] = struct{}{}
		d, err := c.description(name)
		if err != nil {
			return nil, status.Wrapf(err, "tensor %.200q", name)
		}
		all = append(all, d)
	}
	return all, nil
}

// description reads what follows a tensor's name.
func (c *cursor) description(name string) (description, error) {
	var d description
	at := c.pos
	rank, err := c.u32("the number of dimensions")
	if err != nil {
		return d, err
	}
	if rank > tensorfile.MaxRank {
		return d, tensorfile.Corruptf(at, "%d dimensions, no tensor has more than %d", rank, tensorfile.MaxRank)
	}
	shape := make(tensor.Shape, rank)
	for i := range shape {
		dimAt := c.pos
		n, err := c.u64("a dimension")
		if err != nil {
			return d, err
		}
		if n > math.MaxInt64 {
			return d, tensorfile.Corruptf(dimAt, "dimension %d is %d", i, n)
		}
		shape[len(shape)-1-i] = int64(n)
	}
	number, err := c.u32("the type")
	if err != nil {
		return d, err
	}
	element := elementOf(number)
	if d.Entry, err = element.Describe(shape, at); err != nil {
		return d, err
	}
	d.Name = name
	if d.Foreign != nil {
		d.Foreign.Number = &number
	}
	d.offsetWrittenAt = c.pos
	d.offset, err = c.u64("the offset")
	return d, err
}

// place checks where the tensors' data lies, after a header of so many bytes.
func place(all []description, header, alignment, size int64) ([]tensorfile.Entry, error) {
	start := pad(header, alignment)
	entries := make([]tensorfile.Entry, len(all))
	next := int64(0) // where the next tensor must lie, from start on
	for i, d := range all {
		if d.Bytes < 0 { // not known: up to the next, or to the end
			end := size - start
			if i+1 < len(all) && all[i+1].offset < uint64(max(end, 0)) {
				end = int64(all[i+1].offset)
			}
			d.Bytes = max(0, end-next)
		}
		var wrong string
		switch {
		case d.offset%uint64(alignment) != 0:
			wrong = fmt.Sprintf("is not a multiple of the alignment %d", alignment)
		case d.offset < uint64(next):
			wrong = fmt.Sprintf("overlaps the tensor before it, which ends at %d", next)
		case d.offset > uint64(next):
			wrong = fmt.Sprintf("leaves a hole: the tensor before it ends at %d", next)
		case d.Bytes > 0 && (start > size || d.Bytes > size-start-next):
			wrong = fmt.Sprintf("with %d bytes reaches beyond the end of the file: its data begins at byte %d and its size is %d",
				d.Bytes, start, size)
		}
		if wrong != "" {
			return nil, tensorfile.Corruptf(d.offsetWrittenAt, "tensor %.200q, %s: its offset %d %s", d.Name, d.InFile(), d.offset, wrong)
		}
		entries[i] = d.Entry
		entries[i].Offset = start + next
		next = pad(next+d.Bytes, alignment)
	}
	return entries, nil
}

// pad gives the next multiple of the alignment, a power of two. Neither is near
// the end of int64: n is at most a file's size and a padding more.
func pad(n, alignment int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
