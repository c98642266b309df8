// Package reference is the backend that computes in plain Go, in float64, as the
// operator table says: what other backends are held to, and the last resort
// where no other can be had. Unlike them it allocates while it runs.
package reference

import (
	"runtime"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/weights"
)

type device struct {
	copies weights.DeviceCopies // weights as float64
}

// New makes a reference backend.
func New() backend.Backend { return &device{} }

func (d *device) Info() backend.Info {
	return backend.Info{
		Name: "reference", Description: "plain Go in double precision, slow",
		Library: runtime.Version(), Threads: runtime.GOMAXPROCS(0),
	}
}

// Supports takes every call: the table has a kernel for each. A type that the
// reference cannot read is refused by name when a program is built.
func (d *device) Supports(*ops.Call) bool { return true }

func (d *device) NewStream() (backend.Stream, error) {
	return &stream{device: d, states: map[string]ops.Value{}}, nil
}

func (d *device) Close() error {
	d.copies.Close()
	return nil
}

// converted is a weight as float64.
type converted struct{ ops.Value }

func (converted) Free() {} // the collector does

// weight gives a weight as float64, converted once.
func (d *device) weight(t *weights.Tensor) (ops.Value, error) {
	made, err := d.copies.Get(t, nil, func(data []byte) (weights.Copy, error) {
		v := ops.NewValue(t.Type)
		return converted{v}, v.Decode(data)
	})
	if err != nil {
		return ops.Value{}, err
	}
	return made.(converted).Value, nil
}
