package ops

import "qtsaccel/core/tensor"

func init() {
	register(&Op{
		Name: "upsample", Summary: "an image made larger: out[n, c, i, j] = x[n, c, floor(i / scale_h), floor(j / scale_w)]",
		Source: "torch.nn.functional.interpolate; ONNX Resize with coordinates \"asymmetric\" and nearest \"floor\"",
		Inputs: []Input{{Name: "x", MinRank: 4, MaxRank: 4}},
		Attrs: []Attr{
			optInts("scale", "the factor, 1 or more: one value, or for h and w", 2).from(1, 1<<16),
			optText("mode", "nearest", "which elements are taken").oneOf("nearest"),
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			scale := c.Ints("scale")
			if n := len(scale); n < 1 || n > 2 {
				return nil, invalid("scale has %d values, want 1 or 2", n)
			}
			out := append(tensor.Shape{}, c.In[0].Shape...)
			for i := range 2 {
				f := scale[i%len(scale)]
				if out[2+i] > (1<<60)/f {
					return nil, invalid("scale is %v, too much for %s", tensor.Shape(scale), c.arg(0))
				}
				out[2+i] *= f
			}
			return f32(out), nil
		},
		Tolerance: exact,
		Eval: func(c *Call, in, out []Value) error {
			x, y := c.In[0].Shape, c.Out[0].Shape
			fh, fw := int(y[2]/x[2]), int(y[3]/x[3])
			h, w := int(y[2]), int(y[3])
			for i := range out[0].F {
				image, row, column := i/(h*w), i/w%h, i%w
				out[0].F[i] = in[0].F[(image*(h/fh)+row/fh)*(w/fw)+column/fw]
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			x, y := c.In[0].Shape, c.Out[0].Shape
			images, fh, fw := x[0]*x[1], y[2]/x[2], y[3]/x[3]
			wide := s.un("expand", s.reshape(in[0], images*x[2]*x[3], 1), IntsAttr("shape", images*x[2]*x[3], fw))
			high := s.un("expand", s.reshape(wide, images*x[2], 1, y[3]), IntsAttr("shape", images*x[2], fh, y[3]))
			return s.result(s.reshape(high, y...))
		},
	})
}
