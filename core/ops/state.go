package ops

import (
	"slices"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "state_write", Summary: "the state with its row positions[i] replaced by values[i], rounded to its dtype; without positions, all of it replaced. A position given twice gets either row",
		Source: "ONNX TensorScatter; torch.Tensor.index_copy_",
		Inputs: []Input{
			{Name: "state", DTypes: Float},
			{Name: "values"},
			{
				Name: "positions", DTypes: Index, Optional: true, MinRank: 1, MaxRank: 1,
				Below: func(c *Call) int64 { return c.In[0].Shape.Dim(0) },
			},
		},
		Infer:     inferStateWrite,
		Tolerance: exact,
		Eval: func(c *Call, in, out []Value) error {
			state := c.In[0]
			if !c.Has(2) {
				for i, v := range in[1].F {
					out[0].F[i] = round(state.DType, v)
				}
				return nil
			}
			values := in[1].F
			if &values[0] == &out[0].F[0] { // the state itself, whose rows are written before they are read
				values = slices.Clone(values)
			}
			copy(out[0].F, in[0].F) // nothing happens where both are the same memory
			row := int(state.Shape[1:].Elements())
			for i, position := range in[2].I {
				for k, v := range values[i*row : (i+1)*row] {
					out[0].F[int(position)*row+k] = round(state.DType, v)
				}
			}
			return nil
		},
		Writes: true,
		// Of the state only the rows that are replaced are touched.
		flops: func(in, _ []tensor.Shape) float64 { return elements(in[1]) },
		bytes: func(c *Call) int64 { return 2 * c.In[1].Bytes() },
	})
}

func inferStateWrite(c *Call) ([]tensor.Type, error) {
	state, values := c.In[0], c.In[1].Shape
	if state.DType == tensor.BF16 {
		return nil, invalid("%s must be f32 or f16", c.arg(0))
	}
	if !c.Has(2) {
		return []tensor.Type{state}, wantShape(c, 1, 0, state.Shape...)
	}
	if len(state.Shape) == 0 || len(values) == 0 {
		return nil, mismatch("%s and %s have no rows for %s to name", c.arg(0), c.arg(1), c.arg(2))
	}
	if err := wantShape(c, 2, 1, values[0]); err != nil {
		return nil, err
	}
	return []tensor.Type{state}, wantShape(c, 1, 0, replaced(state.Shape, 0, values[0])...)
}
