package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

// leastBase is the least normal number of f32: of less, devices may make 0.
const leastBase = 0x1p-126

func init() {
	register(&Op{
		Name: "rope",
		Summary: "rotary position embedding: of each head's first dims elements the pairs (a, b) become (a cos t - b sin t, b cos t + a sin t), " +
			"t = position * scale * base^(-2i/dims) for pair i; mode \"half\" pairs i with i + dims/2, \"interleaved\" 2i with 2i+1",
		Source: "Su et al., \"RoFormer\" (2021), eq. 34; the halves are GPT-NeoX's",
		Inputs: []Input{
			{Name: "x", MinRank: 3, MaxRank: 3},
			{Name: "positions", DTypes: Index, MinRank: 1, MaxRank: 1},
		},
		Attrs: []Attr{
			optReal("base", 10000, "the base of the frequencies").from(leastBase, math.MaxFloat32),
			optText("mode", "half", "which elements pair up").oneOf("half", "interleaved"),
			optInt("dims", 0, "how many elements of each head turn, even; 0: all").from(0, maxInt32),
			optReal("scale", 1, "what positions are multiplied by"),
		},
		Infer:     inferRope,
		Tolerance: 1e-4,
		OnDevices: "On the CPU the error is up to 1e-5 at every position up to 2^31. Elsewhere angles are in f32: the error grows with the position, on Vulkan by 4e-8 of it (1e-4 at 2,500, 5e-3 at 131,071), and positions must fit i32",
		Eval: func(c *Call, in, out []Value) error {
			heads, d, dims := int(c.In[0].Shape[1]), int(c.In[0].Shape[2]), RopeDims(c)
			copy(out[0].F, in[0].F)
			for row := range len(in[0].F) / d {
				position := float64(in[1].I[row/heads]) * c.Real("scale")
				y := out[0].F[row*d : (row+1)*d]
				for i := range dims / 2 {
					first, second := i, i+dims/2
					if c.Text("mode") == "interleaved" {
						first, second = 2*i, 2*i+1
					}
					sin, cos := math.Sincos(position * math.Pow(c.Real("base"), -2*float64(i)/float64(dims)))
					a, b := y[first], y[second]
					y[first], y[second] = a*cos-b*sin, b*cos+a*sin
				}
			}
			return nil
		},
		Decompose: decomposeRope,
	})
}

// RopeDims is how many elements of each head a call of rope turns.
func RopeDims(c *Call) int {
	if dims := c.Int("dims"); dims != 0 {
		return int(dims)
	}
	return int(c.In[0].Shape[2])
}

func inferRope(c *Call) ([]tensor.Type, error) {
	x := c.In[0].Shape
	if dims := c.Int("dims"); dims > x[2] || RopeDims(c)%2 != 0 {
		return nil, invalid("dims is %d, want an even number up to the %d elements of a head of %s", RopeDims(c), x[2], c.arg(0))
	}
	return f32(x), wantShape(c, 1, 0, x[0])
}

func decomposeRope(b Builder, c *Call, in []Ref) ([]Ref, error) {
	s := &chain{b: b}
	t, heads, d := c.In[0].Shape[0], c.In[0].Shape[1], c.In[0].Shape[2]
	dims := int64(RopeDims(c))
	half := dims / 2

	position := s.reshape(s.scale(s.un("cast", in[1], TextAttr("dtype", "f32")), c.Real("scale"), 0), t, 1, 1)
	frequency := s.un("exp", s.scale(s.op("arange", nil, IntAttr("count", half)), -2/float64(dims)*math.Log(c.Real("base")), 0))
	angle := s.bin("mul", position, frequency) // [t, 1, half]
	sin, cos := s.un("sin", angle), s.un("cos", angle)

	// Both modes put the pairs' members into two tensors of [t, heads, half].
	turning := in[0]
	if dims != d {
		turning = s.slice(in[0], 2, 0, dims, 1)
	}
	pairs, axis := s.reshape(turning, t*heads, 2, half), 1
	if c.Text("mode") == "interleaved" {
		pairs, axis = s.reshape(turning, t*heads, half, 2), 2
	}
	first := s.reshape(s.slice(pairs, axis, 0, 1, 1), t, heads, half)
	second := s.reshape(s.slice(pairs, axis, 1, 2, 1), t, heads, half)

	a := s.bin("sub", s.bin("mul", first, cos), s.bin("mul", second, sin))
	z := s.bin("add", s.bin("mul", second, cos), s.bin("mul", first, sin))
	var y Ref
	if axis == 1 {
		y = s.concat(2, a, z)
	} else {
		y = s.concat(3, s.reshape(a, t, heads, half, 1), s.reshape(z, t, heads, half, 1))
		y = s.reshape(y, t, heads, dims)
	}
	if dims != d {
		y = s.concat(2, y, s.slice(in[0], 2, dims, d, 1))
	}
	return s.result(y)
}
