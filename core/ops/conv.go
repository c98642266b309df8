package ops

import "qtsaccel/core/tensor"

func init() {
	register(&Op{
		Name:    "conv1d",
		Summary: "out[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] * x[n, c, i*stride + k*dilation - padding], c within o's group, x zero beyond its ends",
		Source:  "torch.nn.functional.conv1d",
		Inputs: []Input{
			{Name: "x", MinRank: 3, MaxRank: 3},
			{Name: "weight", DTypes: Float, MinRank: 3, MaxRank: 3},
			{Name: "bias", Optional: true},
		},
		Attrs: []Attr{
			optInt("stride", 1, "input elements from one output to the next").from(1, maxInt32),
			optInts("padding", "zeros put at both ends, or at the left and the right one", 0).from(0, maxInt32),
			optInt("dilation", 1, "input elements from one kernel element to the next").from(1, maxInt32),
			optInt("groups", 1, "into how many groups the channels fall; each output channel reads one").from(1, maxInt32),
		},
		Infer:     inferConv,
		Products:  1,
		Cost:      ConvCost,
		flops:     flopsOfConv,
		Tolerance: 1e-5,
		Pieces:    convPieces,
		EvalPiece: func(c *Call, in, out []Value, piece int) error {
			line := Window{Kernel: 1, Stride: 1, Dilation: 1}
			convPlane(c, in, out, piece, line, Windows(c)[0], 1, int(c.In[0].Shape[2]))
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			x, weight, w := c.In[0].Shape, c.In[1].Shape, Windows(c)[0]
			inputs := append([]Ref{}, in...)
			inputs[0] = s.reshape(in[0], x[0], x[1], 1, x[2])
			inputs[1] = s.reshape(in[1], weight[0], weight[1], 1, weight[2])
			y := s.op("conv2d", inputs, IntsAttr("stride", 1, w.Stride), IntsAttr("padding", 0, w.Before, 0, w.After),
				IntsAttr("dilation", 1, w.Dilation), IntAttr("groups", c.Int("groups")))
			return s.result(s.reshape(y, c.Out[0].Shape...))
		},
	})

	register(&Op{
		Name:    "conv2d",
		Summary: "out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[n, c, i*stride + k*dilation - padding, j*stride + l*dilation - padding], c within o's group, x zero beyond its edges",
		Source:  "torch.nn.functional.conv2d",
		Inputs: []Input{
			{Name: "x", MinRank: 4, MaxRank: 4},
			{Name: "weight", DTypes: Float, MinRank: 4, MaxRank: 4},
			{Name: "bias", Optional: true},
		},
		Attrs: []Attr{
			optInts("stride", "input elements from one output to the next: one value, or for h and w", 1).from(1, maxInt32),
			optInts("padding", "zeros put on all sides; above and below, left and right; or top, left, bottom, right", 0).from(0, maxInt32),
			optInts("dilation", "input elements from one kernel element to the next: one value, or for h and w", 1).from(1, maxInt32),
			optInt("groups", 1, "into how many groups the channels fall; each output channel reads one").from(1, maxInt32),
		},
		Infer:     inferConv,
		Products:  1,
		Cost:      ConvCost,
		flops:     flopsOfConv,
		Tolerance: 1e-5,
		Pieces:    convPieces,
		EvalPiece: func(c *Call, in, out []Value, piece int) error {
			w := Windows(c)
			convPlane(c, in, out, piece, w[0], w[1], int(c.In[0].Shape[2]), int(c.In[0].Shape[3]))
			return nil
		},
		Decompose: decomposeConv2d,
	})
}

// Window is how a convolution's kernel moves along one spatial axis.
type Window struct {
	Kernel, Stride, Dilation int64
	Before, After            int64 // zeros put before and after the axis
}

// Windows gives the window of each spatial axis of a conv1d, conv2d or
// conv_transpose1d. It is right once Infer has run.
func Windows(c *Call) []Window {
	if len(c.In[0].Shape) == 3 {
		padding := c.Ints("padding")
		return []Window{{
			Kernel: c.In[1].Shape[2], Stride: c.Int("stride"), Dilation: c.Int("dilation"),
			Before: padding[0], After: padding[len(padding)-1],
		}}
	}
	stride, dilation, padding := c.Ints("stride"), c.Ints("dilation"), c.Ints("padding")
	w := make([]Window, 2)
	for i := range w {
		w[i] = Window{
			Kernel: c.In[1].Shape[2+i], Stride: stride[i%len(stride)], Dilation: dilation[i%len(dilation)],
			Before: padding[i%len(padding)], After: padding[i%len(padding)],
		}
		if len(padding) == 4 {
			w[i].After = padding[2+i]
		}
	}
	return w
}

// reach is how many input elements the kernel spans.
func (w Window) reach() int64 { return (w.Kernel-1)*w.Dilation + 1 }

