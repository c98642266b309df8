package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "lstm_cell",
		Summary: "one step of an LSTM: with [i, f, g, o] = weight_ih x + bias_ih + weight_hh h + bias_hh, " +
			"c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c')",
		Source: "Hochreiter and Schmidhuber, \"Long Short-Term Memory\" (1997); torch.nn.LSTMCell, whose order of gates it has",
		Inputs: []Input{
			{Name: "x", MinRank: 2, MaxRank: 2},
			{Name: "h", MinRank: 2, MaxRank: 2},
			{Name: "c", MinRank: 2, MaxRank: 2},
			{Name: "weight_ih", DTypes: Weight, MinRank: 2, MaxRank: 2},
			{Name: "weight_hh", DTypes: Weight, MinRank: 2, MaxRank: 2},
			{Name: "bias_ih", Optional: true},
			{Name: "bias_hh", Optional: true},
		},
		Outputs:  []string{"h", "c"},
		Infer:    inferLSTMCell,
		Products: 4, // the gates squash sums of dozens to 1
		Cost:     MatmulCost,
		flops: func(in, _ []tensor.Shape) float64 {
			return 2 * float64(in[0][0]) * (elements(in[3]) + elements(in[4]))
		},
		Tolerance: 1e-5,
		Eval:      evalLSTMCell,
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			project := func(x, weight, bias int) Ref {
				if c.Has(bias) {
					return s.op("linear", []Ref{in[x], in[weight], in[bias]})
				}
				return s.bin("linear", in[x], in[weight])
			}
			gates := s.bin("add", project(0, 3, 5), project(1, 4, 6))
			hidden := c.In[1].Shape[1]
			gate := func(k int64, activation string) Ref {
				return s.un(activation, s.slice(gates, 1, k*hidden, (k+1)*hidden, 1))
			}
			i, f, g, o := gate(0, "sigmoid"), gate(1, "sigmoid"), gate(2, "tanh"), gate(3, "sigmoid")
			cell := s.bin("add", s.bin("mul", f, in[2]), s.bin("mul", i, g))
			return s.result(s.bin("mul", o, s.un("tanh", cell)), cell)
		},
	})
}

func inferLSTMCell(c *Call) ([]tensor.Type, error) {
	x, h := c.In[0].Shape, c.In[1].Shape
	hidden := h[1]
	if x[0] != h[0] {
		return nil, mismatch("%s has %d rows, %s has %d", c.arg(0), x[0], c.arg(1), h[0])
	}
	if err := wantShape(c, 2, 1, h...); err != nil {
		return nil, err
	}
	if err := wantShape(c, 3, 0, 4*hidden, x[1]); err != nil {
		return nil, err
	}
	for i, want := range []tensor.Shape{{4 * hidden, hidden}, {4 * hidden}, {4 * hidden}} {
		if err := wantShape(c, 4+i, 1, want...); err != nil {
			return nil, err
		}
	}
	return []tensor.Type{{DType: tensor.F32, Shape: h}, {DType: tensor.F32, Shape: h}}, nil
}

func evalLSTMCell(c *Call, in, out []Value) error {
	nIn, hidden := int(c.In[0].Shape[1]), int(c.In[1].Shape[1])
	for row := range int(c.In[0].Shape[0]) {
		x, h := in[0].F[row*nIn:(row+1)*nIn], in[1].F[row*hidden:(row+1)*hidden]
		gate := func(k, unit int) float64 {
			g := k*hidden + unit
			sum := dot(x, in[3].F[g*nIn:(g+1)*nIn]) + dot(h, in[4].F[g*hidden:(g+1)*hidden])
			for bias := 5; bias <= 6; bias++ {
				if c.Has(bias) {
					sum += in[bias].F[g]
				}
			}
			return sum
		}
		for unit := range hidden {
			at := row*hidden + unit
			cell := sigmoid(gate(1, unit))*in[2].F[at] + sigmoid(gate(0, unit))*math.Tanh(gate(2, unit))
			out[0].F[at], out[1].F[at] = sigmoid(gate(3, unit))*math.Tanh(cell), cell
		}
	}
	return nil
}
