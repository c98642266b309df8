package oplevel

import (
	"sync/atomic"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/split"
)

// Matrix is a weight of operator-level calls on one backend: [n_out, n_in], or a
// convolution's kernel [n_out, ky, kx, cin]. It goes to the device at its first use,
// without a copy where the device computes in the host's memory.
type Matrix struct {
	calls   *Calls
	weights *weights.Weights // retained
	tensor  *weights.Tensor
	shape   tensor.Shape // as it was given
	id      uint64
	dead    atomic.Bool
}

var matrixIDs atomic.Uint64

// NewMatrix makes a matrix with a copy of data. SHAPE_MISMATCH: data is not of its
// size; INVALID_ARGUMENT: fewer than one or more than four dimensions, a dtype of
// integers.
func (c *Calls) NewMatrix(t tensor.Type, data []byte) (*Matrix, error) {
	if err := checkMatrix(t); err != nil {
		return nil, err
	}
	if want := t.Bytes(); int64(len(data)) != want {
		return nil, status.Errorf(status.ShapeMismatch, "%d bytes are given, a matrix %v takes %d", len(data), t, want)
	}
	// Blocks lie along rows, whose length is only known to divide as given. And a kernel
	// of a convolution over images is kept as the matrix that it is to a product.
	kept := t
	if n := len(t.Shape); n == 4 || n > 2 && t.DType.Quantised() {
		kept.Shape = tensor.Shape{t.Shape[0], t.Shape.Elements() / t.Shape[0]}
	}
	return c.ownMatrix(t.Shape, func(w *weights.Weights) error {
		if err := w.Declare(ownName, kept); err != nil {
			return err
		}
		return w.Set(ownName, data)
	})
}

// MatrixOfSplit makes a matrix of levels and scales that lie apart, stored as a type,
// 0 for [split.Split.Stored], and says which that is and what it has changed.
// Errors are those of [split.Add].
func (c *Calls) MatrixOfSplit(m *split.Split, d tensor.DType) (made *Matrix, t tensor.Type, loss split.Loss, err error) {
	made, err = c.ownMatrix(tensor.Shape{m.Rows, m.Columns}, func(w *weights.Weights) error {
		t, loss, err = split.Add(w, ownName, m, d)
		return err
	})
	return made, t, loss, err
}

// ownName is the tensor's name in weights that belong to a matrix alone.
const ownName = "matrix"

// ownMatrix makes a matrix with weights of its own, into which fill puts one tensor.
func (c *Calls) ownMatrix(shape tensor.Shape, fill func(*weights.Weights) error) (*Matrix, error) {
	w := weights.New()
	err := fill(w)
	if err == nil {
		var t *weights.Tensor
		if t, err = w.At(0); err == nil {
			return c.newMatrix(w, t, shape), nil
		}
	}
	w.Release()
	return nil, err
}

// MatrixOf makes a matrix of a tensor of weights. NOT_FOUND; INVALID_STATE: it has no
// data yet.
func (c *Calls) MatrixOf(w *weights.Weights, name string) (*Matrix, error) {
	i, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	t, err := w.At(i)
	if err != nil {
		return nil, err
	}
	if err := t.Usable(); err != nil {
		return nil, err
	}
	if err := checkMatrix(t.Type); err != nil {
		return nil, status.Wrapf(err, "tensor %q", name)
	}
	data, err := t.Freeze()
	if err != nil {
		return nil, err
	}
	if t.Type.DType.Quantised() && len(t.Type.Shape) > 2 {
		return c.NewMatrix(t.Type, data) // the table's operators take no part of it as a matrix
	}
	w.Retain()
	return c.newMatrix(w, t, t.Type.Shape), nil
}

func checkMatrix(t tensor.Type) error {
	if err := t.Check(false); err != nil {
		return err
	}
	if t.DType.Integer() {
		return status.Errorf(status.InvalidArgument, "a matrix %v: it must be f32, f16, bf16 or quantised", t)
	}
	if len(t.Shape) == 0 {
		return status.Errorf(status.InvalidArgument, "a matrix has 1 to %d dimensions, not 0", tensor.MaxRank)
	}
	return nil
}

func (c *Calls) newMatrix(w *weights.Weights, t *weights.Tensor, shape tensor.Shape) *Matrix {
	if c.owner != nil {
		c.owner.Retain()
	}
	return &Matrix{calls: c, weights: w, tensor: t, shape: append(tensor.Shape(nil), shape...), id: matrixIDs.Add(1)}
}

// Release lets the matrix go, and what was built with it. It is called once, by
// whoever made it, when no call uses it any more.
func (m *Matrix) Release() {
	m.dead.Store(true)
	m.calls.forget()
	m.weights.Release()
	if m.calls.owner != nil {
		m.calls.owner.Release()
	}
}

// Bytes is what the matrix takes on the device.
func (m *Matrix) Bytes() int64 { return m.tensor.Type.Bytes() }

func (m *Matrix) nOut() int64 { return m.shape[0] }

func (m *Matrix) nIn() int64 { return m.shape.Elements() / m.shape[0] }

func (m *Matrix) dtype() tensor.DType { return m.tensor.Type.DType }

// asGiven gives the matrix in the shape that it was made with.
func (b *builder) asGiven(m *Matrix) ops.Ref {
	w := b.weight(m)
	if m.tensor.Type.Shape.Equal(m.shape) {
		return w
	}
	return b.reshape(w, m.shape...)
}

// rows gives the matrix as [n_out, n_in] in a graph, widened to f32 if widen.
func (b *builder) rows(m *Matrix, widen bool) ops.Ref {
	w := b.weight(m)
	if len(m.tensor.Type.Shape) != 2 {
		w = b.reshape(w, m.nOut(), m.nIn())
	}
	if !widen {
		return w
	}
	return b.widened(w, m)
}

func bufferOf(data []byte) backend.Buffer {
	return backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(data)), Bytes: uintptr(len(data))}
}
