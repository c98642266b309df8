package weights

import (
	"qtsaccel/core/status"
)

// Matching gives the tensors whose names match one of the patterns, in the weights'
// order; without a pattern all. Those without elements are left out, and those that
// cannot be used, unless a pattern is the very name: UNSUPPORTED. NOT_FOUND: a pattern
// that no name matches.
func (w *Weights) Matching(patterns []string) ([]*Tensor, error) {
	if !w.use() {
		return nil, errReleased()
	}
	defer w.Release()
	w.mu.RLock()
	defer w.mu.RUnlock()
	used := make([]bool, len(patterns))
	var found []*Tensor
	for _, t := range w.tensors {
		wanted := len(patterns) == 0
		for i, p := range patterns {
			if _, ok := Match(p, t.Name); ok {
				wanted, used[i] = true, true
				if err := t.Usable(); p == t.Name && err != nil {
					return nil, err
				}
			}
		}
		if wanted && t.Type.Bytes() > 0 {
			found = append(found, t)
		}
	}
	for i, p := range patterns {
		if !used[i] {
			return nil, status.Errorf(status.NotFound, "no tensor matches %q among %d%s", p, len(w.tensors), w.suggestion(p))
		}
	}
	return found, nil
}

// ErrCancelled is what an upload ends with that progress stopped.
func ErrCancelled(done int64) error {
	return status.Errorf(status.Cancelled, "cancelled after %d bytes", done)
}

// EachUploaded uploads tensors one by one, as a backend may that has no faster way.
func EachUploaded(tensors []*Tensor, progress func(done int64) bool, upload func(*Tensor) error) error {
	done := int64(0)
	for _, t := range tensors {
		if progress != nil && !progress(done) {
			return ErrCancelled(done)
		}
		if err := upload(t); err != nil {
			return err
		}
		done += t.Type.Bytes()
	}
	if progress != nil && !progress(done) {
		return ErrCancelled(done)
	}
	return nil
}
