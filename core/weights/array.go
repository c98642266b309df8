package weights

import (
	"math"
	"math/bits"
	"unsafe"

	"qtsaccel/core/guarded"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Array is an array as a host has it: of any strides, so that it may be a
// transposed or sliced part of another one.
type Array struct {
	Type tensor.Type
	// Strides are the bytes from one element to the next along each dimension; they
	// may be negative, or 0. Nil: dense, row-major.
	Strides []int64
	// Data has all elements; Origin is where the one with all indices 0 begins.
	Data   []byte
	Origin int64
	// Release, where it is not nil, lets the data be borrowed: if it is dense, of the tensor's
	// type, and aligned to [Alignment], it is used where it is, and must not change.
	// Release is called, from any goroutine, when nothing uses it any more: when the
	// last reference to the weights goes, or at once where the data was copied.
	Release func()
}

// borrowable says whether the array can be a tensor's data as it is.
func (a *Array) borrowable(t tensor.Type) bool {
	return a.Release != nil && a.Strides == nil && a.Type.DType == t.DType && len(a.Data) > 0 &&
		uintptr(unsafe.Pointer(unsafe.SliceData(a.Data[a.Origin:])))%Alignment == 0
}

// Reach is how many bytes before the first element (0 or less), and from its
// beginning on, an array of a type and strides takes. INVALID_ARGUMENT: a type or
// strides that cannot be; quantised arrays are dense.
func Reach(t tensor.Type, strides []int64) (before, after int64, err error) {
	if err := t.Check(false); err != nil {
		return 0, 0, err
	}
	if strides == nil {
		return 0, t.Bytes(), nil
	}
	if t.DType.Quantised() {
		return 0, 0, status.Errorf(status.InvalidArgument, "strides of %v: a quantised array is dense", t)
	}
	if len(strides) != len(t.Shape) {
		return 0, 0, status.Errorf(status.InvalidArgument, "%d strides for %v", len(strides), t)
	}
	_, after = t.DType.Block()
	for i, stride := range strides {
		high, low := bits.Mul64(uint64(t.Shape[i]-1), magnitude(stride))
		span := int64(low)
		if high != 0 || span < 0 || span > math.MaxInt64/8 || after > math.MaxInt64/4 || before < -math.MaxInt64/4 {
			return 0, 0, status.Errorf(status.InvalidArgument, "stride %d of %v: the array is larger than any memory", stride, t)
		}
		if stride < 0 {
			before -= span
		} else {
			after += span
		}
	}
	return before, after, nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (a *Array) check() error {
	before, after, err := Reach(a.Type, a.Strides)
	if err != nil {
		return err
	}
	if a.Origin+before < 0 || after > int64(len(a.Data))-a.Origin {
		return status.Errorf(status.ShapeMismatch, "%v with strides %v reaches from byte %d to %d of %d", a.Type, a.Strides,
			a.Origin+before, a.Origin+after, len(a.Data))
	}
	return nil
}

// SetArray copies a tensor's data in from an array of its shape, and converts it to
// the tensor's type where that is another one of real numbers; or it borrows the
// array, see [Array]. Nothing is borrowed or released where it fails. Errors are those of
// [Weights.Set]; SHAPE_MISMATCH: another shape, or data that is too short;
// UNSUPPORTED: types that are not converted; INVALID_ARGUMENT: a value that the
// tensor's type cannot hold, or see [Reach]. Where a value is at
// fault, the tensor has no data from then on.
func (w *Weights) SetArray(name string, a Array) error {
	return w.fill(name, func(t *Tensor) error {
		if !a.Type.Shape.Equal(t.Type.Shape) {
			return status.Errorf(status.ShapeMismatch, "the array is %v", a.Type)
		}
		if err := a.check(); err != nil {
			return err
		}
		if a.Type.DType != t.Type.DType && (!quant.CanDecode(a.Type.DType) || !quant.CanEncode(t.Type.DType)) {
			return status.Errorf(status.Unsupported, "%v cannot be converted to %v here", a.Type.DType, t.Type.DType)
		}
		if a.borrowable(t.Type) {
			t.data, t.inPlace, t.file = a.Data[a.Origin:][:t.Type.Bytes():t.Type.Bytes()], true, nil
			w.mu.Lock()
			defer w.mu.Unlock()
			w.borrowed = append(w.borrowed, a.Release)
			return nil
		}
		err := t.put(func(dst []byte) error { return a.store(dst, t.Type) })
		if err == nil && a.Release != nil {
			a.Release()
		}
		return err
	})
}

// fill changes the data of a tensor that is not in use.
func (w *Weights) fill(name string, change func(t *Tensor) error) error {
	if !w.use() {
		return errReleased()
	}
	defer w.Release()
	i, err := w.Find(name)
	if err != nil {
		return err
	}
	t, err := w.At(i)
	if err != nil {
		return err
	}
	if err := t.Usable(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.frozen {
		return errFrozen(t)
	}
	return status.Wrapf(change(t), "tensor %q, %v", t.Name, t.Type)
}

// store writes the array in a type, row by row.
func (a *Array) store(dst []byte, t tensor.Type) error {
	row := max(1, t.Shape.Dim(-1))
	rows := t.Shape.Elements() / row
	rowBytes := t.DType.BytesOf(row)
	return guarded.Each(rows, row, func(from, to int64) error {
		raw := make([]byte, a.Type.DType.BytesOf(row))
		values := make([]float32, row)
		for i := from; i < to; i++ {
			out := dst[i*rowBytes : (i+1)*rowBytes]
			if t.DType == a.Type.DType {
				a.gather(out, i)
				continue
			}
			a.gather(raw, i)
			if err := quant.Decode(a.Type.DType, values, raw); err != nil {
				return err
			}
			if err := quant.Store(t.DType, out, values); err != nil {
				return status.Wrapf(err, "row %d", i)
			}
		}
		return nil
	})
}

// gather copies the elements of a row, counted over all axes but the last.
func (a *Array) gather(dst []byte, row int64) {
	if a.Strides == nil {
		copy(dst, a.Data[a.Origin+row*int64(len(dst)):])
		return
	}
	at := a.Origin
	last := len(a.Strides) - 1
	for axis := last - 1; axis >= 0; axis-- {
		at += row % a.Type.Shape[axis] * a.Strides[axis]
		row /= a.Type.Shape[axis]
	}
	_, width := a.Type.DType.Block()
	stride := width
	if last >= 0 {
		stride = a.Strides[last]
	}
	if stride == width {
		copy(dst, a.Data[at:])
		return
	}
	for ; len(dst) > 0; dst, at = dst[width:], at+stride {
		copy(dst[:width], a.Data[at:])
	}
}
