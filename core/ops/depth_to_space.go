package ops

import "qtsaccel/core/tensor"

func init() {
	register(&Op{
		Name: "depth_to_space",
		Summary: "channels rearranged into blocks of an image: with mode \"CRD\" out[n, c, i*block + k, j*block + l] = x[n, (c*block + k)*block + l, i, j], " +
			"with \"DCR\" the channel is (k*block + l)*channels + c",
		Source: "ONNX DepthToSpace; \"CRD\" is torch.nn.functional.pixel_shuffle: Shi et al., \"Real-Time Single Image and Video Super-Resolution\" (2016)",
		Inputs: []Input{{Name: "x", MinRank: 4, MaxRank: 4}},
		Attrs: []Attr{
			needInt("block", "the length of a block's edge").from(1, 1<<16),
			optText("mode", "CRD", "whether the block's place is the inner part of the channel or the outer").oneOf("CRD", "DCR"),
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			x, block := c.In[0].Shape, c.Int("block")
			if x[1]%(block*block) != 0 {
				return nil, mismatch("block is %d, whose square does not divide the %d channels of %s", block, x[1], c.arg(0))
			}
			return f32(tensor.Shape{x[0], x[1] / (block * block), x[2] * block, x[3] * block}), nil
		},
		Eval: func(c *Call, in, out []Value) error {
			block := int(c.Int("block"))
			n, channels := int(c.Out[0].Shape[0]), int(c.Out[0].Shape[1])
			h, w := int(c.In[0].Shape[2]), int(c.In[0].Shape[3])
			at := 0
			for image := range n {
				for channel := range channels {
					for row := range h * block {
						for column := range w * block {
							from := (channel*block+row%block)*block + column%block
							if c.Text("mode") == "DCR" {
								from = (row%block*block+column%block)*channels + channel
							}
							out[0].F[at] = in[0].F[((image*channels*block*block+from)*h+row/block)*w+column/block]
							at++
						}
					}
				}
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			x, y, block := c.In[0].Shape, c.Out[0].Shape, c.Int("block")
			n, channels, h, w := x[0], y[1], x[2], x[3]
			r := in[0]
			if c.Text("mode") == "DCR" {
				r = s.transpose(s.reshape(r, n, block*block, channels, h*w), 0, 2, 1, 3)
			}
			// First the places in a row of a block, then its rows.
			r = s.transpose(s.reshape(r, n*channels*block, block, h, w), 0, 2, 3, 1)
			r = s.transpose(s.reshape(r, n*channels, block, h, w*block), 0, 2, 1, 3)
			return s.result(s.reshape(r, y...))
		},
	})
}
