package ggml

// #include "shim.h"
import "C"

import "qtsaccel/core/tensor"

// sequence gives a constant, f32 or i32, whose element i is start + step * (i % period).
// It is written when the graph is placed: on trial it costs nothing.
func (l *lowering) sequence(t tensor.Type, start, step float64, period int64) node {
	n := l.leaf(t)
	C.shim_sequence(l.b, n.t, C.double(start), C.double(step), C.int64_t(period))
	return n
}
