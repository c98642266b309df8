package split

import (
	"errors"
	"math"
	"sync"

	"qtsaccel/core/guarded"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// splitRow is what storing a row of a matrix needs.
type splitRow struct {
	levels []int32
	exact  []float64 // values
	values []float32 // the f32 nearest to them
	stored []float32 // what was stored, read again
	loss   Loss
}

func newSplitRow(m *Split) *splitRow {
	return &splitRow{
		levels: make([]int32, m.Columns), exact: make([]float64, m.Columns),
		values: make([]float32, m.Columns), stored: make([]float32, m.Columns), loss: Loss{Exact: true},
	}
}

// store writes the matrix in a type, and says what that has changed.
func (m *Split) store(dst []byte, d tensor.DType) (Loss, error) {
	all := Loss{Exact: true}
	var mu sync.Mutex
	rowBytes := d.BytesOf(m.Columns)
	err := guarded.Each(m.Rows, m.Columns, func(from, to int64) error {
		r := newSplitRow(m)
		for row := from; row < to; row++ {
			out := dst[row*rowBytes : (row+1)*rowBytes]
			err := r.read(m, row)
			if err == nil {
				err = r.store(m, row, out, d)
			}
			if err == nil {
				err = quant.Decode(d, r.stored, out)
			}
			if err != nil {
				return status.Wrapf(err, "row %d", row)
			}
			r.compare()
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

// fits says whether a type holds the matrix. Of f16 it asks for every value, not only
// for those that count beside the greatest of their row.
func (m *Split) fits(d tensor.DType) (bool, error) {
	err := guarded.Each(m.Rows, m.Columns, func(from, to int64) error {
		r := newSplitRow(m)
		out := make([]byte, d.BytesOf(m.Columns))
		for row := from; row < to; row++ {
			err := r.read(m, row)
			if err == nil {
				err = r.store(m, row, out, d)
			}
			if err != nil {
				return status.Wrapf(err, "row %d", row)
			}
			for i, v := range r.values {
				if d == tensor.F16 && !quant.Fits(v) && m.Offsets == nil {
					return &quant.Unheld{DType: d, First: i, Last: i, Small: true, Most: float64(v)}
				}
			}
		}
		return nil
	})
	if _, ok := errors.AsType[*quant.Unheld](err); ok {
		return false, nil
	}
	return err == nil, err
}

// read gives the levels and the values of a row.
func (r *splitRow) read(m *Split, row int64) error {
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
	return nil
}

// store writes the row that was read: with its own levels where the type has them,
// else quantised anew. What the type cannot hold is an error with a [quant.Unheld].
func (r *splitRow) store(m *Split, row int64, dst []byte, d tensor.DType) error {
	var err error
	if shift, ok := m.keepsLevels(d); ok {
		err = r.keep(m, row, dst, d, shift)
	} else {
		err = quant.Store(d, dst, r.values)
	}
	if u, ok := errors.AsType[*quant.Unheld](err); ok {
		block := int64(u.First) / m.block()
		scale, offset := m.scale(row, block)
		return status.Wrapf(err, "block %d, whose scale is %v and offset %v", block, float32(scale), float32(offset))
	}
	return err
}

// keep writes a row with its own levels.
func (r *splitRow) keep(m *Split, row int64, dst []byte, d tensor.DType, shift int32) error {
	_, size := d.Block()
	var b quant.Block
	for i := int64(0); i < m.Columns; i, dst = i+32, dst[size:] {
		scale, offset := m.scale(row, i/m.block())
		b.Scale, b.Least = float32(scale), float32(offset-scale*float64(shift))
		for j := range b.Levels {
			b.Levels[j] = r.levels[i+int64(j)] + shift
		}
		if !b.Write(d, dst[:size]) {
			u := &quant.Unheld{DType: d, First: int(i), Last: int(i) + 31}
			for _, v := range r.values[i : i+32] {
				u.Most = max(u.Most, math.Abs(float64(v)))
			}
			u.Small = math.Abs(scale) <= 65504 && math.Abs(float64(b.Least)) <= 65504
			return status.Errorf(status.InvalidArgument, "%w", u)
		}
	}
	return nil
}

// compare notes by how much what was stored is off.
func (r *splitRow) compare() {
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
