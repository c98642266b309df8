package ops

import "qtsaccel/core/tensor"

// Broadcast gives the shape that shapes broadcast to as in numpy: aligned at
// their last dimension, a dimension of 1 or none stretches. The second result is
// false where they do not fit.
func Broadcast(shapes ...tensor.Shape) (tensor.Shape, bool) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make(tensor.Shape, rank)
	for i := range out {
		out[i] = 1
		for _, s := range shapes {
			d := s.Dim(i - rank)
			if i-rank < -len(s) {
				d = 1
			}
			if d != 1 && out[i] != 1 && d != out[i] {
				return nil, false
			}
			out[i] = max(out[i], d)
		}
	}
	return out, true
}

// strides are the distances, in elements, between neighbours along each axis.
func strides(s tensor.Shape) []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= int(s[i])
	}
	return st
}

// broadcastStrides are the strides of a tensor of shape s read as one of shape
// to: 0 along axes that stretch.
func broadcastStrides(s, to tensor.Shape) []int {
	own, st := strides(s), make([]int, len(to))
	for i := range s {
		if s[i] != 1 {
			st[len(to)-len(s)+i] = own[i]
		}
	}
	return st
}

// eachRow walks over a tensor of shape s row by row and gives the row's number
// and, for each set of strides, the offset of its first element.
func eachRow(s tensor.Shape, sets [][]int, f func(row int, at []int)) {
	if len(s) == 0 {
		f(0, make([]int, len(sets)))
		return
	}
	outer := s[:len(s)-1]
	index, at := make([]int64, len(outer)), make([]int, len(sets))
	for row := range int(outer.Elements()) {
		f(row, at)
		for axis := len(outer) - 1; axis >= 0; axis-- {
			index[axis]++
			for k, st := range sets {
				at[k] += st[axis]
			}
			if index[axis] < outer[axis] {
				break
			}
			index[axis] = 0
			for k, st := range sets {
				at[k] -= st[axis] * int(outer[axis])
			}
		}
	}
}

// gather copies the elements of x that lie at an offset and strides into out,
// which has the given shape.
func gather(out, x Value, shape tensor.Shape, offset int, st []int) {
	n, step := int(shape.Dim(-1)), 0
	if len(st) > 0 {
		step = st[len(st)-1]
	}
	eachRow(shape, [][]int{st}, func(row int, at []int) {
		from := offset + at[0]
		for i := row * n; i < (row+1)*n; i++ {
			if x.F != nil {
				out.F[i] = x.F[from]
			} else {
				out.I[i] = x.I[from]
			}
			from += step
		}
	})
}
