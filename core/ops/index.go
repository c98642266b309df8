package ops

import (
	"math"
	"sort"

	"qtsaccel/core/tensor"
)

// Operators that take or make indices.

// before is the order of argmax and top_k: NaN first, then the largest.
func before(a, b float64) bool { return a > b || math.IsNaN(a) && !math.IsNaN(b) }

func init() {
	register(&Op{
		Name: "embedding", Summary: "the rows of weight that ids name",
		Source: "torch.nn.functional.embedding; ONNX Gather with axis 0",
		Inputs: []Input{
			{Name: "weight", DTypes: Weight, MinRank: 2, MaxRank: 2},
			{
				Name: "ids", DTypes: Index, MaxRank: tensor.MaxRank - 1,
				Below: func(c *Call) int64 { return c.In[0].Shape[0] },
			},
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			return f32(append(append(tensor.Shape{}, c.In[1].Shape...), c.In[0].Shape[1])), nil
		},
		Eval: func(c *Call, in, out []Value) error {
			d := int(c.In[0].Shape[1])
			for i, id := range in[1].I {
				copy(out[0].F[i*d:(i+1)*d], in[0].F[int(id)*d:])
			}
			return nil
		},
		// Of the table only the rows that are asked for are read.
		flops: func(_, out []tensor.Shape) float64 { return elements(out[0]) },
		bytes: func(c *Call) int64 { return c.In[1].Bytes() + 2*c.Out[0].Bytes() },
	})

	register(&Op{
		Name: "argmax", Summary: "where the first NaN along an axis is, else the largest element, the first of equals; the result lacks the axis",
		Source: "numpy.argmax",
		Inputs: []Input{{Name: "x", MinRank: 1}},
		Attrs:  []Attr{axisAttr(-1, "the axis; negative counts from the end")},
		Infer: func(c *Call) ([]tensor.Type, error) {
			axis, err := checkAxis(c)
			if err != nil {
				return nil, err
			}
			return []tensor.Type{{DType: tensor.I32, Shape: without(c.In[0].Shape, axis)}}, nil
		},
		Eval: func(c *Call, in, out []Value) error {
			eachLane(c.In[0].Shape, c.Axis(), func(at laneAt) {
				best := 0
				for i := range at.n {
					if before(in[0].F[at.of(i)], in[0].F[at.of(best)]) {
						best = i
					}
				}
				out[0].I[at.number] = int64(best)
			})
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			if c.Axis() == len(c.In[0].Shape)-1 {
				return nil, ErrNoDecomposition
			}
			s := &chain{b: b}
			return s.result(s.un("argmax", moveToLast(s, c, in[0])))
		},
		OutputBelow: func(c *Call, _ []int64) int64 { return c.In[0].Shape[c.Axis()] },
	})

	register(&Op{
		Name: "top_k", Summary: "the k largest elements of each row, NaN before all, then the largest first, and where they are; the first of equals comes first",
		Source:  "torch.topk; ONNX TopK",
		Inputs:  []Input{{Name: "x", MinRank: 1}},
		Attrs:   []Attr{needInt("k", "how many, at most the row's length").atLeast(1)},
		Outputs: []string{"values", "indices"},
		Infer: func(c *Call) ([]tensor.Type, error) {
			x, k := c.In[0].Shape, c.Int("k")
			if k > x.Dim(-1) {
				return nil, invalid("k is %d, want 1 to the %d elements of a row of %s", k, x.Dim(-1), c.arg(0))
			}
			shape := replaced(x, len(x)-1, k)
			return []tensor.Type{{DType: tensor.F32, Shape: shape}, {DType: tensor.I32, Shape: shape}}, nil
		},
		Eval: func(c *Call, in, out []Value) error {
			n, k := int(c.In[0].Shape.Dim(-1)), int(c.Int("k"))
			order := make([]int, n)
			for row := range len(in[0].F) / n {
				x := in[0].F[row*n : (row+1)*n]
				for i := range order {
					order[i] = i
				}
				sort.SliceStable(order, func(a, b int) bool { return before(x[order[a]], x[order[b]]) })
				for i, at := range order[:k] {
					out[0].F[row*k+i], out[1].I[row*k+i] = x[at], int64(at)
				}
			}
			return nil
		},
		Scratch:     func(c *Call) int64 { return 8 * c.In[0].Shape.Dim(-1) },
		OutputBelow: func(c *Call, _ []int64) int64 { return c.In[0].Shape.Dim(-1) },
		IndexOutput: 1,
	})

	register(&Op{
		Name: "arange", Summary: "start, start + step, start + 2 step, ...: count numbers",
		Source: "torch.arange; ONNX Range",
		Attrs: []Attr{
			needInt("count", "how many").atLeast(1),
			optReal("start", 0, "the first").ieee(),
			optReal("step", 1, "from one to the next"),
		},
		Infer: func(c *Call) ([]tensor.Type, error) {
			return f32(tensor.Shape{c.Int("count")}), nil
		},
		Tolerance: 1e-6,
		Eval: func(c *Call, _, out []Value) error {
			for i := range out[0].F {
				out[0].F[i] = c.Real("start") + float64(i)*c.Real("step")
			}
			return nil
		},
		OutputBelow: boundOfArange,
	})
}