// outputs is how many outputs an axis of n elements gives, below 1 for none.
func (w Window) outputs(n int64) int64 {
	room := w.Before + n + w.After - w.reach()
	if room < 0 {
		return 0
	}
	return room/w.Stride + 1
}

// inside is the range of outputs whose element of the kernel meets one of the n
// elements of the axis, not padding.
func (w Window) inside(element, n, outputs int) (first, end int) {
	offset := int(w.Before) - element*int(w.Dilation) // output i meets element i*stride - offset
	stride := int(w.Stride)
	first = max(0, (offset+stride-1)/stride)
	if offset+n > 0 {
		end = min(outputs, (offset+n-1)/stride+1)
	}
	return first, end
}

// checkSpans finds out whether the attributes of a convolution have as many
// values as they may have, and the kernel is no larger than sums can hold.
func checkSpans(c *Call) error {
	spatial := len(c.In[0].Shape) - 2
	for _, a := range []struct {
		name string
		most int
	}{{"stride", spatial}, {"dilation", spatial}, {"padding", 2 * spatial}} {
		if c.Op.Attrs[c.Op.attrIndex(a.name)].Type == Int {
			continue
		}
		if n := len(c.Ints(a.name)); n < 1 || n > a.most || n == 3 {
			return invalid("%s has %d values, want 1 to %d (not 3)", a.name, n, a.most)
		}
	}
	for _, d := range c.In[1].Shape[2:] {
		if d > maxInt32 {
			return invalid("the kernel of %s is larger than 2^31 - 1", c.arg(1))
		}
	}
	return nil
}

// flopsOfConv counts a product with a kernel for each element of the result.
func flopsOfConv(in, out []tensor.Shape) float64 {
	return 2 * elements(out[0]) * elements(in[1][1:])
}

func inferConv(c *Call) ([]tensor.Type, error) {
	if err := checkSpans(c); err != nil {
		return nil, err
	}
	x, w, groups := c.In[0].Shape, c.In[1].Shape, c.Int("groups")
	switch {
	case x[1]%groups != 0 || x[1]/groups != w[1]:
		return nil, mismatch("%s has %d channels in %d groups, %s reads %d of a group", c.arg(0), x[1], groups, c.arg(1), w[1])
	case w[0]%groups != 0:
		return nil, mismatch("the %d output channels of %s do not fall into %d groups", w[0], c.arg(1), groups)
	}
	out := tensor.Shape{x[0], w[0]}
	for i, window := range Windows(c) {
		n := window.outputs(x[2+i])
		if n < 1 {
			return nil, mismatch("the kernel of %s spans %d elements of axis %d, %s with its padding has %d",
				c.arg(1), window.reach(), 2+i, c.arg(0), window.Before+x[2+i]+window.After)
		}
		out = append(out, n)
	}
	return f32(out), wantShape(c, 2, 1, w[0])
}

func convPieces(c *Call) int { return int(c.Out[0].Shape[0] * c.Out[0].Shape[1]) }

// convPlane computes one channel of one image of a convolution's result. Rows are
// in the innermost loop: each is an input's row times one number of the kernel,
// added up.
func convPlane(c *Call, in, out []Value, piece int, down, across Window, height, width int) {
	oc, perGroup := int(c.In[1].Shape[0]), int(c.In[1].Shape[1])
	outW := int(c.Out[0].Shape.Dim(-1))
	size := int(c.Out[0].Shape[2:].Elements())
	outH := size / outW
	kh, kw := int(down.Kernel), int(across.Kernel)

	image, o := piece/oc, piece%oc
	y := out[0].F[piece*size : (piece+1)*size]
	if c.Has(2) {
		for i := range y {
			y[i] = in[2].F[o]
		}
	}
	channel := image*int(c.In[0].Shape[1]) + o/(oc/int(c.Int("groups")))*perGroup
	for ci := range perGroup {
		x := in[0].F[(channel+ci)*height*width:][:height*width]
		kernel := in[1].F[(o*perGroup+ci)*kh*kw:][:kh*kw]
		for k := range kh {
			top, bottom := down.inside(k, height, outH)
			for i := top; i < bottom; i++ {
				row := (i*int(down.Stride) + k*int(down.Dilation) - int(down.Before)) * width
				for l := range kw {
					left, right := across.inside(l, width, outW)
					if left >= right {
						continue
					}
					from := row + left*int(across.Stride) + l*int(across.Dilation) - int(across.Before)
					strided(kernel[k*kw+l], x[from:], int(across.Stride), y[i*outW+left:i*outW+right])
				}
			}
		}
	}
}

// strided adds a times every step-th element of x to y.
func strided(a float64, x []float64, step int, y []float64) {
	if step == 1 {
		axpy(a, x[:len(y)], y)
		return
	}
	for i := range y {
		y[i] += a * x[i*step]
	}
}

