package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "snake", Summary: "x + sin(alpha x)^2 / beta, alpha and beta per channel (axis 1)",
		Source: "Ziyin et al., \"Neural Networks Fail to Learn Periodic Functions and How to Fix It\" (2020); with beta apart from alpha: BigVGAN (2022)",
		Inputs: []Input{
			{Name: "x", MinRank: 3, MaxRank: 3},
			{Name: "alpha", MinRank: 1, MaxRank: 1},
			{Name: "beta", MinRank: 1, MaxRank: 1},
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			for i := 1; i <= 2; i++ {
				if err := wantShape(c, i, 0, c.In[0].Shape[1]); err != nil {
					return nil, err
				}
			}
			return f32(c.In[0].Shape), nil
		},
		Tolerance: smooth,
		OnDevices: "On devices other than the CPU alpha x is rounded to f32, and so the sine of a large one is off by as much",
		Eval: func(c *Call, in, out []Value) error {
			channels, l := int(c.In[0].Shape[1]), int(c.In[0].Shape[2])
			for i, x := range in[0].F {
				channel := i / l % channels
				sin := math.Sin(in[1].F[channel] * x)
				out[0].F[i] = x + sin*sin/in[2].F[channel]
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			channels := c.In[0].Shape[1]
			alpha, beta := s.reshape(in[1], channels, 1), s.reshape(in[2], channels, 1)
			wave := s.un("square", s.un("sin", s.bin("mul", in[0], alpha)))
			return s.result(s.bin("add", in[0], s.bin("div", wave, beta)))
		},
	})
}
