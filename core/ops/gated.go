package ops

import "qtsaccel/core/tensor"

func init() {
	register(&Op{
		Name: "swiglu", Summary: "silu(gate) * up",
		Source: "Shazeer, \"GLU Variants Improve Transformer\" (2020)",
		Inputs: []Input{{Name: "gate"}, {Name: "up"}},
		Infer: func(c *Call) ([]tensor.Type, error) {
			if !c.In[0].Shape.Equal(c.In[1].Shape) {
				return nil, mismatch("%s and %s differ in shape", c.arg(0), c.arg(1))
			}
			return f32(c.In[0].Shape), nil
		},
		Tolerance: smooth,
		Eval: func(_ *Call, in, out []Value) error {
			for i, gate := range in[0].F {
				out[0].F[i] = silu(gate) * in[1].F[i]
			}
			return nil
		},
		Decompose: func(b Builder, _ *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			return s.result(s.bin("mul", s.un("silu", in[0]), in[1]))
		},
	})

	register(&Op{
		Name: "glu", Summary: "a * sigmoid(b), a and b the two halves of x along an axis",
		Source: "Dauphin et al., \"Language Modeling with Gated Convolutional Networks\" (2016); torch.nn.functional.glu",
		Inputs: []Input{{Name: "x", MinRank: 1}},
		Attrs:  []Attr{axisAttr(-1, "the axis that is halved; negative counts from the end")},
		Infer: func(c *Call) ([]tensor.Type, error) {
			axis, err := checkAxis(c)
			if err != nil {
				return nil, err
			}
			n := c.In[0].Shape[axis]
			if n%2 != 0 {
				return nil, mismatch("axis %d of %s has %d elements, want an even number", axis, c.arg(0), n)
			}
			return f32(replaced(c.In[0].Shape, axis, n/2)), nil
		},
		Tolerance: smooth,
		Eval: func(c *Call, in, out []Value) error {
			half := int(c.Out[0].Shape[c.Axis():].Elements())
			for i := range out[0].F {
				at := i/half*2*half + i%half
				out[0].F[i] = in[0].F[at] * sigmoid(in[0].F[at+half])
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			axis, half := c.Axis(), c.Out[0].Shape[c.Axis()]
			gate := s.un("sigmoid", s.slice(in[0], axis, half, 2*half, 1))
			return s.result(s.bin("mul", s.slice(in[0], axis, 0, half, 1), gate))
		},
	})
}
