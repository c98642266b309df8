package ops

import (
	"slices"

	"qtsaccel/core/tensor"
)

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
		Infer:    inferConvTranspose,
		Products: 1,
		Cost:     ConvCost,
		// Each element of x is multiplied with a kernel.
		flops:     func(in, _ []tensor.Shape) float64 { return 2 * elements(in[0]) * elements(in[1][1:]) },
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

// decomposeConvTranspose multiplies x with all elements of the kernel at once, and adds
// up what these give, each moved to where it belongs. Outputs that lie stride apart have
// the same phase; along one phase an element of the kernel moves by whole steps:
// i*stride + k*dilation = (i + by)*stride + phase. So results are kept as [.., steps,
// channels, phases], and nothing is multiplied that is not part of the sum.
func decomposeConvTranspose(b Builder, c *Call, in []Ref) ([]Ref, error) {
	s := &chain{b: b}
	w := Windows(c)[0]
	if w.Stride == 1 || w.parts() > mostParts {
		return mirroredConv(s, c, in)
	}
	t := newTransposed(s, c, in)
	var y Ref
	if w.Dilation == 1 {
		y = t.byRuns()
	} else {
		y = t.byPhases()
	}
	y = s.slice(t.inOrder(y), 2, w.Before, w.Before+c.Out[0].Shape[2], 1)
	if c.Has(2) {
		y = s.bin("add", y, s.reshape(in[2], c.Out[0].Shape[1], 1))
	}
	return s.result(y)
}

// mostParts bounds the operators of a decomposition. Kernels of more parts than that are
// thousands of elements long.
const mostParts = 1024

// parts is how many parts of a transposed convolution's kernel move by themselves.
func (w Window) parts() int64 {
	if w.Dilation == 1 {
		return (w.Kernel + w.Stride - 1) / w.Stride
	}
	return w.Kernel
}

