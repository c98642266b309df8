package ops

import (
	"slices"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "linear", Summary: "x W^T + bias: each row of x times the rows of the weight",
		Source:    "torch.nn.functional.linear",
		Inputs:    []Input{{Name: "x", MinRank: 1}, {Name: "weight", DTypes: Weight, MinRank: 2, MaxRank: 2}, {Name: "bias", Optional: true}},
		Infer:     inferLinear,
		Products:  1,
		Cost:      MatmulCost,
		flops:     func(in, out []tensor.Shape) float64 { return 2 * elements(out[0]) * float64(in[1].Dim(-1)) },
		Tolerance: 1e-5,
		Pieces:    func(c *Call) int { return int(c.In[1].Shape[0]) },
		EvalPiece: func(c *Call, in, out []Value, o int) error {
			nOut, nIn := int(c.In[1].Shape[0]), int(c.In[1].Shape[1])
			w := in[1].F[o*nIn : (o+1)*nIn]
			bias := 0.0
			if c.Has(2) {
				bias = in[2].F[o]
			}
			for row := range len(in[0].F) / nIn {
				out[0].F[row*nOut+o] = dot(in[0].F[row*nIn:(row+1)*nIn], w) + bias
			}
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			if !c.Has(2) {
				return nil, ErrNoDecomposition
			}
			s := &chain{b: b}
			return s.result(s.bin("add", s.bin("linear", in[0], in[1]), in[2]))
		},
	})

	register(&Op{
		Name: "matmul", Summary: "a b, the matrix product of the last two axes; the axes before them broadcast as in numpy",
		Source:    "numpy.matmul",
		Inputs:    []Input{{Name: "a", MinRank: 2}, {Name: "b", DTypes: Float, MinRank: 2}},
		Infer:     inferMatmul,
		Products:  1,
		Cost:      MatmulCost,
		flops:     func(in, out []tensor.Shape) float64 { return 2 * elements(out[0]) * float64(in[0].Dim(-1)) },
		Tolerance: 1e-5,
		Pieces:    func(c *Call) int { return int(c.Out[0].Shape.Elements() / c.Out[0].Shape.Dim(-1)) },
		EvalPiece: func(c *Call, in, out []Value, row int) error {
			m, k, n := int(c.In[0].Shape.Dim(-2)), int(c.In[0].Shape.Dim(-1)), int(c.In[1].Shape.Dim(-1))
			batches := c.Out[0].Shape[:len(c.Out[0].Shape)-2]
			atA := batchOffset(row/m, batches, c.In[0].Shape)
			atB := batchOffset(row/m, batches, c.In[1].Shape)
			a := in[0].F[atA+row%m*k:][:k]
			y := out[0].F[row*n : (row+1)*n]
			for i, v := range a {
				axpy(v, in[1].F[atB+i*n:][:n], y)
			}
			return nil
		},
	})
}

func inferLinear(c *Call) ([]tensor.Type, error) {
	x, w := c.In[0].Shape, c.In[1].Shape
	if x.Dim(-1) != w[1] {
		return nil, mismatch("%s has rows of %d elements, %s takes %d", c.arg(0), x.Dim(-1), c.arg(1), w[1])
	}
	return f32(replaced(x, len(x)-1, w[0])), wantShape(c, 2, 1, w[0])
}

func inferMatmul(c *Call) ([]tensor.Type, error) {
	a, b := c.In[0].Shape, c.In[1].Shape
	if a.Dim(-1) != b.Dim(-2) {
		return nil, mismatch("%s has %d columns, %s has %d rows", c.arg(0), a.Dim(-1), c.arg(1), b.Dim(-2))
	}
	batch, ok := Broadcast(a[:len(a)-2], b[:len(b)-2])
	if !ok {
		return nil, mismatch("the batches of %s and %s do not broadcast", c.arg(0), c.arg(1))
	}
	return f32(append(batch, a.Dim(-2), b.Dim(-1))), nil
}

// batchOffset is where the matrix of the given batch number starts in a tensor
// whose axes before the last two broadcast to batches.
func batchOffset(batch int, batches, s tensor.Shape) int {
	lead := s[:len(s)-2]
	st, at := broadcastStrides(lead, batches), 0
	for axis, n := range slices.Backward(batches) {
		at += batch % int(n) * st[axis]
		batch /= int(n)
	}
	return at * int(s.Dim(-2)*s.Dim(-1))
}

// dot is the inner product. Four sums side by side do not wait for each other.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// axpy adds a*x to y.
func axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}
