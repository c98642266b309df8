package ggml

// #include "shim.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// tapMajor is the layout of a convolution's weight [out, in, taps] as
// [out, taps, row]: the channels of a tap side by side, zeros up to row.
type tapMajor struct{ row int64 }

// tapMajor gives input i, an f32 weight [out, in, taps], in such a layout. A weight
// is laid out once, whoever uses it; what a graph computes is, at each run.
func (c *call) tapMajor(i int, as tapMajor) node {
	s, row := c.In[i].Shape, as.row
	t := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{s[0], s[2], row}}
	if c.program == nil {
		return c.leaf(t)
	}
	if pt := &c.program.Tensors[c.tensors[i]]; pt.Kind == graph.Weight {
		n := c.leaf(t)
		c.placeWeight(n, pt.Weight, as, t.Bytes(), func(data []byte) (weights.Copy, error) {
			return c.backend.newTapMajor(t, s[1], data)
		})
		return n
	}
	kernel := c.dense(c.transpose(c.in(i), 0, 2, 1))
	if row == s[1] {
		return kernel
	}
	return c.pad(kernel, []int64{0, 0, 0}, []int64{0, 0, row - s[1]})
}

// newTapMajor lays a weight out and puts it on the device.
func (b *Backend) newTapMajor(t tensor.Type, channels int64, data []byte) (weights.Copy, error) {
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
	w, err := b.newWeight(t, home)
	if err != nil || !b.cpu {
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

func (l laidOut) Free() {
	l.weight.Free()
	_ = mem.Free(l.home)
}
