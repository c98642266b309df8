// Package reference is the backend that computes in plain Go, in float64, as the
// operator table says: what other backends are held to, and the last resort
// where no other can be had. Unlike them it allocates while it runs.
package reference

import (
	"runtime"

	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

type device struct {
	copies weights.DeviceCopies // weights as float64
}

// New makes a reference backend.
func New() backend.Backend { return NewWithin(0) }

// NewWithin makes one on which weights may take budget bytes; 0: what the machine has.
func NewWithin(budget int64) backend.Backend {
	return &device{copies: weights.DeviceCopies{Budget: budget}}
}

func (d *device) Info() backend.Info {
	return backend.Info{
		Name: "reference", OnHost: true, Description: "plain Go in double precision, slow",
		Library: runtime.Version(), ProductBits: 53, Threads: runtime.GOMAXPROCS(0),
	}
}

// Supports takes every call: the table has a kernel for each, and weights of every
// type are read.
func (d *device) Supports(*ops.Call) bool { return true }

func (d *device) NewStream() (backend.Stream, error) {
	return &stream{device: d, states: map[string]ops.Value{}}, nil
}

// Upload converts the tensors one by one.
func (d *device) Upload(tensors []*weights.Tensor, progress func(done int64) bool) error {
	return weights.EachUploaded(tensors, progress, func(t *weights.Tensor) error {
		_, err := d.weight(t)
		return err
	})
}

func (d *device) WeightBytes(w *weights.Weights) int64 { return d.copies.Bytes(w) }

func (d *device) Close() error {
	d.copies.Close()
	return nil
}

// converted is a weight as float64.
type converted struct {
	ops.Value
	memory []byte
}

func (c converted) Free() {
	// It fails only for memory that is not ours, which the leak counts would show.
	_ = mem.Free(c.memory)
}

// weight gives a weight as float64, converted once.
func (d *device) weight(t *weights.Tensor) (ops.Value, error) {
	made, err := d.copies.Get(t, nil, wideBytes(t.Type), func(data []byte) (weights.Copy, error) {
		memory, err := mem.Alloc(wideBytes(t.Type))
		if err != nil {
			return nil, err
		}
		c := converted{over(t.Type, memory), memory}
		if err := c.Decode(data); err != nil {
			c.Free()
			return nil, err
		}
		return c, nil
	})
	if err != nil {
		return ops.Value{}, err
	}
	c, ok := made.(converted)
	if !ok {
		return ops.Value{}, status.Errorf(status.Internal, "tensor %q has a copy that is not the reference's", t.Name)
	}
	return c.Value, nil
}
