// Package weights holds named tensors in host memory, wherever they came from,
// for any number of graphs and backends.
//
// Weights are counted by reference: [New] and those who open a file give them with one, every
// user that keeps them adds its own, and with the last one the memory goes back,
// and before it every copy that a backend has made (see [DeviceCopies]). Slices
// of the memory are valid as long as their user holds a reference. Methods called
// after that do no harm and give INVALID_STATE.
package weights

import (
	"strings"
	"sync"
	"unicode/utf8"

	"qtsaccel/core/mem"
	"qtsaccel/core/refcount"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Weights are named tensors and, of a file, its metadata. They may be used from
// any goroutine.
type Weights struct {
	refs   refcount.Counter
	arena  mem.Arena
	origin Origin // never changes once others have the weights

	mu       sync.RWMutex
	tensors  []*Tensor
	index    map[string]int
	texts    map[string][][]byte        // of metadata that is strings, once one was asked for
	copies   map[*DeviceCopies]struct{} // those that have copies of these tensors
	borrowed []func()                   // release data that was borrowed
}

// New makes weights without a tensor, with one reference.
func New() *Weights {
	return &Weights{index: map[string]int{}, copies: map[*DeviceCopies]struct{}{}}
}

// Retain adds a reference. The caller holds one already, or knows one who does.
func (w *Weights) Retain() { w.use() }

// Use adds a reference for a caller who may hold none. INVALID_STATE: the last one has
// gone.
func (w *Weights) Use() error {
	if !w.use() {
		return errReleased()
	}
	return nil
}

// Release gives a reference back; with the last one the device copies and the
// memory are freed. One release too many does nothing.
func (w *Weights) Release() {
	if w.refs.Release() {
		w.free()
	}
}

// use adds a reference unless the last one has gone.
func (w *Weights) use() bool { return w.refs.Retain() }

func (w *Weights) free() {
	w.mu.Lock()
	copies := w.copies
	w.copies = nil
	w.mu.Unlock()
	for c := range copies {
		c.drop(w)
	}
	// It fails only for a mapping that is not its own, which is a mistake here
	// that no caller could act on; the leak counts of the tests would show it.
	_ = w.arena.Free()
	for _, release := range w.borrowed {
		release()
	}
}

func errReleased() error {
	return status.Errorf(status.InvalidState, "the weights were released")
}

// Declare adds a tensor without data, to be given by [Weights.Set].
// ALREADY_EXISTS: the name is taken; INVALID_ARGUMENT: a type that does not pass
// [tensor.Type.Check], or a name that is empty, is not UTF-8 or has a zero byte.
func (w *Weights) Declare(name string, t tensor.Type) error {
	if !w.use() {
		return errReleased()
	}
	defer w.Release()
	if err := CheckName(name); err != nil {
		return err
	}
	if err := t.Check(false); err != nil {
		return status.Wrapf(err, "tensor %q", name)
	}
	_, err := w.add(name, t)
	return err
}

// CheckName finds that a name cannot be a tensor's: INVALID_ARGUMENT.
func CheckName(name string) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return status.Errorf(status.InvalidArgument, "%q cannot name a tensor: names are UTF-8, not empty, without a zero byte", name)
	}
	return nil
}

// add appends a tensor without data. The type was checked.
func (w *Weights) add(name string, t tensor.Type) (*Tensor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(name, t, nil)
}

// AddFilled adds a tensor of a checked name and type with its data, which [mem.Alloc] gave; where it fails, it is
// still the caller's.
func (w *Weights) AddFilled(name string, t tensor.Type, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.append(name, t, func() ([]byte, error) { return w.arena.Keep(data) })
	return err
}

// append is add with the data that fill gives, if there is one. The caller holds w.mu.
func (w *Weights) append(name string, t tensor.Type, fill func() ([]byte, error)) (*Tensor, error) {
	if i, ok := w.index[name]; ok {
		return nil, status.Errorf(status.AlreadyExists, "tensor %q exists already, as %v", name, w.tensors[i].Type)
	}
	var data []byte
	if fill != nil {
		var err error
		if data, err = fill(); err != nil {
			return nil, err
		}
	}
	t.Shape = append(tensor.Shape{}, t.Shape...)
	added := &Tensor{Name: name, Type: t, weights: w, data: data, own: data}
	w.index[name] = len(w.tensors)
	w.tensors = append(w.tensors, added)
	return added, nil
}

// Set copies a tensor's data in, in the tensor's type, row-major. It may be
// repeated until the tensor is frozen, which is INVALID_STATE; NOT_FOUND;
// SHAPE_MISMATCH: data is not the tensor's size; OUT_OF_MEMORY.
func (w *Weights) Set(name string, data []byte) error {
	return w.fill(name, func(t *Tensor) error {
		if want := t.Type.Bytes(); int64(len(data)) != want {
			return status.Errorf(status.ShapeMismatch, "it takes %d bytes, not %d", want, len(data))
		}
		return t.put(func(dst []byte) error {
			copy(dst, data)
			return nil
		})
	})
}

// Len is the number of tensors.
func (w *Weights) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.tensors)
}

// Find gives a tensor's index by name; NOT_FOUND, with the name that is most
// alike.
func (w *Weights) Find(name string) (int, error) {
	if !w.refs.Live() {
		return 0, errReleased()
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if i, ok := w.index[name]; ok {
		return i, nil
	}
	return 0, status.Errorf(status.NotFound, "no tensor %q among %d%s", name, len(w.tensors), w.suggestion(name))
}

// At gives the tensor at an index, from 0; INVALID_ARGUMENT beyond the last.
func (w *Weights) At(i int) (*Tensor, error) {
	if !w.refs.Live() {
		return nil, errReleased()
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if i < 0 || i >= len(w.tensors) {
		return nil, status.Errorf(status.InvalidArgument, "no tensor %d: there are %d, counted from 0", i, len(w.tensors))
	}
	return w.tensors[i], nil
}
