package ggml

// #include "shim.h"
import "C"

import (
	"slices"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/guarded"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// repacking is a layout in which the CPU's products find a weight rearranged for its
// instruction set: one of ggml's extra buffer types, by its place among them.
type repacking struct{ number C.int32_t }

// repackedWeight is a weight in such a layout.
type repackedWeight struct {
	weight
	bytes int64
}

// repackedProduct is product with input i, a weight [n_out, n_in], in a copy of it that
// is rearranged; none where there is none. Whatever else reads the weight reads it as it
// is stored.
func (c *call) repackedProduct(i int, x, bias node) node {
	layout, ok := c.layout(i).(repacking)
	if !ok {
		return none
	}
	w := c.program.Tensors[c.tensors[i]].Weight
	bytes, divisible, err := c.backend.repackedBytes(w.Type, layout)
	var made weights.Copy
	if err == nil {
		made, err = c.backend.copies.Get(w, layout, bytes, func(data []byte) (weights.Copy, error) {
			return c.backend.newRepacked(w.Type, layout, bytes, divisible, data)
		})
	}
	if status.Of(err) == status.OutOfMemory {
		return none // it does without
	}
	if err != nil {
		c.err = err
		return none
	}
	w.Retain()
	c.executable.weights = append(c.executable.weights, w)
	leaf := c.leaf(w.Type)
	if r, ok := made.(repackedWeight); ok { // what this layout's are
		c.place(leaf, r.buffer)
		c.noteRepacked(w, layout, r.bytes)
	}
	// ggml takes four rows of x at a time as if they lay one behind the other.
	return c.ggmlProductOf(leaf, c.in(i), c.dense(x), bias)
}

func (c *call) noteRepacked(w *weights.Tensor, layout repacking, bytes int64) {
	r := backend.RepackedWeight{
		Weight: w.Name, DType: w.Type.DType.String(), Layout: c.backend.layoutName(layout), Bytes: bytes,
	}
	if list := &c.executable.repacked; !slices.Contains(*list, r) {
		*list = append(*list, r)
	}
}

// ggml's names of layouts: the one whose products ours are measured against, and the one
// of processors with AMX.
const (
	interleaved = "CPU_REPACK"
	amx         = "AMX"
)

// productLayout chooses the layout in which a product of so many rows finds a weight;
// false: as it is stored, for ggml or for our own kernel.
//
// Measured on Zen 4 (2048 by 2048 and 4096 by 8192; 1, 2, 4, 8, 31, 64 and 512 rows; one
// thread and two), ggml's products with rearranged weights take this part of the time:
// q4_0 0.67 to 1.0, q4_K 0.49 to 0.86, iq4_nl 0.56 to 0.95, mxfp4 0.32 to 0.70; but q2_K
// 0.95 to 1.2, the most at 4 to 31 rows, so that it stays as it is. With AMX, whose layout
// ggml prefers where there is one, they take 0.23 to 0.7, and less than our kernel for any
// number of rows.
func (b *Backend) productLayout(w *weights.Tensor, rows int64) (repacking, bool) {
	layout, dtype := repacking{-1}, dtypes[w.Type.DType]
	if d := w.Type.DType; !b.repack || !d.Quantised() || d == tensor.Q2_K || w.Type.Bytes() == 0 || !w.MayCopy() {
		return layout, false
	}
	ne := extents(w.Type.Shape)
	if C.shim_repack_layout(b.device, dtype, &ne[0], C.int64_t(rows), &layout.number) != 0 || layout.number < 0 {
		return layout, false
	}
	switch b.layoutName(layout) {
	case interleaved:
		return layout, !productPays(uint32(dtype), rows, true)
	case amx:
		// Where a row is one block of 32, ggml 0.25 adds the products of 32 rows of x onto
		// what lies where they go.
		return layout, w.Type.Shape.Dim(-1) > 32
	}
	return layout, true
}

func (b *Backend) layoutName(l repacking) string {
	return C.GoString(C.shim_repack_name(b.device, l.number))
}

// rowsApart is the least of rows that are rearranged by themselves: layouts move rows
// among 4 to 32 neighbours.
const rowsApart = 64

// repackedBytes is what a weight takes in a layout, and whether parts of it can be
// rearranged by themselves.
func (b *Backend) repackedBytes(t tensor.Type, layout repacking) (int64, bool, error) {
	ne := extents(t.Shape)
	var bytes C.size_t
	var divisible C.bool
	err := b.do("a weight's size", func() C.int32_t {
		return C.shim_repack_bytes(b.device, layout.number, dtypes[t.DType], &ne[0], &bytes, &divisible)
	})
	return int64(bytes), bool(divisible), err
}

// newRepacked rearranges a weight, on as many threads as a run has.
func (b *Backend) newRepacked(t tensor.Type, layout repacking, bytes int64, divisible bool, data []byte) (weights.Copy, error) {
	dtype, ne := dtypes[t.DType], extents(t.Shape)
	made := repackedWeight{weight{device: b.device}, bytes}
	if err := mem.Check(bytes); err != nil {
		return nil, err
	}
	err := b.do("a weight", func() C.int32_t {
		return C.shim_repack_new(b.device, layout.number, C.size_t(bytes), &made.buffer)
	})
	if err != nil {
		return nil, err
	}
	mem.PreferHugePages(C.shim_repack_memory(made.buffer), bytes)

	rows, row := t.Shape[0], t.Bytes()/t.Shape[0]
	step := rows
	if divisible {
		step = (rows/int64(b.info.Threads)/rowsApart + 1) * rowsApart
	}
	var group guarded.Group
	for from := int64(0); from < rows; from += step {
		group.Go(func() error {
			part := ne
			part[1] = C.int64_t(min(step, rows-from))
			return b.do("a weight", func() C.int32_t {
				return C.shim_repack_rows(b.device, made.buffer, dtype, &part[0], C.size_t(from*row), unsafe.Pointer(&data[from*row]))
			})
		})
	}
	if err := group.Wait(); err != nil {
		made.Free()
		return nil, err
	}
	return made, nil
}
