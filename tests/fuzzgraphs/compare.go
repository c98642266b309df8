package main

import (
	"bytes"
	"math"

	"qtsaccel/backends/backendtest"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// stored gives values as their dtype holds them.
func stored(v ops.Value) (ops.Value, error) {
	data, out := make([]byte, v.Type.Bytes()), ops.NewValue(v.Type)
	if err := v.Encode(data); err != nil {
		return out, err
	}
	return out, out.Decode(data)
}

// evaluate runs an operator's reference kernel. What it panics on is an error.
func evaluate(c *ops.Call, in []ops.Value) (out []ops.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = failed("the reference kernel of %s panics: %v", c.Op.Name, r)
		}
	}()
	out = make([]ops.Value, len(c.Out))
	for i, t := range c.Out {
		out[i] = ops.NewValue(t)
	}
	if err := c.Op.Eval(c, in, out); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Type.DType.Quantised() {
			continue // its elements were only moved
		}
		if out[i], err = stored(out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check is checkOp with what the device may differ in. Where the table lets devices other
// than the CPU differ in an operator, and they do with NaN, infinities or denormals among
// the numbers, that is counted.
func (t *Target) check(c *ops.Call, in, got, want []ops.Value, stats *Stats) error {
	if t.onCPU() {
		return checkOp(c, in, got, want, t.bits, 0)
	}
	err := checkOp(c, in, got, want, t.bits, extra(c, in))
	if err != nil && (c.Op.LosesNaN || c.Op.OnDevices != "") && (odd(in) || odd(want)) {
		stats.Odd[c.Op.Name]++
		return nil
	}
	return err
}

// checkOp holds the results of one operator to the reference kernel's, with more than its
// tolerance where more is allowed.
func checkOp(c *ops.Call, in, got, want []ops.Value, bits int, more float64) error {
	for i := range want {
		if got[i].F == nil && got[i].I == nil {
			continue
		}
		w := want[i]
		switch c.Op.Name {
		case "cast":
			w = definedOnly(c, in[0], got[i], w)
		case "conv1d", "conv2d", "conv_transpose1d", "attention", "lstm_cell", "swiglu", "glu":
			w = beyondInfinity(c, in, got[i], w)
		}
		tolerance := c.Tolerance(bits) + more
		if err := backendtest.Near(got[i], w, tolerance); err != nil && !withinProducts(c, in, got[i], w, tolerance) {
			return failed("output %d: %v", i, err)
		}
	}
	return nil
}

// definedOnly gives what a cast must give, but where its dtype cannot hold the number
// what was got: there no particular number is promised.
func definedOnly(c *ops.Call, in, got, want ops.Value) ops.Value {
	to := c.Out[0].DType
	if !to.Integer() {
		return want
	}
	limit := map[tensor.DType]float64{tensor.I8: 1 << 7, tensor.I16: 1 << 15, tensor.I32: 1 << 31, tensor.I64: 1 << 63}[to]
	w := ops.Value{Type: want.Type, I: append([]int64(nil), want.I...)}
	for i := range w.I {
		var v float64
		if in.F != nil {
			v = in.F[i]
		} else {
			v = float64(in.I[i])
		}
		if math.IsNaN(v) || v <= -limit-1 || v >= limit {
			w.I[i] = got.I[i]
		}
	}
	return w
}

// beyondInfinity gives what an operator of several steps must give, but what was got where
// it or the result is NaN and an input is infinite, or a convolution's weight is not finite:
// whether a factor next to the infinity comes to 0, by underflow in f32 or as padding that
// is never multiplied, decides between NaN and a number, and neither is promised.
func beyondInfinity(c *ops.Call, in []ops.Value, got, want ops.Value) ops.Value {
	infinite := false
	for i, v := range in {
		for _, f := range v.F {
			infinite = infinite || math.IsInf(f, 0) || i == 1 && c.Op.Products > 0 && math.IsNaN(f)
		}
	}
	if !infinite {
		return want
	}
	w := ops.Value{Type: want.Type, F: append([]float64(nil), want.F...)}
	for i, f := range got.F {
		if math.IsNaN(f) != math.IsNaN(w.F[i]) {
			w.F[i] = f
		}
	}
	return w
}

// agreement is how alike two results of one computation are.
type agreement int

const (
	same      agreement = iota // every bit
	rounded                    // within one rounding
	explained                  // as far as roundings on the way may lead
	different
)

// agree compares a result with what it was when every tensor on its way was an output,
// where other kernels may have run: fused ones round less often. spread gives how far
// roundings lead, and is asked only where it matters.
func agree(got, want []byte, t tensor.Type, spread func() (spreads, error)) (agreement, error) {
	if bytes.Equal(got, want) {
		return same, nil
	}
	g, w := ops.NewValue(t), ops.NewValue(t)
	if err := g.Decode(got); err != nil {
		return different, err
	}
	if err := w.Decode(want); err != nil {
		return different, err
	}
	err := backendtest.Near(g, w, 1e-6)
	if err == nil {
		return rounded, nil
	}
	s, failure := spread()
	if failure != nil {
		return different, failure
	}
	if at := s.beyond(g, w); at >= 0 {
		return different, failed("%v; element %d is beyond what roundings explain", err, at)
	}
	return explained, nil
}

// spreads are the results of several computations in double precision in each of which
// every operator was off by a random part of its tolerance.
type spreads []ops.Value

// beyond finds an element where a differs from b by more than the computations differ
// among each other, -1 for none.
func (s spreads) beyond(a, b ops.Value) int {
	for i := range a.I {
		if a.I[i] != b.I[i] && !s.varies(i) {
			return i
		}
	}
	for i := range a.F {
		if a.F[i] == b.F[i] || math.IsNaN(a.F[i]) && math.IsNaN(b.F[i]) {
			continue
		}
		low, high, odd := math.Inf(1), math.Inf(-1), false
		for _, v := range s {
			odd = odd || math.IsNaN(v.F[i]) || math.IsInf(v.F[i], 0)
			low, high = math.Min(low, v.F[i]), math.Max(high, v.F[i])
		}
		if odd {
			continue
		}
		if d := math.Abs(a.F[i] - b.F[i]); !(d <= 4*(high-low)+1e-6*math.Max(1, math.Abs(b.F[i]))) {
			return i
		}
	}
	return -1
}

func (s spreads) varies(i int) bool {
	for _, v := range s {
		if v.I[i] != s[0].I[i] {
			return true
		}
	}
	return false
}
