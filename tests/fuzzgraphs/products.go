package main

import (
	"math"
	"slices"

	"qtsaccel/core/ops"
)

// The suite's bound is relative to the largest result. Kernels that round a product's
// factors, to the weight's dtype or to 8 bits, are off relative to the sum of the products'
// magnitudes; of many products that cancel each other little is left to be relative to.
// The suite's cases have many results, of which one is large; here there may be one.

// beforeCancelling gives for each result of a call the magnitude that its error is relative
// to, nil where that is the result's own.
func beforeCancelling(c *ops.Call, in []ops.Value) []float64 {
	switch c.Op.Name {
	case "linear", "matmul", "conv1d", "conv2d", "conv_transpose1d":
		positive := make([]ops.Value, len(in))
		for i, v := range in {
			positive[i] = magnitudes(v)
		}
		if len(c.In) > 1 && c.In[1].DType.Quantised() {
			// Blocks of x are rounded to 8 bits of their largest element.
			block, _ := c.In[1].DType.Block()
			spread(positive[0].F, int(c.In[0].Shape.Dim(-1)), int(block))
		}
		out, err := evaluate(c, positive)
		if err != nil {
			return nil
		}
		return out[0].F
	case "attention":
		q, k := largest(in[0]), largest(in[1])
		d := float64(c.In[0].Shape[2])
		score := math.Abs(ops.AttentionScale(c)) * d * q * k
		return same64(int(c.Out[0].Shape.Elements()), math.Max(1, score)*math.Max(1, largest(in[2])))
	case "lstm_cell":
		gate := 0.0
		for _, pair := range [][2]int{{0, 3}, {1, 4}} {
			gate += largest(in[pair[0]]) * largest(in[pair[1]]) * float64(c.In[pair[0]].Shape[1])
		}
		return same64(int(c.Out[0].Shape.Elements()), math.Max(1, gate)*(1+largest(in[2])))
	}
	return nil
}

// spread gives all elements of each block of a row the largest one's magnitude.
func spread(rows []float64, n, block int) {
	for row := range slices.Chunk(rows, n) {
		for part := range slices.Chunk(row, block) {
			most := slices.Max(part)
			for i := range part {
				part[i] = most
			}
		}
	}
}

func magnitudes(v ops.Value) ops.Value {
	p := ops.Value{Type: v.Type, I: v.I, F: make([]float64, len(v.F))}
	for i, f := range v.F {
		p.F[i] = math.Abs(f)
	}
	return p
}

// largest is the largest finite magnitude.
func largest(v ops.Value) float64 {
	most := 0.0
	for _, f := range v.F {
		if a := math.Abs(f); a > most && !math.IsInf(a, 0) {
			most = a
		}
	}
	return most
}

func same64(n int, v float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// withinProducts says whether results are off by no more than the tolerance of the
// magnitudes that there were before products cancelled each other.
func withinProducts(c *ops.Call, in []ops.Value, got, want ops.Value, tolerance float64) bool {
	before := beforeCancelling(c, in)
	if before == nil || len(before) != len(want.F) {
		return false
	}
	for i, w := range want.F {
		g := got.F[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if !(math.Abs(g-w) <= tolerance*math.Max(1, before[i])) {
			return false
		}
	}
	return true
}