// decomposeConv2d takes one thing off a call: padding that differs between sides,
// then the bias, then the groups; what is left becomes a sum of products.
func decomposeConv2d(b Builder, c *Call, in []Ref) ([]Ref, error) {
	s := &chain{b: b}
	w := Windows(c)
	rest := []AttrArg{
		IntsAttr("stride", w[0].Stride, w[1].Stride), IntsAttr("padding", w[0].Before, w[1].Before, w[0].After, w[1].After),
		IntsAttr("dilation", w[0].Dilation, w[1].Dilation),
	}
	groups := IntAttr("groups", c.Int("groups"))
	if c.Int("groups") > maxParts && c.In[1].Shape[1] > 1 || w[0].Kernel*w[1].Kernel > maxParts {
		return nil, ErrNoDecomposition
	}
	switch {
	case w[0].Before != w[0].After || w[1].Before != w[1].After:
		padded := s.un("pad", in[0], IntsAttr("pads", 0, 0, w[0].Before, w[1].Before, 0, 0, w[0].After, w[1].After))
		inputs := append([]Ref{padded}, in[1:]...)
		return s.result(s.op("conv2d", inputs, rest[0], rest[2], groups))
	case c.Has(2):
		bias := s.reshape(in[2], c.In[2].Shape[0], 1, 1)
		return s.result(s.bin("add", s.bin("conv2d", in[0], in[1], append(rest, groups)...), bias))
	case c.Int("groups") > 1 && c.In[1].Shape[1] == 1 && w[0].Kernel*w[1].Kernel < c.Int("groups"):
		return s.result(depthwiseByTaps(s, c, in))
	case c.Int("groups") > 1:
		n := c.Int("groups")
		perIn, perOut := c.In[1].Shape[1], c.In[1].Shape[0]/n
		parts := make([]Ref, n)
		for g := range n {
			x := s.slice(in[0], 1, g*perIn, (g+1)*perIn, 1)
			parts[g] = s.bin("conv2d", x, s.slice(in[1], 0, g*perOut, (g+1)*perOut, 1), rest...)
		}
		return s.result(s.concat(1, parts...))
	}
	return s.result(convByTaps(s, c, in))
}

// eachTap gives for every element of a conv2d's kernel the part of x that it
// meets [n, c, h, w] and its own weights [oc, c], as f32.
func eachTap(s *chain, c *Call, in []Ref, f func(x, weight Ref)) {
	w, out, kernel := Windows(c), c.Out[0].Shape, c.In[1].Shape
	x := in[0]
	if w[0].Before > 0 || w[1].Before > 0 {
		x = s.un("pad", x, IntsAttr("pads", 0, 0, w[0].Before, w[1].Before, 0, 0, w[0].After, w[1].After))
	}
	weight := s.f32(in[1], c.In[1])
	for k := range w[0].Kernel {
		rows := s.slice(x, 2, k*w[0].Dilation, k*w[0].Dilation+(out[2]-1)*w[0].Stride+1, w[0].Stride)
		for l := range w[1].Kernel {
			met := s.slice(rows, 3, l*w[1].Dilation, l*w[1].Dilation+(out[3]-1)*w[1].Stride+1, w[1].Stride)
			f(met, s.reshape(s.slice(s.slice(weight, 2, k, k+1, 1), 3, l, l+1, 1), kernel[0], kernel[1]))
		}
	}
}

func convByTaps(s *chain, c *Call, in []Ref) Ref {
	sum, x, out := None, c.In[0].Shape, c.Out[0].Shape
	eachTap(s, c, in, func(met, weight Ref) {
		y := s.bin("matmul", weight, s.reshape(met, x[0], x[1], out[2]*out[3]))
		if sum == None {
			sum = y
		} else {
			sum = s.bin("add", sum, y)
		}
	})
	return s.reshape(sum, out...)
}

// depthwiseByTaps serves many groups of one channel each: a sum of products by
// channel.
func depthwiseByTaps(s *chain, c *Call, in []Ref) Ref {
	sum, x, out := None, c.In[0].Shape, c.Out[0].Shape
	multiplier := out[1] / x[1]
	eachTap(s, c, in, func(met, weight Ref) {
		// Each input channel meets multiplier output channels, which follow each other.
		y := s.bin("mul", s.reshape(met, x[0]*x[1], 1, out[2], out[3]), s.reshape(tiled(s, weight, x[0], out[1]), x[0]*x[1], multiplier, 1, 1))
		if sum == None {
			sum = y
		} else {
			sum = s.bin("add", sum, y)
		}
	})
	return s.reshape(sum, out...)
}

// tiled repeats a vector n times.
func tiled(s *chain, x Ref, n, length int64) Ref {
	if n == 1 {
		return x
	}
	return s.un("expand", s.reshape(x, 1, length), IntsAttr("shape", n, length))
}
