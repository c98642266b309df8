// Package safetensors reads the header of safetensors files
// (https://github.com/huggingface/safetensors, "Format" in its README): the
// header's length as u64, little-endian, then the header as JSON, then the
// tensors' data without a gap.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// LengthBytes is the size of the header's length, after which the header's "{"
// follows.
const LengthBytes = 8

const metadataKey = "__metadata__"

// leastTensor is the least that a tensor's description takes, as JSON.
const leastTensor = len(`"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}`)

// dtypes are the element types of the library by their names in the file.
var dtypes = map[string]tensor.DType{
	"F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16,
	"I8": tensor.I8, "I16": tensor.I16, "I32": tensor.I32, "I64": tensor.I64,
}

// otherTypes are types that files have, too, and that are read as wider ones, or not,
// but have a known size.
var otherTypes = func() map[string]tensorfile.Element {
	all := map[string]tensorfile.Element{}
	for _, e := range []tensorfile.Element{
		tensorfile.Bool, tensorfile.U8, tensorfile.U16, tensorfile.U32, tensorfile.F64, tensorfile.F8E4M3, tensorfile.F8E5M2, tensorfile.F8E8M0,
		tensorfile.Unknown("U64", 1, 8), tensorfile.Unknown("C64", 1, 8),
	} {
		all[e.Name] = e
	}
	return all
}()

func elementOf(name string) tensorfile.Element {
	if d, ok := dtypes[name]; ok {
		return tensorfile.Native(d, name)
	}
	if e, ok := otherTypes[name]; ok {
		return e
	}
	return tensorfile.Unknown(name, 0, 0)
}

