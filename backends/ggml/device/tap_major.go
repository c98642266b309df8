package device

import (
	"unsafe"

	"qtsaccel/core/mem"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// TapMajor is the layout of a convolution's f32 weight [out, in, taps] as
// [out, taps, row]: the channels of a tap side by side, zeros up to row.
type TapMajor struct{ Row int64 }

// Type is what a weight becomes.
func (l TapMajor) Type(t tensor.Type) tensor.Type {
	return tensor.Type{DType: tensor.F32, Shape: tensor.Shape{t.Shape[0], t.Shape[2], l.Row}}
}

func (l TapMajor) bytes(_ *Device, t tensor.Type) (int64, error) { return l.Type(t).Bytes(), nil }

func (l TapMajor) create(d *Device, t tensor.Type, _ int64, data []byte) (weights.Copy, error) {
	channels, t := t.Shape[1], l.Type(t)
	home, err := mem.Alloc(t.Bytes())
	if err != nil {
		return nil, err
	}
	from := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/4)
	to := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(home))), len(home)/4)
	outs, taps, row := t.Shape[0], t.Shape[1], t.Shape[2]
	for o := range outs {
		for k := range taps {
			for ch := range channels {
				to[(o*taps+k)*row+ch] = from[(o*channels+ch)*taps+k]
			}
		}
	}
	w, err := d.newWeight(t, home)
	if err != nil || !d.CPU {
		_ = mem.Free(home)
		return w, err
	}
	return laidOut{w, home}, nil
}

// laidOut is a weight on the CPU whose data lie in memory of its own.
type laidOut struct {
	weight
	home []byte
}

// Free implements [weights.Copy].
func (l laidOut) Free() {
	l.weight.Free()
	_ = mem.Free(l.home)
}
