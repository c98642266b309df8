package weights

import (
	"sync"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Tensor is one named tensor. Its name and type never change. It lives as long as
// its weights do.
type Tensor struct {
	Name string
	Type tensor.Type

	weights *Weights

	mu     sync.Mutex
	data   []byte // nil until it is given; not nil for a tensor of no bytes
	own    []byte // memory of the tensor's own, once it has some
	frozen bool
	// inPlace: the caller wants the data used where it lies; see MayCopy.
	inPlace bool

	// Of a mapped file: which, and where the data ends in it.
	file File
	end  int64

	raw *Raw // of a tensor that cannot be used; never changes
}

// Usable says why a tensor of a file cannot be used: UNSUPPORTED, its type or rank is
// none of the library's.
func (t *Tensor) Usable() error {
	if t.raw == nil {
		return nil
	}
	return t.raw.Why
}

// Raw is what the file has of a tensor that cannot be used; nil of any other.
func (t *Tensor) Raw() *Raw { return t.raw }

// Bytes is the size of the tensor's data, in the file where it cannot be used.
func (t *Tensor) Bytes() int64 {
	if t.raw != nil {
		return t.raw.Bytes
	}
	return t.Type.Bytes()
}

// Retain and Release count a reference to the tensor's weights, for users that
// know the tensor alone.
func (t *Tensor) Retain() { t.weights.Retain() }

// Release gives back what Retain took.
func (t *Tensor) Release() { t.weights.Release() }

// Freeze gives the tensor's data and refuses any later change to it: a backend
// calls it before it uses or copies the data. The slice is aligned to [Alignment],
// must not be written to, and is valid while the caller holds a reference.
// INVALID_STATE: the tensor has no data yet; IO: its file was mapped and has become
// shorter.
func (t *Tensor) Freeze() ([]byte, error) {
	if !t.weights.use() {
		return nil, errReleased()
	}
	defer t.weights.Release()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(); err != nil {
		return nil, status.Wrapf(err, "tensor %q, %v", t.Name, t.Type)
	}
	t.frozen = true
	return t.data, nil
}

// ReadAt copies a part of a frozen tensor's data. What is mapped is read from its file,
// which is faster than touching the mapping for the first time, and finds that the
// file was cut short where touching it would end the process: IO. It may be called
// from several goroutines at once.
func (t *Tensor) ReadAt(dst []byte, offset int64) error {
	if t.file == nil {
		copy(dst, t.data[offset:])
		return nil
	}
	return t.file.Read(dst, t.end-int64(len(t.data))+offset)
}

// Read gives the data to use as it is now, and keeps it unchanged meanwhile. Errors are
// those of [Tensor.Freeze].
func (t *Tensor) Read(use func(data []byte) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(); err != nil {
		return err
	}
	return use(t.data)
}

// check finds that there is no data, or none any more. The caller holds t.mu.
func (t *Tensor) check() error {
	if err := t.Usable(); err != nil {
		return err
	}
	if t.data == nil {
		return status.Errorf(status.InvalidState, "it has no data yet")
	}
	if t.file != nil {
		return t.file.CheckEnd(t.end)
	}
	return nil
}

// MayCopy says whether a backend that can use the data where it lies may keep a copy
// all the same, to be quicker: not where the data is borrowed from the host, or asked for [Mapped].
func (t *Tensor) MayCopy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.inPlace
}

func errFrozen(t *Tensor) error {
	return status.Errorf(status.InvalidState, "tensor %q is in use by a plan and cannot change any more", t.Name)
}

// put has fill write the tensor's data, in memory of the tensor's own. Where that
// fails half-way, the tensor has no data. The caller holds t.mu.
func (t *Tensor) put(fill func(dst []byte) error) error {
	if t.own == nil {
		own, err := t.weights.arena.Alloc(t.Type.Bytes())
		if err != nil {
			return err
		}
		t.own = own
	}
	t.data, t.inPlace, t.file = nil, false, nil
	if err := fill(t.own); err != nil {
		return err
	}
	t.data = t.own
	return nil
}
