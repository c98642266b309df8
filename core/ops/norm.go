package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "rms_norm", Summary: "x / sqrt(mean(x^2) + eps) * weight over the last axis",
		Source:    "Zhang and Sennrich, \"Root Mean Square Layer Normalization\" (2019); torch.nn.functional.rms_norm",
		Inputs:    []Input{{Name: "x", MinRank: 1}, {Name: "weight", Optional: true}},
		Attrs:     []Attr{epsAttr("added to the mean square")},
		Infer:     inferRowNorm,
		Tolerance: 1e-5,
		OnDevices: "On devices other than the CPU squares beyond f32, of numbers above 1e19, are infinite",
		Eval: func(c *Call, in, out []Value) error {
			n, eps := int(c.In[0].Shape.Dim(-1)), c.Real("eps")
			for at := 0; at < len(in[0].F); at += n {
				x, y := in[0].F[at:at+n], out[0].F[at:at+n]
				r := 1 / math.Sqrt(dot(x, x)/float64(n)+eps)
				for i, v := range x {
					y[i] = v * r
				}
				affine(c, in, y)
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			eps := RealAttr("eps", c.Real("eps"))
			if c.Has(1) {
				return s.result(s.bin("mul", s.un("rms_norm", in[0], eps), in[1]))
			}
			return s.result(divideByRMS(s, in[0], c.Real("eps")))
		},
	})

	register(&Op{
		Name: "layer_norm", Summary: "(x - mean) / sqrt(var + eps) * weight + bias over the last axis; var is the mean squared distance from the mean",
		Source:    "Ba et al., \"Layer Normalization\" (2016); torch.nn.functional.layer_norm",
		Inputs:    []Input{{Name: "x", MinRank: 1}, {Name: "weight", Optional: true}, {Name: "bias", Optional: true}},
		Attrs:     []Attr{epsAttr("added to the variance")},
		Infer:     inferRowNorm,
		Tolerance: 1e-5,
		Eval: func(c *Call, in, out []Value) error {
			n := int(c.In[0].Shape.Dim(-1))
			for at := 0; at < len(in[0].F); at += n {
				y := out[0].F[at : at+n]
				copy(y, in[0].F[at:at+n])
				normalise(y, c.Real("eps"))
				affine(c, in, y)
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			if c.Has(1) || c.Has(2) {
				y := s.un("layer_norm", in[0], RealAttr("eps", c.Real("eps")))
				if c.Has(1) {
					y = s.bin("mul", y, in[1])
				}
				if c.Has(2) {
					y = s.bin("add", y, in[2])
				}
				return s.result(y)
			}
			centred := s.bin("sub", in[0], s.un("reduce_mean", in[0]))
			return s.result(divideByRMS(s, centred, c.Real("eps")))
		},
	})

	register(&Op{
		Name: "group_norm", Summary: "layer_norm over groups of channels and all positions, then * weight + bias per channel",
		Source:    "Wu and He, \"Group Normalization\" (2018); torch.nn.functional.group_norm",
		Inputs:    []Input{{Name: "x", MinRank: 2}, {Name: "weight", Optional: true}, {Name: "bias", Optional: true}},
		Attrs:     []Attr{needInt("groups", "how many groups the channels (axis 1) form, in order").from(1, maxInt32), epsAttr("added to the variance")},
		Infer:     inferGroupNorm,
		Tolerance: 1e-5,
		Eval: func(c *Call, in, out []Value) error {
			channels, groups := int(c.In[0].Shape[1]), int(c.Int("groups"))
			copy(out[0].F, in[0].F)
			size := len(in[0].F) / (int(c.In[0].Shape[0]) * groups)
			for at := 0; at < len(in[0].F); at += size {
				normalise(out[0].F[at:at+size], c.Real("eps"))
			}
			positions := len(in[0].F) / (int(c.In[0].Shape[0]) * channels)
			for i := range out[0].F {
				channel := i / positions % channels
				if c.Has(1) {
					out[0].F[i] *= in[1].F[channel]
				}
				if c.Has(2) {
					out[0].F[i] += in[2].F[channel]
				}
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			shape, eps := c.In[0].Shape, RealAttr("eps", c.Real("eps"))
			perChannel := replaced(make(tensor.Shape, len(shape)-1), 0, shape[1])
			for i := 1; i < len(perChannel); i++ {
				perChannel[i] = 1
			}
			if c.Has(1) || c.Has(2) {
				y := s.un("group_norm", in[0], IntAttr("groups", c.Int("groups")), eps)
				if c.Has(1) {
					y = s.bin("mul", y, s.reshape(in[1], perChannel...))
				}
				if c.Has(2) {
					y = s.bin("add", y, s.reshape(in[2], perChannel...))
				}
				return s.result(y)
			}
			rows := s.reshape(in[0], shape[0]*c.Int("groups"), -1)
			return s.result(s.reshape(s.un("layer_norm", rows, eps), shape...))
		},
	})
}

// inferRowNorm is the shape rule of norms over the last axis, whose weight and
// bias are as long as it is.
func inferRowNorm(c *Call) ([]tensor.Type, error) {
	n := c.In[0].Shape.Dim(-1)
	for i := 1; i < len(c.In); i++ {
		if err := wantShape(c, i, 0, n); err != nil {
			return nil, err
		}
	}
	return f32(c.In[0].Shape), nil
}

func inferGroupNorm(c *Call) ([]tensor.Type, error) {
	channels, groups := c.In[0].Shape[1], c.Int("groups")
	if channels%groups != 0 {
		return nil, mismatch("groups is %d, which does not divide the %d channels of %s", groups, channels, c.arg(0))
	}
	for i := 1; i < len(c.In); i++ {
		if err := wantShape(c, i, 0, channels); err != nil {
			return nil, err
		}
	}
	return f32(c.In[0].Shape), nil
}

// normalise brings values to mean 0 and variance 1.
func normalise(y []float64, eps float64) {
	mean := 0.0
	for _, v := range y {
		mean += v
	}
	mean /= float64(len(y))
	variance := 0.0
	for i := range y {
		y[i] -= mean
		variance += y[i] * y[i]
	}
	r := 1 / math.Sqrt(variance/float64(len(y))+eps)
	for i := range y {
		y[i] *= r
	}
}

// affine multiplies a row by the weight, input 1, and adds the bias, input 2.
func affine(c *Call, in []Value, y []float64) {
	for i := range y {
		if c.Has(1) {
			y[i] *= in[1].F[i]
		}
		if c.Has(2) {
			y[i] += in[2].F[i]
		}
	}
}

// divideByRMS is x / sqrt(mean(x^2) + eps) over the last axis.
func divideByRMS(s *chain, x Ref, eps float64) Ref {
	mean := s.un("reduce_mean", s.un("square", x))
	return s.bin("div", x, s.un("sqrt", s.scale(mean, 1, eps)))
}
