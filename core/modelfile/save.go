package modelfile

import (
	"errors"
	"io"
	"slices"

	"qtsaccel/core/gguf"
	"qtsaccel/core/metadata"
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// maxSavedName is the longest tensor name that ggml's own reader takes.
const maxSavedName = 63

// Save writes the tensors, in their types, and the metadata into a GGUF file; values
// of more are added to it, or take the place of those of their keys. What
// was read from one and not converted comes out as the same bytes; metadata that a
// split file's parts have about the split is left out. The file appears under its
// name when it is complete and on the disk, in place of one that is there; its old
// content stays until then, and a mapping of it ever after. progress is as in
// [Options].
//
// INVALID_STATE: a tensor has no data yet; UNSUPPORTED: a name of more than 63
// bytes, which ggml could not read, or a tensor that cannot be used and is not of a GGUF
// file, from which it would be copied; INVALID_ARGUMENT: path is something other than
// a regular file, or see [gguf.NewLayout]; IO: it cannot be written, or a mapped file has become shorter;
// CANCELLED. Nothing is left behind then.
func Save(w *weights.Weights, path string, more []metadata.Pair, progress func(done, total int64) bool) error {
	if err := w.Use(); err != nil {
		return err
	}
	defer w.Release()
	return status.Wrapf(save(w, path, more, progress), "%q", path)
}

func save(w *weights.Weights, path string, more []metadata.Pair, progress func(done, total int64) bool) error {
	tensors, layout, err := layoutOf(w, more)
	if err != nil {
		return err
	}
	var writing error
	err = osfile.Replace(path, 0o666, func(f io.Writer) error {
		s := saver{f: f, layout: layout, progress: progress}
		writing = s.write(tensors)
		return writing
	})
	switch {
	case writing != nil:
		return err
	case errors.Is(err, osfile.ErrNotRegular):
		return status.Errorf(status.InvalidArgument, "%w", withoutPath(err))
	default:
		return ioError(err)
	}
}

// layoutOf gives what is to be written, and where.
func layoutOf(w *weights.Weights, more []metadata.Pair) ([]*weights.Tensor, *gguf.Layout, error) {
	tensors := make([]*weights.Tensor, w.Len())
	named := make([]gguf.Named, len(tensors))
	quantised := false
	for i := range tensors {
		t, err := w.At(i)
		if err != nil {
			return nil, nil, err
		}
		tensors[i] = t
		if len(t.Name) > maxSavedName {
			return nil, nil, status.Errorf(status.Unsupported, "tensor %q: its name has %d bytes, GGUF files allow %d", t.Name, len(t.Name), maxSavedName)
		}
		named[i] = gguf.Named{Name: t.Name, Type: t.Type}
		if raw := t.Raw(); raw != nil {
			if raw.Foreign.Number == nil {
				return nil, nil, raw.Why
			}
			named[i].Raw = &gguf.Raw{Number: *raw.Foreign.Number, Shape: raw.Foreign.Shape, Bytes: raw.Bytes}
		}
		quantised = quantised || t.Type.DType.Quantised()
	}
	keys := w.MetadataKeys()
	pairs := make([]metadata.Pair, len(keys))
	for i, key := range keys {
		value, err := w.Metadata(key)
		if err != nil {
			return nil, nil, err
		}
		pairs[i] = metadata.Pair{Key: key, Value: value}
	}
	for _, m := range more {
		same := func(p metadata.Pair) bool { return p.Key == m.Key }
		if i := slices.IndexFunc(pairs, same); i >= 0 {
			pairs[i].Value = m.Value
		} else {
			pairs = append(pairs, m)
		}
	}
	versioned := slices.ContainsFunc(pairs, func(p metadata.Pair) bool { return p.Key == gguf.QuantisationVersion })
	if quantised && !versioned {
		pairs = append(pairs, metadata.Pair{Key: gguf.QuantisationVersion, Value: metadata.U32(2)})
	}
	layout, err := gguf.NewLayout(pairs, named)
	return tensors, layout, err
}

// saver writes a file from its beginning to its end.
type saver struct {
	f        io.Writer
	layout   *gguf.Layout
	progress func(done, total int64) bool
	at       int64
}

func (s *saver) write(tensors []*weights.Tensor) error {
	if err := s.append(s.layout.Header); err != nil {
		return err
	}
	for i, t := range tensors {
		if err := s.pad(s.layout.Offsets[i]); err != nil {
			return err
		}
		if err := s.tensor(t); err != nil {
			return status.Wrapf(err, "tensor %q, %v", t.Name, t.Type)
		}
	}
	return s.pad(s.layout.Size)
}

func (s *saver) tensor(t *weights.Tensor) error {
	raw := t.Raw()
	if raw == nil {
		return t.Read(s.append)
	}
	buffer := make([]byte, min(raw.Bytes, pieceBytes)) // as it lies in its file
	for at := int64(0); at < raw.Bytes; at += int64(len(buffer)) {
		buffer = buffer[:min(int64(len(buffer)), raw.Bytes-at)]
		if err := raw.Read(buffer, at); err != nil {
			return err
		}
		if err := s.append(buffer); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) pad(to int64) error { return s.append(make([]byte, to-s.at)) }

// append writes data in pieces and reports after each.
func (s *saver) append(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), pieceBytes)
		if _, err := s.f.Write(data[:n]); err != nil {
			return status.Wrapf(ioError(err), "after %d of %d bytes", s.at, s.layout.Size)
		}
		s.at += int64(n)
		data = data[n:]
		if s.progress != nil && !s.progress(s.at, s.layout.Size) {
			return status.Errorf(status.Cancelled, "cancelled after %d of %d bytes", s.at, s.layout.Size)
		}
	}
	return nil
}
