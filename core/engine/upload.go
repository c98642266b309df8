package engine

import "qtsaccel/core/weights"

// Upload puts the tensors of weights whose names match one of the patterns, all where
// there is none, onto the backend's device; see [backend.Backend]. progress, which may
// be nil, is told the bytes done, of how many.
func (b *Backend) Upload(w *weights.Weights, patterns []string, progress func(done, total int64) bool) error {
	tensors, err := w.Matching(patterns)
	if err != nil {
		return err
	}
	if progress == nil {
		return b.impl.Upload(tensors, nil)
	}
	total := int64(0)
	for _, t := range tensors {
		total += t.Type.Bytes()
	}
	return b.impl.Upload(tensors, func(done int64) bool { return progress(done, total) })
}

// WeightBytes is what weights take of the device's memory.
func (b *Backend) WeightBytes(w *weights.Weights) int64 { return b.impl.WeightBytes(w) }
