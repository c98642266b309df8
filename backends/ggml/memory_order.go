package ggml

// #include "shim_ops.h"
import "C"

import (
	"cmp"
	"slices"
)

// inMemoryOrder applies f, which works element by element, to x and to others
// that are broadcast to it, with the axes in the order in which x's lie in memory:
// what was transposed without a copy needs none then either. The result lies in
// memory as x does.
func (l *lowering) inMemoryOrder(f func(x node, others ...node) node, x node, others ...node) node {
	order := x.memoryOrder()
	if x.contiguous() || slices.IsSorted(order[:]) {
		return f(x, others...)
	}
	var there, back [len(order)]C.int32_t
	for to, from := range order {
		there[from], back[to] = C.int32_t(to), C.int32_t(from)
	}
	permuted := make([]node, len(others))
	for i, o := range others {
		permuted[i] = l.permute(o, &there)
	}
	y := f(l.permute(x, &there), permuted...)
	return l.permute(y, &back)
}

// memoryOrder lists ggml's axes by stride, innermost first. Axes of one element stay
// where they are: their strides order nothing.
func (n node) memoryOrder() [4]int {
	order := [4]int{0, 1, 2, 3}
	if n.t == nil {
		return order
	}
	var long []int
	for axis := range order {
		if n.ne(axis) > 1 {
			long = append(long, axis)
		}
	}
	sorted := slices.Clone(long)
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(n.stride(a), n.stride(b)) })
	for i, axis := range long {
		order[axis] = sorted[i]
	}
	return order
}
