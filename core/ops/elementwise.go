package ops

import "qtsaccel/core/tensor"

// Operators on pairs of elements, with numpy's broadcasting.

func init() {
	registerBinary("add", "a + b", func(a, b float64) float64 { return a + b }, nil)
	registerBinary("sub", "a - b", func(a, b float64) float64 { return a - b }, nil)
	registerBinary("mul", "a * b", func(a, b float64) float64 { return a * b }, nil)
	registerBinary("div", "a / b", func(a, b float64) float64 { return a / b }, nil)
	registerBinary("maximum", "the larger of a and b, NaN where either is",
		func(a, b float64) float64 { return max(a, b) },
		func(s *chain, a, b Ref) Ref { return choose(s, s.bin("sub", a, b), a, b) })
	registerBinary("minimum", "the smaller of a and b, NaN where either is",
		func(a, b float64) float64 { return min(a, b) },
		func(s *chain, a, b Ref) Ref { return choose(s, s.bin("sub", b, a), a, b) })
}

// choose gives a where the difference is above 0 or a is NaN, else b.
func choose(s *chain, difference, a, b Ref) Ref {
	takes := s.bin("add", s.un("step", difference), s.scale(isNumber(s, a), -1, 1))
	return s.op("where", []Ref{takes, a, b})
}

// isNumber is 0 where x is NaN, else 1: every number is above -1 or below 1.
func isNumber(s *chain, x Ref) Ref {
	return s.un("step", s.bin("add", s.un("step", s.scale(x, 1, 1)), s.un("step", s.scale(x, -1, 1))))
}

func registerBinary(name, summary string, f func(a, b float64) float64, decompose func(s *chain, a, b Ref) Ref) {
	op := &Op{
		Name: name, Summary: summary + ", element by element with numpy's broadcasting",
		Source:    "numpy, \"Broadcasting\"; torch." + name,
		Inputs:    []Input{{Name: "a"}, {Name: "b"}},
		Infer:     inferBroadcast,
		Tolerance: 1e-6,
		Eval: func(c *Call, in, out []Value) error {
			shape := c.Out[0].Shape
			sa, sb := broadcastStrides(c.In[0].Shape, shape), broadcastStrides(c.In[1].Shape, shape)
			n := int(shape.Dim(-1))
			da, db := lastStride(sa), lastStride(sb)
			eachRow(shape, [][]int{sa, sb}, func(row int, at []int) {
				i, j := at[0], at[1]
				y := out[0].F[row*n : (row+1)*n]
				for k := range y {
					y[k] = f(in[0].F[i], in[1].F[j])
					i, j = i+da, j+db
				}
			})
			return nil
		},
	}
	if decompose != nil {
		op.Decompose = func(b Builder, _ *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			return s.result(decompose(s, in[0], in[1]))
		}
	}
	register(op)
}

func lastStride(st []int) int {
	if len(st) == 0 {
		return 0
	}
	return st[len(st)-1]
}

// inferBroadcast is the shape rule of operators that broadcast all their inputs.
func inferBroadcast(c *Call) ([]tensor.Type, error) {
	shape := c.In[0].Shape
	for i := 1; i < len(c.In); i++ {
		wider, ok := Broadcast(shape, c.In[i].Shape)
		if !ok {
			for j := range i {
				if _, ok := Broadcast(c.In[j].Shape, c.In[i].Shape); !ok {
					return nil, mismatch("%s and %s do not broadcast: %s", c.arg(j), c.arg(i), clash(c.In[j].Shape, c.In[i].Shape))
				}
			}
			return nil, mismatch("%s does not broadcast with the inputs before it, which come to %v: %s",
				c.arg(i), shape, clash(shape, c.In[i].Shape))
		}
		shape = wider
	}
	return f32(shape), nil
}