// Parse reads the header of a file of size bytes. As the format wants it, no key
// may be there twice, and the tensors cover the data without gap or overlap,
// in any order.
func Parse(r io.ReaderAt, size int64) (*tensorfile.Table, error) {
	header, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	p := parser{
		scanner:  scanner{text: header, base: LengthBytes},
		metadata: map[string]metadata.Value{},
		tensors:  make([]description, 0, min(len(header)/leastTensor, tensorfile.MaxTensors)),
		seen:     map[string]struct{}{},
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	entries, err := place(p.tensors, LengthBytes+int64(len(header)), size)
	if err != nil {
		return nil, err
	}
	return &tensorfile.Table{Entries: entries, Metadata: p.metadata, Keys: p.keys}, nil
}

// readHeader gives the header's text.
func readHeader(r io.ReaderAt, size int64) (string, error) {
	if size < LengthBytes {
		return "", tensorfile.Corruptf(0, "the header's length takes %d bytes, the file has %d", LengthBytes, size)
	}
	length := make([]byte, LengthBytes)
	if err := tensorfile.ReadAt(r, length, 0); err != nil {
		return "", err
	}
	n := binary.LittleEndian.Uint64(length)
	if !HeaderFits(length, size) {
		return "", tensorfile.Corruptf(0, "the header's length is %d, the file has %d bytes after it", n, size-LengthBytes)
	}
	if n > tensorfile.MaxHeaderBytes {
		return "", tensorfile.Unsupportedf(0, "a header of %d bytes, at most %d are supported", n, tensorfile.MaxHeaderBytes)
	}
	var text strings.Builder
	text.Grow(int(n))
	read, err := io.Copy(&text, io.NewSectionReader(r, LengthBytes, int64(n)))
	if err == nil && read < int64(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", tensorfile.ReadError(err, LengthBytes+read)
	}
	return text.String(), nil
}

// HeaderFits says whether a file of size bytes has as many as the length at its
// beginning says.
func HeaderFits(begin []byte, size int64) bool {
	return size >= LengthBytes && binary.LittleEndian.Uint64(begin) <= uint64(size-LengthBytes)
}

// description is a tensor as the header describes it.
type description struct {
	tensorfile.Entry       // Offset counts from where the data begins
	at               int64 // where the header says so
}

type parser struct {
	scanner
	metadata map[string]metadata.Value
	keys     []string // of metadata
	tensors  []description
	seen     map[string]struct{} // keys of the header
}

func (p *parser) header() error {
	if c := p.peek(); c != '{' || p.pos > 0 {
		p.pos = 0
		return p.errorf("the header begins with %.8q, not \"{\"", p.text)
	}
	if err := p.object("the header", p.member); err != nil {
		return err
	}
	if p.peek(); p.pos < len(p.text) {
		return p.unexpected("the header's end", "what follows its '}'")
	}
	return nil
}

// member reads what belongs to a key of the header.
func (p *parser) member(key string, at int64) error {
	if _, ok := p.seen[key]; ok {
		return tensorfile.Corruptf(at, "the key %.200q is there twice", key)
	}
	p.seen[key] = struct{}{}
	if key == metadataKey {
		return p.object(metadataKey, p.metadataMember)
	}
	if len(p.tensors) == tensorfile.MaxTensors {
		return tensorfile.Unsupportedf(at, "more than %d tensors are not supported", tensorfile.MaxTensors)
	}
	if err := tensorfile.CheckName(key, at); err != nil {
		return err
	}
	d, err := p.description(key, at)
	if err != nil {
		return status.Wrapf(err, "tensor %.200q", key)
	}
	p.tensors = append(p.tensors, d)
	return nil
}

func (p *parser) metadataMember(key string, at int64) error {
	if _, ok := p.metadata[key]; ok {
		return tensorfile.Corruptf(at, "the metadata key %.200q is there twice", key)
	}
	if len(p.metadata) == tensorfile.MaxMetadataKeys {
		return tensorfile.Unsupportedf(at, "more than %d metadata keys are not supported", tensorfile.MaxMetadataKeys)
	}
	if err := tensorfile.CheckKey(key, at); err != nil {
		return err
	}
	value, err := p.str(metadataKey)
	if err != nil {
		return status.Wrapf(err, "metadata %.200q", key)
	}
	p.metadata[key] = metadata.Text(value)
	p.keys = append(p.keys, key)
	return nil
}

// description reads the object of a tensor. Keys that the format does not have
// are passed over, as its own reader does.
func (p *parser) description(name string, at int64) (description, error) {
	d := description{at: at}
	var f fields
	err := p.object("a tensor's description", func(key string, keyAt int64) error { return p.field(&f, key, keyAt) })
	switch {
	case err != nil:
		return d, err
	case !f.hasDType:
		return d, p.errorf("it has no dtype")
	case !f.hasShape:
		return d, p.errorf("it has no shape")
	case !f.hasOffsets:
		return d, p.errorf("it has no data_offsets")
	}
	if !typeName(f.dtype) {
		return d, tensorfile.Corruptf(at, "its type is %.50q", f.dtype)
	}
	if d.Entry, err = elementOf(f.dtype).Describe(f.shape, at); err != nil {
		return d, err
	}
	if d.Bytes >= 0 && d.Bytes != f.end-f.begin {
		return d, tensorfile.Corruptf(at, "%s takes %d bytes, its data_offsets %d and %d are %d apart",
			d.InFile(), d.Bytes, f.begin, f.end, f.end-f.begin)
	}
	d.Name, d.Offset, d.Bytes = name, f.begin, f.end-f.begin
	return d, nil
}

// typeName says whether a text may name a type: as messages and reports show it.
func typeName(s string) bool {
	return s != "" && len(s) <= 32 && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// fields is what was found in a tensor's description so far.
type fields struct {
	dtype                          string
	shape                          tensor.Shape
	begin, end                     int64 // its data_offsets
	hasDType, hasShape, hasOffsets bool
}

// field reads what belongs to a key of a tensor's description.
func (p *parser) field(f *fields, key string, at int64) (err error) {
	var had bool
	switch key {
	case "dtype":
		had, f.hasDType = f.hasDType, true
		f.dtype, err = p.str("its dtype")
	case "shape":
		had, f.hasShape = f.hasShape, true
		f.shape, err = p.shape()
	case "data_offsets":
		had, f.hasOffsets = f.hasOffsets, true
		err = p.offsets(f)
	default:
		if err = p.skip("a field", 0); err != nil {
			err = status.Wrapf(err, "field %.200q", key)
		}
	}
	if err == nil && had {
		err = tensorfile.Corruptf(at, "its %s is there twice", key)
	}
	return err
}

// counts reads an array of whole numbers into dst, as many as it takes, and gives
// how many there are.
func (p *parser) counts(dst []int64, where string) (int, error) {
	total := 0
	err := p.list('[', ']', where, func() error {
		n, err := p.count(where)
		if total < len(dst) {
			dst[total] = n
		}
		total++
		return err
	})
	return total, err
}

func (p *parser) shape() (tensor.Shape, error) {
	p.peek()
	at := p.at()
	var dims [tensorfile.MaxRank]int64
	n, err := p.counts(dims[:], "its shape")
	if err != nil {
		return nil, err
	}
	if n > len(dims) {
		return nil, tensorfile.Corruptf(at, "%d dimensions, no tensor has more than %d", n, len(dims))
	}
	return slices.Clone(dims[:n]), nil
}

func (p *parser) offsets(f *fields) error {
	p.peek()
	at := p.at()
	var ends [2]int64
	n, err := p.counts(ends[:], "its data_offsets")
	switch f.begin, f.end = ends[0], ends[1]; {
	case err != nil:
		return err
	case n != len(ends):
		return tensorfile.Corruptf(at, "its data_offsets are %d numbers, not 2", n)
	case f.begin > f.end:
		return tensorfile.Corruptf(at, "its data_offsets are reversed: %d is beyond %d", f.begin, f.end)
	}
	return nil
}

// place checks that the tensors cover the data, which begins at start, and puts
// them in the order in which they lie there.
func place(all []description, start, size int64) ([]tensorfile.Entry, error) {
	slices.SortStableFunc(all, func(a, b description) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes))
	})
	entries := make([]tensorfile.Entry, len(all))
	next := int64(0)
	for i, d := range all {
		var wrong string
		end := d.Offset + d.Bytes
		switch {
		case end > size-start:
			wrong = fmt.Sprintf("reach beyond the %d bytes of data", size-start)
		case d.Offset < next:
			wrong = fmt.Sprintf("overlap tensor %.200q, which ends at %d", all[i-1].Name, next)
		case d.Offset > next:
			wrong = fmt.Sprintf("leave a hole from %d on", next)
		}
		if wrong != "" {
			return nil, tensorfile.Corruptf(d.at, "tensor %.200q, %s: its data_offsets %d and %d %s", d.Name, d.InFile(), d.Offset, end, wrong)
		}
		entries[i] = d.Entry
		entries[i].Offset += start
		next = end
	}
	if rest := size - start - next; rest > 0 {
		return nil, tensorfile.Corruptf(start+next, "%d bytes follow that belong to no tensor", rest)
	}
	return entries, nil
}
