package ops

import "qtsaccel/core/tensor"

func init() {
	register(&Op{
		Name:    "conv_transpose1d",
		Summary: "each x[n, c, i] adds weight[c, o, k] * x[n, c, i] to out[n, o, i*stride + k*dilation - padding], o within c's group; then the bias",
		Source:  "torch.nn.functional.conv_transpose1d",
		Inputs: []Input{
			{Name: "x", MinRank: 3, MaxRank: 3},
			{Name: "weight", DTypes: Float, MinRank: 3, MaxRank: 3},
			{Name: "bias", Optional: true},
		},
		Attrs: []Attr{
			optInt("stride", 1, "output elements from one input to the next").from(1, maxInt32),
			optInts("padding", "how many outputs are cut off at both ends, or at the left and the right one", 0).from(0, maxInt32),
			optInt("output_padding", 0, "how many outputs more there are at the right end, less than stride or dilation").from(0, maxInt32),
			optInt("dilation", 1, "output elements from one kernel element to the next").from(1, maxInt32),
			optInt("groups", 1, "into how many groups the channels fall").from(1, maxInt32),
		},
		Infer:     inferConvTranspose,
		Products:  1,
		Tolerance: 1e-5,
		Pieces:    convPieces,
		EvalPiece: evalConvTranspose,
		Decompose: decomposeConvTranspose,
	})
}

func inferConvTranspose(c *Call) ([]tensor.Type, error) {
	if err := checkSpans(c); err != nil {
		return nil, err
	}
	x, w, groups := c.In[0].Shape, c.In[1].Shape, c.Int("groups")
	window, extra := Windows(c)[0], c.Int("output_padding")
	switch {
	case x[1]%groups != 0:
		return nil, mismatch("groups is %d, which does not divide the %d channels of %s", groups, x[1], c.arg(0))
	case w[0] != x[1]:
		return nil, mismatch("%s has %d channels, %s takes %d", c.arg(0), x[1], c.arg(1), w[0])
	case extra > 0 && extra >= max(window.Stride, window.Dilation):
		return nil, invalid("output_padding is %d, want 0 or more and less than stride %d or dilation %d", extra, window.Stride, window.Dilation)
	case w[1] > (1<<60)/groups || x[2] > (1<<60)/window.Stride:
		return nil, invalid("the result of %s and %s is too large", c.arg(0), c.arg(1))
	}
	n := (x[2]-1)*window.Stride + window.reach() + extra - window.Before - window.After
	if n < 1 {
		return nil, mismatch("nothing is left: %s with %s gives %d elements, of which %d and %d are cut off",
			c.arg(0), c.arg(1), (x[2]-1)*window.Stride+window.reach()+extra, window.Before, window.After)
	}
	return f32(tensor.Shape{x[0], w[1] * groups, n}), wantShape(c, 2, 1, w[1]*groups)
}

// evalConvTranspose computes one channel of one batch's result.
func evalConvTranspose(c *Call, in, out []Value, piece int) error {
	w, groups := Windows(c)[0], int(c.Int("groups"))
	channels, l := int(c.In[0].Shape[1]), int(c.In[0].Shape[2])
	perGroup, kernel := int(c.In[1].Shape[1]), int(c.In[1].Shape[2])
	n := int(c.Out[0].Shape[2])
	batch, o := piece/(perGroup*groups), piece%(perGroup*groups)
	group := o / perGroup

	y := out[0].F[piece*n : (piece+1)*n]
	if c.Has(2) {
		for i := range y {
			y[i] = in[2].F[o]
		}
	}
	for ch := group * channels / groups; ch < (group+1)*channels/groups; ch++ {
		x := in[0].F[(batch*channels+ch)*l:][:l]
		for k, weight := range in[1].F[(ch*perGroup+o%perGroup)*kernel:][:kernel] {
			at := k*int(w.Dilation) - int(w.Before)
			for _, v := range x {
				if at >= 0 && at < n {
					y[at] += weight * v
				}
				at += int(w.Stride)
			}
		}
	}
	return nil
}

// decomposeConvTranspose puts zeros between the inputs, as many as the stride
// asks for, and runs the mirrored kernel over them.
func decomposeConvTranspose(b Builder, c *Call, in []Ref) ([]Ref, error) {
	s := &chain{b: b}
	w, groups, extra := Windows(c)[0], c.Int("groups"), c.Int("output_padding")
	x, kernel := c.In[0].Shape, c.In[1].Shape

	spread := in[0]
	if w.Stride > 1 {
		apart := s.un("pad", s.reshape(in[0], x[0], x[1], x[2], 1), IntsAttr("pads", 0, 0, 0, 0, 0, 0, 0, w.Stride-1))
		spread = s.slice(s.reshape(apart, x[0], x[1], x[2]*w.Stride), 2, 0, (x[2]-1)*w.Stride+1, 1)
	}
	weight := s.reshape(s.f32(in[1], c.In[1]), groups, x[1]/groups, kernel[1], kernel[2])
	weight = s.reshape(s.transpose(weight, 0, 2, 1, 3), groups*kernel[1], x[1]/groups, kernel[2])
	if kernel[2] > 1 {
		weight = s.slice(weight, 2, -1, -kernel[2]-1, -1)
	}
	inputs := []Ref{spread, weight}
	if c.Has(2) {
		inputs = append(inputs, in[2])
	}
	y := s.op("conv1d", inputs, IntsAttr("padding", w.reach()-1, w.reach()-1+extra), IntAttr("dilation", w.Dilation), IntAttr("groups", groups))
	if w.Before > 0 || w.After > 0 {
		y = s.slice(y, 2, w.Before, w.Before+c.Out[0].Shape[2], 1)
	}
	return s.result(y)
}