// mirroredConv is a convolution with the kernel's elements in the opposite order, over x
// with as many zeros between its elements as the stride asks for.
func mirroredConv(s *chain, c *Call, in []Ref) ([]Ref, error) {
	w, groups, extra := Windows(c)[0], c.Int("groups"), c.Int("output_padding")
	x, kernel := c.In[0].Shape, c.In[1].Shape

	weight := s.reshape(s.f32(in[1], c.In[1]), groups, x[1]/groups, kernel[1], kernel[2])
	weight = s.reshape(s.transpose(weight, 0, 2, 1, 3), groups*kernel[1], x[1]/groups, kernel[2])
	if kernel[2] > 1 {
		weight = s.slice(weight, 2, -1, -kernel[2]-1, -1)
	}
	spread := in[0]
	if w.Stride > 1 {
		apart := s.un("pad", s.reshape(spread, x[0], x[1], x[2], 1), IntsAttr("pads", 0, 0, 0, 0, 0, 0, 0, w.Stride-1))
		spread = s.slice(s.reshape(apart, x[0], x[1], x[2]*w.Stride), 2, 0, (x[2]-1)*w.Stride+1, 1)
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

// transposed writes the parts of a conv_transpose1d.
type transposed struct {
	*chain
	window                    Window
	x, weight                 Ref // x as factor expects it; weight [channels, out of a group, kernel], f32
	n, groups, channels, outs int64
	length, steps             int64 // of x, and of each phase
}

func newTransposed(s *chain, c *Call, in []Ref) *transposed {
	x, w := c.In[0].Shape, Windows(c)[0]
	t := &transposed{
		chain: s, window: w, weight: s.f32(in[1], c.In[1]), n: x[0], groups: c.Int("groups"), channels: x[1],
		outs: c.In[1].Shape[1], length: x[2],
	}
	furthest := (w.Kernel - 1) * w.Dilation / w.Stride
	t.steps = max(t.length+furthest, (w.Before+c.Out[0].Shape[2]+w.Stride-1)/w.Stride)
	switch perGroup := t.channels / t.groups; {
	case t.groups == 1:
		t.x = s.transpose(in[0], 0, 2, 1)
	case perGroup == 1:
		t.x = s.reshape(in[0], t.n, t.groups, t.length, 1)
	default:
		t.x = s.transpose(s.reshape(in[0], t.n, t.groups, perGroup, t.length), 0, 1, 3, 2)
	}
	return t
}

// taps are elements of the kernel: count runs of so many, every step-th from first on.
// Those of run i move by from + i*every steps.
type taps struct {
	first, step, count, run int64
	from, every             int64
}

// sum gives [n*groups, steps, outs*run] of taps.
func (t *transposed) sum(p taps) Ref {
	columns := t.outs * p.run
	y := t.reshape(t.products(p), t.n*t.groups, t.length, p.count*columns)
	sum := None
	for i := range p.count {
		part, by := y, p.from+i*p.every
		if p.count > 1 {
			part = t.slice(y, 2, i*columns, (i+1)*columns, 1)
		}
		if t.steps > t.length {
			part = t.un("pad", part, IntsAttr("pads", 0, by, 0, 0, t.steps-t.length-by, 0))
		}
		if sum == None {
			sum = part
		} else {
			sum = t.bin("add", sum, part)
		}
	}
	return sum
}

// products gives x times the weight of taps, for each group and element of x: runs, of
// each the outs, of each the elements.
func (t *transposed) products(p taps) Ref {
	of := p.count * p.run
	weight := t.weight
	if of < t.window.Kernel {
		weight = t.slice(weight, 2, p.first, p.first+(of-1)*p.step+1, p.step)
	}
	columns := of * t.outs
	apart := p.count > 1 && t.outs > 1 // where the runs of an output lie side by side
	if t.groups == 1 {
		if apart {
			weight = t.transpose(t.reshape(weight, t.channels, t.outs, p.count, p.run), 2, 1, 3, 0)
		} else {
			weight = t.transpose(t.reshape(weight, t.channels, columns), 1, 0)
		}
		return t.bin("linear", t.x, t.reshape(weight, columns, t.channels))
	}
	if apart {
		weight = t.transpose(t.reshape(weight, t.channels, t.outs, p.count, p.run), 0, 2, 1, 3)
	}
	perGroup := t.channels / t.groups
	weight = t.reshape(weight, t.groups, perGroup, columns)
	if perGroup == 1 {
		return t.bin("mul", t.x, weight)
	}
	return t.bin("matmul", t.x, weight)
}

// byRuns takes the kernel's elements stride at a time: these have all the phases, in
// order, and move together. What is left over has the first phases.
func (t *transposed) byRuns() Ref {
	stride := t.window.Stride
	whole, left := t.window.Kernel/stride, t.window.Kernel%stride
	y := None
	if whole > 0 {
		y = t.sum(taps{first: 0, step: 1, count: whole, run: stride, from: 0, every: 1})
	}
	if left == 0 {
		return y
	}
	rest := t.inPhases(t.sum(taps{first: whole * stride, step: 1, count: 1, run: left, from: whole}), left, 0, stride-left)
	if y == None {
		return rest
	}
	return t.bin("add", y, t.reshape(rest, t.n*t.groups, t.steps, t.outs*stride))
}

// byPhases takes the kernel's elements of one phase at a time.
func (t *transposed) byPhases() Ref {
	w := t.window
	step := w.Stride / gcd(w.Stride, w.Dilation) // from one to the next of the same phase
	first := map[int64]int64{}                   // by phase
	var phases []int64
	for k := range min(step, w.Kernel) {
		phase := k * w.Dilation % w.Stride
		phases = append(phases, phase)
		first[phase] = k
	}
	slices.Sort(phases)
	parts, before := make([]Ref, len(phases)), phases[0]
	for i, phase := range phases {
		after := w.Stride - phase - 1
		if i+1 < len(phases) {
			after = phases[i+1] - phase - 1
		}
		k := first[phase]
		sum := t.sum(taps{
			first: k, step: step, count: (w.Kernel-k-1)/step + 1, run: 1,
			from: k * w.Dilation / w.Stride, every: step * w.Dilation / w.Stride,
		})
		parts[i] = t.inPhases(sum, 1, before, after)
		before = 0
	}
	return t.concat(3, parts...)
}

// inPhases gives [n*groups, steps, outs*phases] as [n*groups, steps, outs, phases] with
// zeros before and after the phases.
func (t *transposed) inPhases(y Ref, phases, before, after int64) Ref {
	y = t.reshape(y, t.n*t.groups, t.steps, t.outs, phases)
	if before == 0 && after == 0 {
		return y
	}
	return t.un("pad", y, IntsAttr("pads", 0, 0, 0, before, 0, 0, 0, after))
}

// inOrder gives what is summed up as [n, channels, outputs].
func (t *transposed) inOrder(y Ref) Ref {
	if t.outs > 1 {
		y = t.transpose(t.reshape(y, t.n*t.groups, t.steps, t.outs, t.window.Stride), 0, 2, 1, 3)
	}
	return t.reshape(y, t.n, t.groups*t.outs, t.steps*t.window.Stride)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
