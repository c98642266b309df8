package weights

import (
	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
)

// MetadataKeys are the keys of the file's metadata, in its order.
func (w *Weights) MetadataKeys() []string { return w.origin.Keys }

// Metadata gives a metadata value of the file, safetensors' as strings. NOT_FOUND.
func (w *Weights) Metadata(key string) (metadata.Value, error) {
	if !w.refs.Live() {
		return metadata.Value{}, errReleased()
	}
	v, ok := w.origin.Metadata[key]
	if !ok {
		return metadata.Value{}, status.Errorf(status.NotFound, "no metadata %q among %d keys", key, len(w.origin.Metadata))
	}
	return v, nil
}

// MetadataText gives a string of the metadata, one of an array by its index. Where an
// array begins each of its strings is found once and remembered: vocabularies are long.
func (w *Weights) MetadataText(key string, index uint64) ([]byte, error) {
	v, err := w.Metadata(key)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	texts, ok := w.texts[key]
	if !ok {
		if texts, err = v.Texts(); err != nil {
			return nil, status.Wrapf(err, "metadata %q", key)
		}
		if w.texts == nil {
			w.texts = map[string][][]byte{}
		}
		w.texts[key] = texts
	}
	if index >= uint64(len(texts)) {
		return nil, status.Errorf(status.InvalidArgument, "metadata %q: no string %d: there are %d, counted from 0", key, index, len(texts))
	}
	return texts[index], nil
}
