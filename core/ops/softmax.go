package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "softmax", Summary: "exp(x) / sum(exp(x)) along an axis",
		Source:    "torch.nn.functional.softmax",
		Inputs:    []Input{{Name: "x", MinRank: 1}},
		Attrs:     []Attr{axisAttr(-1, "the axis that comes to 1; negative counts from the end")},
		Infer:     inferAlongAxis,
		Tolerance: smooth,
		Eval: func(c *Call, in, out []Value) error {
			eachLane(c.In[0].Shape, c.Axis(), func(at laneAt) {
				top, sum := at.max(in[0].F), 0.0
				for i := range at.n {
					e := math.Exp(in[0].F[at.of(i)] - top)
					out[0].F[at.of(i)] = e
					sum += e
				}
				for i := range at.n {
					out[0].F[at.of(i)] /= sum
				}
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			if c.Axis() != len(c.In[0].Shape)-1 {
				return alongLast(b, c, in[0], true)
			}
			s := &chain{b: b}
			e := s.un("exp", s.bin("sub", in[0], s.un("reduce_max", in[0])))
			return s.result(s.bin("div", e, s.un("reduce_sum", e)))
		},
	})

	register(&Op{
		Name: "log_softmax", Summary: "x - max - log(sum(exp(x - max))) along an axis",
		Source:    "torch.nn.functional.log_softmax",
		Inputs:    []Input{{Name: "x", MinRank: 1}},
		Attrs:     []Attr{axisAttr(-1, "the axis; negative counts from the end")},
		Infer:     inferAlongAxis,
		Tolerance: smooth,
		Eval: func(c *Call, in, out []Value) error {
			eachLane(c.In[0].Shape, c.Axis(), func(at laneAt) {
				top, sum := at.max(in[0].F), 0.0
				for i := range at.n {
					sum += math.Exp(in[0].F[at.of(i)] - top)
				}
				for i := range at.n {
					out[0].F[at.of(i)] = in[0].F[at.of(i)] - top - math.Log(sum)
				}
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			axis := IntAttr("axis", c.Int("axis"))
			x := s.bin("sub", in[0], s.un("reduce_max", in[0], axis))
			return s.result(s.bin("sub", x, s.un("log", s.un("reduce_sum", s.un("exp", x), axis))))
		},
	})
}

func inferAlongAxis(c *Call) ([]tensor.Type, error) {
	_, err := checkAxis(c)
	return f32(c.In[0].Shape), err
}

// laneAt is one line of elements along an axis: n of them, step apart.
type laneAt struct{ first, step, n, number int }

func (l laneAt) of(i int) int { return l.first + i*l.step }

func (l laneAt) max(x []float64) float64 {
	top := math.Inf(-1)
	for i := range l.n {
		top = max(top, x[l.of(i)])
	}
	return top
}

// eachLane walks over all lines along an axis, numbered as the elements of a
// tensor without that axis are.
func eachLane(s tensor.Shape, axis int, f func(laneAt)) {
	step := int(s[axis+1:].Elements())
	n := int(s[axis])
	number := 0
	for outer := range int(s[:axis].Elements()) {
		for inner := range step {
			f(laneAt{first: outer*n*step + inner, step: step, n: n, number: number})
			number++
		}
	}
}
