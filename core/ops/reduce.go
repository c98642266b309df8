package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

// Operators that fold or accumulate an axis.

const sumsOnDevices = "The sums are made in double precision on the CPU, in f32 elsewhere"

func init() {
	reduce("reduce_sum", "the sum along an axis", sumsOnDevices, 1e-5, 0,
		func(sum, x float64) float64 { return sum + x }, nil)
	reduce("reduce_mean", "the mean along an axis", sumsOnDevices, 1e-5, 0,
		func(sum, x float64) float64 { return sum + x }, func(sum float64, n int) float64 { return sum / float64(n) })
	reduce("reduce_max", "the largest element along an axis, NaN where there is one", "On devices other than the CPU it is the least finite number where all are minus infinity", exact, math.Inf(-1),
		func(top, x float64) float64 { return max(top, x) }, nil)

	register(&Op{
		Name: "cumsum", Summary: "the sums of the elements up to each one, along an axis",
		Source:    "numpy.cumsum",
		Inputs:    []Input{{Name: "x", MinRank: 1}},
		Attrs:     []Attr{axisAttr(-1, "the axis; negative counts from the end")},
		Infer:     inferAlongAxis,
		Tolerance: 1e-5,
		OnDevices: sumsOnDevices,
		Eval: func(c *Call, in, out []Value) error {
			eachLane(c.In[0].Shape, c.Axis(), func(at laneAt) {
				sum := 0.0
				for i := range at.n {
					sum += in[0].F[at.of(i)]
					out[0].F[at.of(i)] = sum
				}
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			// Sums of 1, 2, 4, ... elements: each step adds what stands so far before
			// (Hillis and Steele, "Data Parallel Algorithms", 1986).
			s := &chain{b: b}
			axis, rank := c.Axis(), len(c.In[0].Shape)
			n, y := c.In[0].Shape[axis], in[0]
			if n == 1 {
				y = s.scale(y, 1, 0)
			}
			for apart := int64(1); apart < n; apart *= 2 {
				pads := make([]int64, 2*rank)
				pads[axis] = apart
				before := s.un("pad", s.slice(y, axis, 0, n-apart, 1), IntsAttr("pads", pads...))
				y = s.bin("add", y, before)
			}
			return s.result(y)
		},
	})
}

func reduce(name, summary, onDevices string, tolerance, start float64, fold func(acc, x float64) float64, end func(acc float64, n int) float64) {
	register(&Op{
		Name: name, Summary: summary,
		Source: "torch." + name[len("reduce_"):] + "; ONNX Reduce",
		Inputs: []Input{{Name: "x", MinRank: 1}},
		Attrs: []Attr{
			axisAttr(-1, "the axis; negative counts from the end"),
			flagAttr("keepdims", 1, "1: the axis stays, with length 1; 0: it goes"),
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			axis, err := checkAxis(c)
			if err != nil {
				return nil, err
			}
			if c.Int("keepdims") == 0 {
				return f32(without(c.In[0].Shape, axis)), nil
			}
			return f32(replaced(c.In[0].Shape, axis, 1)), nil
		},
		Tolerance: tolerance,
		LosesNaN:  name == "reduce_max",
		OnDevices: onDevices,
		Eval: func(c *Call, in, out []Value) error {
			eachLane(c.In[0].Shape, c.Axis(), func(at laneAt) {
				acc := start
				for i := range at.n {
					acc = fold(acc, in[0].F[at.of(i)])
				}
				if end != nil {
					acc = end(acc, at.n)
				}
				out[0].F[at.number] = acc
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			switch {
			case c.Int("keepdims") == 0:
				return s.result(s.reshape(s.un(name, in[0], IntAttr("axis", c.Int("axis"))), c.Out[0].Shape...))
			case c.Axis() != len(c.In[0].Shape)-1:
				y := s.un(name, moveToLast(s, c, in[0]))
				return s.result(s.reshape(y, c.Out[0].Shape...))
			case name == "reduce_mean":
				return s.result(s.scale(s.un("reduce_sum", in[0]), 1/float64(c.In[0].Shape.Dim(-1)), 0))
			case name == "reduce_max" && c.In[0].Shape.Dim(-1) > 1:
				return s.result(halvingMax(s, c, in[0]))
			}
			return nil, ErrNoDecomposition
		},
	})
}

// halvingMax finds the maximum of rows by comparing their halves: the later half
// begins early enough to be as long as the earlier one.
func halvingMax(s *chain, c *Call, x Ref) Ref {
	axis := len(c.In[0].Shape) - 1
	for n := c.In[0].Shape[axis]; n > 1; n = (n + 1) / 2 {
		half := (n + 1) / 2
		x = s.bin("maximum", s.slice(x, axis, 0, half, 1), s.slice(x, axis, n-half, n, 1))
	}
	return x
}

// moveToLast puts the attribute "axis" behind the others, which keep their order.
func moveToLast(s *chain, c *Call, x Ref) Ref {
	var axes []int64
	for i := range c.In[0].Shape {
		if i != c.Axis() {
			axes = append(axes, int64(i))
		}
	}
	return s.transpose(x, append(axes, int64(c.Axis()))...)
}
