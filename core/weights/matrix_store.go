package weights

import (
	"math"
	"sync"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// matrixRow is what storing a row of a matrix needs.
type matrixRow struct {
	levels []int32
	exact  []float64 // values
	values []float32 // the f32 nearest to them
	stored []float32 // what was stored, read again
	loss   Loss
}

// store writes the matrix in a type, and says what that has changed.
func (m *Matrix) store(dst []byte, d tensor.DType) (Loss, error) {
	all := Loss{Exact: true}
	var mu sync.Mutex
	rowBytes := bytesOf(d, m.Columns)
	err := eachOf(m.Rows, m.Columns, func(from, to int64) error {
		r := matrixRow{
			levels: make([]int32, m.Columns), exact: make([]float64, m.Columns),
			values: make([]float32, m.Columns), stored: make([]float32, m.Columns), loss: Loss{Exact: true},
		}
		for row := from; row < to; row++ {
			if err := r.store(m, row, dst[row*rowBytes:(row+1)*rowBytes], d); err != nil {
				return status.Wrapf(err, "row %d", row)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.Exact = all.Exact && r.loss.Exact
		all.MaxAbsolute = max(all.MaxAbsolute, r.loss.MaxAbsolute)
		all.MaxRelative = max(all.MaxRelative, r.loss.MaxRelative)
		return nil
	})
	return all, err
}

func (r *matrixRow) store(m *Matrix, row int64, dst []byte, d tensor.DType) error {
	m.readLevels(r.levels, row)
	for from := int64(0); from < m.Columns; from += m.block() {
		scale, offset := m.scale(row, from/m.block())
		for i := from; i < from+m.block(); i++ {
			// Exact in f64 but for sums of numbers of very different size.
			r.exact[i] = float64(scale*float64(r.levels[i])) + offset
			r.values[i] = float32(r.exact[i])
			if v := float64(r.values[i]); math.IsInf(v, 0) || math.IsNaN(v) {
				return status.Errorf(status.InvalidArgument, "element %d is %v: its scale is %v, its offset %v", i, v, scale, offset)
			}
		}
	}
	if shift, ok := m.keepsLevels(d); !ok || !r.keep(m, row, dst, d, shift) {
		if err := quant.Encode(d, dst, r.values); err != nil {
			return err
		}
	}
	if err := quant.Decode(d, r.stored, dst); err != nil {
		return err
	}
	r.compare()
	return nil
}

// keep writes a row with its own levels, unless a scale is too large for f16.
func (r *matrixRow) keep(m *Matrix, row int64, dst []byte, d tensor.DType, shift int32) bool {
	_, size := d.Block()
	var b quant.Block
	for i := int64(0); i < m.Columns; i, dst = i+32, dst[size:] {
		scale, offset := m.scale(row, i/m.block())
		b.Scale, b.Least = float32(scale), float32(offset-scale*float64(shift))
		for j := range b.Levels {
			b.Levels[j] = r.levels[i+int64(j)] + shift
		}
		if !b.Write(d, dst[:size]) {
			return false
		}
	}
	return true
}

// compare notes by how much what was stored is off.
func (r *matrixRow) compare() {
	for i, v := range r.stored {
		if v == r.values[i] {
			continue
		}
		r.loss.Exact = false
		off := math.Abs(float64(v) - r.exact[i])
		r.loss.MaxAbsolute = max(r.loss.MaxAbsolute, off)
		if r.exact[i] != 0 {
			r.loss.MaxRelative = max(r.loss.MaxRelative, off/math.Abs(r.exact[i]))
		}
	}
}
