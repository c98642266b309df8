package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

// Operators on single elements.

func init() {
	unary("relu", "max(x, 0)", exact, func(x float64) float64 { return max(x, 0) }, nil)
	unary("sigmoid", "1 / (1 + exp(-x))", smooth, sigmoid, nil)
	unary("tanh", "tanh(x)", smooth, math.Tanh,
		func(s *chain, x Ref) Ref { return s.scale(s.un("sigmoid", s.scale(x, 2, 0)), 2, -1) })
	unary("silu", "x * sigmoid(x), also called swish", smooth, silu,
		func(s *chain, x Ref) Ref { return s.bin("mul", x, s.un("sigmoid", x)) })
	unary("exp", "e^x", smooth, math.Exp, nil)
	unary("log", "the natural logarithm of x", smooth, math.Log, nil)
	unary("sqrt", "the square root of x", 1e-6, math.Sqrt, nil)
	unary("abs", "|x|", exact, math.Abs,
		func(s *chain, x Ref) Ref { return s.bin("add", s.un("relu", x), s.un("relu", s.un("neg", x))) })
	unary("neg", "-x", exact, func(x float64) float64 { return -x },
		func(s *chain, x Ref) Ref { return s.scale(x, -1, 0) })
	unary("square", "x^2", 1e-6, func(x float64) float64 { return x * x },
		func(s *chain, x Ref) Ref { return s.bin("mul", x, x) })
	unary("sin", "sin(x), x in radians", smooth, math.Sin, nil)
	unary("cos", "cos(x), x in radians", smooth, math.Cos, nil)
	unary("step", "1 where x > 0, else 0", exact, func(x float64) float64 {
		if x > 0 {
			return 1
		}
		return 0
	}, nil)
	unary("softplus", "log(1 + exp(x))", smooth,
		func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
		// relu(x) + log(1 + exp(-|x|)) overflows nowhere.
		func(s *chain, x Ref) Ref {
			tail := s.un("log", s.scale(s.un("exp", s.un("neg", s.un("abs", x))), 1, 1))
			return s.bin("add", s.un("relu", x), tail)
		})

	register(&Op{
		Name:      "gelu",
		Summary:   "x * Phi(x), Phi the normal distribution: x/2 * (1 + erf(x/sqrt(2))), or with approximate = \"tanh\" x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))",
		Source:    "Hendrycks and Gimpel, \"Gaussian Error Linear Units\" (2016); torch.nn.functional.gelu",
		Inputs:    []Input{{Name: "x"}},
		Attrs:     []Attr{optText("approximate", "none", "whether the error function or its approximation by tanh is used").oneOf("none", "tanh")},
		Infer:     sameAsFirst,
		Tolerance: smooth,
		Eval: func(c *Call, in, out []Value) error {
			f := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
			if c.Text("approximate") == "tanh" {
				f = func(x float64) float64 {
					return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
				}
			}
			apply(in[0], out[0], f)
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			if c.Text("approximate") != "tanh" {
				return nil, ErrNoDecomposition
			}
			s := &chain{b: b}
			x := in[0]
			// (1 + tanh(u)) / 2 = sigmoid(2u), u = sqrt(2/pi) * x * (1 + 0.044715 x^2)
			twice := s.scale(s.bin("mul", x, s.scale(s.un("square", x), 0.044715, 1)), 2*math.Sqrt(2/math.Pi), 0)
			return s.result(s.bin("mul", x, s.un("sigmoid", twice)))
		},
	})

	register(&Op{
		Name: "leaky_relu", Summary: "x where x > 0, else negative_slope * x",
		Source:    "Maas et al., \"Rectifier Nonlinearities Improve Neural Network Acoustic Models\" (2013); torch.nn.functional.leaky_relu",
		Inputs:    []Input{{Name: "x"}},
		Attrs:     []Attr{optReal("negative_slope", 0.01, "the slope below 0")},
		Infer:     sameAsFirst,
		Tolerance: 1e-6,
		Eval: func(c *Call, in, out []Value) error {
			slope := c.Real("negative_slope")
			apply(in[0], out[0], func(x float64) float64 {
				if x > 0 {
					return x
				}
				return slope * x
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			below := s.scale(s.un("relu", s.un("neg", in[0])), -c.Real("negative_slope"), 0)
			return s.result(s.bin("add", s.un("relu", in[0]), below))
		},
	})

	register(&Op{
		Name: "elu", Summary: "x where x > 0, else alpha * (exp(x) - 1)",
		Source:    "Clevert et al., \"Fast and Accurate Deep Network Learning by Exponential Linear Units\" (2015); torch.nn.functional.elu",
		Inputs:    []Input{{Name: "x"}},
		Attrs:     []Attr{optReal("alpha", 1, "minus the limit at minus infinity")},
		Infer:     sameAsFirst,
		Tolerance: smooth,
		Eval: func(c *Call, in, out []Value) error {
			alpha := c.Real("alpha")
			apply(in[0], out[0], func(x float64) float64 {
				if x > 0 {
					return x
				}
				return alpha * math.Expm1(x)
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			alpha := c.Real("alpha")
			below := s.un("exp", s.un("neg", s.un("relu", s.un("neg", in[0])))) // exp(min(x, 0))
			return s.result(s.bin("add", s.un("relu", in[0]), s.scale(below, alpha, -alpha)))
		},
	})

	register(&Op{
		Name: "clamp", Summary: "x, but at least min and at most max",
		Source: "torch.clamp",
		Inputs: []Input{{Name: "x"}},
		Attrs:  []Attr{needReal("min", "the least value").orInfinite(), needReal("max", "the greatest value, not below min").orInfinite()},
		Infer: func(c *Call) ([]tensor.Type, error) {
			if lo, hi := c.Real("min"), c.Real("max"); lo > hi {
				return nil, invalid("min is %g and max is %g, want min <= max", lo, hi)
			}
			return f32(c.In[0].Shape), nil
		},
		Tolerance: exact,
		Eval: func(c *Call, in, out []Value) error {
			lo, hi := c.Real("min"), c.Real("max")
			apply(in[0], out[0], func(x float64) float64 { return min(max(x, lo), hi) })
			return nil
		},
	})

	register(&Op{
		Name: "scale", Summary: "x * scale + bias",
		Source:    "an affine map; ggml_scale_bias",
		Inputs:    []Input{{Name: "x"}},
		Attrs:     []Attr{optReal("scale", 1, "the factor").ieee(), optReal("bias", 0, "what is added after").ieee()},
		Infer:     sameAsFirst,
		Tolerance: 1e-6,
		Eval: func(c *Call, in, out []Value) error {
			scale, bias := c.Real("scale"), c.Real("bias")
			apply(in[0], out[0], func(x float64) float64 { return x*scale + bias })
			return nil
		},
	})
}

func init() {
	// Where devices choose the larger of two numbers.
	for _, name := range []string{"relu", "leaky_relu", "clamp"} {
		table[name].LosesNaN = true
	}
	for _, name := range []string{"sin", "cos"} {
		table[name].OnDevices = "On devices other than the CPU arguments beyond 10,000 may give any number up to 1"
	}
	table["log"].OnDevices = "On devices other than the CPU denormal numbers may count as the least that is none, or as 0"
}

// Tolerances of operators that only move or compare values, and of those that a
// device approximates by a polynomial or a short series.
const (
	exact  = 1e-7
	smooth = 1e-5
)

func unary(name, summary string, tolerance float64, f func(float64) float64, decompose func(s *chain, x Ref) Ref) {
	op := &Op{
		Name: name, Summary: summary + ", element by element", Source: unarySource(name),
		Inputs: []Input{{Name: "x"}}, Infer: sameAsFirst, Tolerance: tolerance,
		Eval: func(_ *Call, in, out []Value) error {
			apply(in[0], out[0], f)
			return nil
		},
	}
	if decompose != nil {
		op.Decompose = func(b Builder, _ *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			return s.result(decompose(s, in[0]))
		}
	}
	register(op)
}

func unarySource(name string) string {
	switch name {
	case "step":
		return "the Heaviside function with 0 at 0; ggml_step"
	case "relu", "silu", "softplus":
		return "torch.nn.functional." + name
	}
	return "torch." + name
}

func apply(x, y Value, f func(float64) float64) {
	for i, v := range x.F {
		y.F[i] = f(v)
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func silu(x float64) float64 { return x * sigmoid(x) }
