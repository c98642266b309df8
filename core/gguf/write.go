package gguf

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// QuantisationVersion is the key that files with quantised tensors must have.
const QuantisationVersion = "general.quantization_version"

// Named is a tensor to be written.
type Named struct {
	Name string
	Type tensor.Type
	Raw  *Raw // in the place of Type, where it is not nil
}

// Raw is a type that the library does not have, as another file has it.
type Raw struct {
	Number uint32
	Shape  tensor.Shape
	Bytes  int64
}

// Layout is the beginning of a file, and where its tensors' data lies behind it.
type Layout struct {
	Header  []byte  // everything before the first tensor's data
	Offsets []int64 // of each tensor's data, from the beginning of the file
	Size    int64   // of the file: the last tensor is padded, too
}

// maxWrittenAlignment is more than any device asks for, and bounds the padding.
const maxWrittenAlignment = 1 << 20

// NewLayout makes the header of a version 3 file. general.alignment among the pairs says
// how tensors are aligned, 32 without it. INVALID_ARGUMENT: a key that is empty,
// not UTF-8, with a zero byte, of more than 65535 bytes or there twice, an alignment that is none; UNSUPPORTED: one above 1 MiB.
func NewLayout(pairs []metadata.Pair, tensors []Named) (*Layout, error) {
	le := binary.LittleEndian
	alignment := int64(defaultAlignment)
	b := le.AppendUint32([]byte(Magic), 3)
	b = le.AppendUint64(b, uint64(len(tensors)))
	b = le.AppendUint64(b, uint64(len(pairs)))
	seen := make(map[string]struct{}, len(pairs))
	for _, p := range pairs {
		switch _, ok := seen[p.Key]; {
		case ok:
			return nil, status.Errorf(status.InvalidArgument, "metadata key %.200q is there twice", p.Key)
		case p.Key == "" || len(p.Key) > math.MaxUint16 || !utf8.ValidString(p.Key) || strings.IndexByte(p.Key, 0) >= 0:
			return nil, status.Errorf(status.InvalidArgument, "metadata key %.200q is empty, not UTF-8, has a zero byte, or is too long", p.Key)
		}
		seen[p.Key] = struct{}{}
		if p.Key == alignmentKey {
			var err error
			if alignment, err = alignmentOf(p.Value); err != nil {
				return nil, status.Errorf(status.InvalidArgument, "metadata %q: %w", p.Key, err)
			}
			if alignment > maxWrittenAlignment {
				return nil, status.Errorf(status.Unsupported, "metadata %q: it is %d, at most %d is written", p.Key, alignment, maxWrittenAlignment)
			}
		}
		b = appendText(b, p.Key)
		kind, raw := p.Value.Encoding()
		b = le.AppendUint32(b, uint32(kind))
		b = append(b, raw...)
	}
	at := int64(0)
	relative := make([]int64, len(tensors))
	for i, t := range tensors {
		raw := t.Raw
		if raw == nil {
			raw = &Raw{numbers[t.Type.DType], t.Type.Shape, t.Type.Bytes()}
		}
		b = appendText(b, t.Name)
		b = le.AppendUint32(b, uint32(len(raw.Shape)))
		for _, d := range slices.Backward(raw.Shape) {
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint32(b, raw.Number)
		b = le.AppendUint64(b, uint64(at))
		relative[i] = at
		at = pad(at+raw.Bytes, alignment)
	}
	start := pad(int64(len(b)), alignment)
	b = append(b, make([]byte, start-int64(len(b)))...)
	for i := range relative {
		relative[i] += start
	}
	return &Layout{Header: b, Offsets: relative, Size: start + at}, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
