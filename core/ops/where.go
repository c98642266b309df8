package ops

import (
	"fmt"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "where", Summary: "a where condition is not 0 (NaN is not), else b, with numpy's broadcasting",
		Source:    "numpy.where; ONNX Where",
		Inputs:    []Input{{Name: "condition"}, {Name: "a"}, {Name: "b"}},
		Infer:     inferBroadcast,
		Tolerance: 0,
		Eval: func(c *Call, in, out []Value) error {
			shape, n := c.Out[0].Shape, int(c.Out[0].Shape.Dim(-1))
			st := make([][]int, 3)
			for i := range st {
				st[i] = broadcastStrides(c.In[i].Shape, shape)
			}
			eachRow(shape, st, func(row int, at []int) {
				i, j, k := at[0], at[1], at[2]
				y := out[0].F[row*n : (row+1)*n]
				for e := range y {
					if in[0].F[i] != 0 {
						y[e] = in[1].F[j]
					} else {
						y[e] = in[2].F[k]
					}
					i, j, k = i+lastStride(st[0]), j+lastStride(st[1]), k+lastStride(st[2])
				}
			})
			return nil
		},
		// Arithmetic with 0 and 1 would turn infinities into NaN, so elements are
		// picked out of a table that holds all of b, then all of a.
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			shape := c.Out[0].Shape
			n := shape.Elements()
			if n > 1<<23 {
				return nil, ErrNoDecomposition // f32 cannot count the table's rows
			}
			s := &chain{b: b}
			flat := make([]Ref, 3)
			for i := range flat {
				flat[i] = s.reshape(s.un("expand", in[i], IntsAttr("shape", shape...)), n)
			}
			rows := s.concat(0, s.reshape(flat[2], n, 1), s.reshape(flat[1], n, 1))
			isZero := s.bin("mul", isNumber(s, flat[0]), s.scale(s.un("step", s.un("abs", flat[0])), -1, 1))
			chosen := s.scale(isZero, -float64(n), float64(n))
			ids := s.bin("add", chosen, s.op("arange", nil, IntAttr("count", n)))
			ids = s.un("cast", ids, TextAttr("dtype", "i32"))
			return s.result(s.reshape(s.bin("embedding", rows, ids), shape...))
		},
	})

	register(&Op{
		Name: "expand", Summary: "x stretched to a shape as in numpy's broadcasting",
		Source: "numpy.broadcast_to; ONNX Expand",
		Inputs: []Input{{Name: "x"}},
		Attrs:  []Attr{needInts("shape", "the result's shape").atLeast(1)},
		Infer: func(c *Call) ([]tensor.Type, error) {
			want := tensor.Shape(c.Ints("shape"))
			if got, ok := Broadcast(c.In[0].Shape, want); !ok || !got.Equal(want) {
				return nil, mismatch("%s does not stretch to shape %v", c.arg(0), want)
			}
			return f32(want), nil
		},
		Eval: func(c *Call, in, out []Value) error {
			gather(out[0], in[0], c.Out[0].Shape, 0, broadcastStrides(c.In[0].Shape, c.Out[0].Shape))
			return nil
		},
		Decompose: func(b Builder, c *Call, in []Ref) ([]Ref, error) {
			s := &chain{b: b}
			to := c.Out[0].Shape
			shape := make(tensor.Shape, len(to)-len(c.In[0].Shape))
			for i := range shape {
				shape[i] = 1
			}
			shape = append(shape, c.In[0].Shape...)
			x := s.reshape(in[0], shape...)
			for axis := range to {
				if shape[axis] != to[axis] {
					x = s.repeated(x, axis, to[axis])
				}
			}
			return s.result(x)
		},
	})
}

// clash says which dimensions keep two shapes from broadcasting.
func clash(a, b tensor.Shape) string {
	for i := -1; i >= -min(len(a), len(b)); i-- {
		if x, y := a.Dim(i), b.Dim(i); x != y && x != 1 && y != 1 {
			return fmt.Sprintf("dimension %d is %d in one and %d in the other", i, x, y)
		}
	}
	return "the shapes fit"
}
