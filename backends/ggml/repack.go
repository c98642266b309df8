package ggml

import (
	"slices"

	"qtsaccel/backends/ggml/device"
	"qtsaccel/core/backend"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// repackedProduct is product with input i, a weight [n_out, n_in], in a copy of it that
// is rearranged; none where there is none. Whatever else reads the weight reads it as it
// is stored.
func (c *call) repackedProduct(i int, x, bias node) node {
	layout, ok := c.layout(i).(device.Repacked)
	if !ok {
		return none
	}
	w := c.program.Tensors[c.tensors[i]].Weight
	leaf := c.leaf(w.Type)
	bytes, err := c.placeWeightIn(leaf, w, layout)
	if status.Of(err) == status.OutOfMemory {
		return none // it does without
	}
	if err != nil {
		c.err = err
		return none
	}
	c.noteRepacked(w, layout, bytes)
	// ggml takes four rows of x at a time as if they lay one behind the other.
	return c.ggmlProductOf(leaf, c.in(i), c.dense(x), bias)
}

func (c *call) noteRepacked(w *weights.Tensor, layout device.Repacked, bytes int64) {
	r := backend.RepackedWeight{
		Weight: w.Name, DType: w.Type.DType.String(), Layout: c.backend.device.LayoutName(layout), Bytes: bytes,
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
func (b *Backend) productLayout(w *weights.Tensor, rows int64) (device.Repacked, bool) {
	if d := w.Type.DType; !d.Quantised() || d == tensor.Q2_K || w.Type.Bytes() == 0 || !w.MayCopy() {
		return device.Repacked{}, false
	}
	layout, ok := b.device.Repacked(w.Type, rows)
	if !ok {
		return layout, false
	}
	switch b.device.LayoutName(layout) {
	case interleaved:
		return layout, !productPays(uint32(dtypes[w.Type.DType]), rows, true)
	case amx:
		// Where a row is one block of 32, ggml 0.25 adds the products of 32 rows of x onto
		// what lies where they go.
		return layout, w.Type.Shape.Dim(-1) > 32
	}
	return layout, true
}
