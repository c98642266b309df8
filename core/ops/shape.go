package ops

import (
	"math"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Operators that move elements without computing on them, and the cast.

func init() {
	register(&Op{
		Name: "reshape", Summary: "the same elements in another shape, in row-major order",
		Source: "numpy.reshape",
		Inputs: []Input{{Name: "x", DTypes: Any}},
		Attrs:  []Attr{needInts("shape", "the new shape; one dimension may be -1 for what is left over").atLeast(-1)},
		Infer:  inferReshape,
		View:   true,
		Eval: func(_ *Call, in, out []Value) error {
			copy(out[0].F, in[0].F)
			copy(out[0].I, in[0].I)
			return nil
		},
		OutputBelow: boundOfFirst,
	})

	register(&Op{
		Name: "transpose", Summary: "the axes in another order: axis i of the result is axis axes[i] of x",
		Source: "numpy.transpose",
		Inputs: []Input{{Name: "x", DTypes: Any}},
		Attrs:  []Attr{needInts("axes", "a permutation of the axes; negative counts from the end").from(-tensor.MaxRank, tensor.MaxRank-1)},
		Infer:  inferTranspose,
		View:   true,
		Eval: func(c *Call, in, out []Value) error {
			from := strides(c.In[0].Shape)
			st := make([]int, len(from))
			for i, axis := range Axes(c) {
				st[i] = from[axis]
			}
			gather(out[0], in[0], c.Out[0].Shape, 0, st)
			return nil
		},
		OutputBelow: boundOfFirst,
	})

	register(&Op{
		Name: "slice", Summary: "along an axis the elements start, start + step, ... before end (step < 0: down to but without end); negative start and end count from the axis' end, beyond it they are clamped",
		Source: "numpy, \"Slicing and striding\"; ONNX Slice",
		Inputs: []Input{{Name: "x", DTypes: Any, MinRank: 1}},
		Attrs: []Attr{
			needAxis(),
			optInt("start", 0, "the first element"),
			optInt("end", math.MaxInt64, "where it ends; with step < 0, an end further from the axis' end than its length goes through to the first element"),
			optInt("step", 1, "from one element to the next, not 0"),
		},
		Infer: inferSlice,
		Eval: func(c *Call, in, out []Value) error {
			r, st := SliceRange(c), strides(c.In[0].Shape)
			offset := int(r.Start) * st[c.Axis()]
			st[c.Axis()] *= int(r.Step)
			gather(out[0], in[0], c.Out[0].Shape, offset, st)
			return nil
		},
		Decompose:   decomposeSlice,
		View:        true,
		OutputBelow: boundOfFirst,
	})

	register(&Op{
		Name: "concat", Summary: "the inputs one behind the other along an axis",
		Source: "numpy.concatenate",
		Inputs: []Input{{Name: "x", DTypes: Any, MinRank: 1, Variadic: true}},
		Attrs:  []Attr{needAxis()},
		Infer:  inferConcat,
		Eval: func(c *Call, in, out []Value) error {
			row := int(c.Out[0].Shape[c.Axis():].Elements())
			at := 0
			for i, x := range in {
				n := int(c.In[i].Shape[c.Axis():].Elements())
				for outer := range int(c.Out[0].Shape[:c.Axis()].Elements()) {
					if x.F != nil {
						copy(out[0].F[outer*row+at:], x.F[outer*n:(outer+1)*n])
					} else {
						copy(out[0].I[outer*row+at:], x.I[outer*n:(outer+1)*n])
					}
				}
				at += n
			}
			return nil
		},
		OutputBelow: boundOfAll,
	})

	register(&Op{
		Name: "cast", Summary: "x in another dtype: to a 16-bit float rounded to nearest even, from float to integer cut towards 0, to the least or greatest integer where it lies beyond, NaN to 0; from integer to a shorter one the low bits",
		Source: "torch.Tensor.to",
		Inputs: []Input{{Name: "x", DTypes: Any}},
		Attrs:  []Attr{needText("dtype", "the dtype").oneOf("f32", "f16", "bf16", "i8", "i16", "i32", "i64")},
		Infer:  inferCast,
		Eval: func(c *Call, in, out []Value) error {
			to := c.Out[0].DType
			for i := range out[0].F {
				if in[0].F != nil {
					out[0].F[i] = round(to, in[0].F[i])
				} else {
					out[0].F[i] = round(to, float64(in[0].I[i]))
				}
			}
			for i := range out[0].I {
				if in[0].F != nil {
					out[0].I[i] = cut(to, in[0].F[i])
				} else {
					out[0].I[i] = lowBits(to, in[0].I[i])
				}
			}
			return nil
		},
		OutputBelow: boundOfCast,
		OnDevices:   "On devices other than the CPU f32 numbers that i32 cannot hold give no particular one",
	})
}

// cut gives the integer of a dtype that is nearest to v without what it has behind the
// point, 0 for NaN.
func cut(to tensor.DType, v float64) int64 {
	bits := map[tensor.DType]int{tensor.I8: 8, tensor.I16: 16, tensor.I32: 32, tensor.I64: 64}[to]
	least := int64(-1) << (bits - 1)
	switch top := math.Ldexp(1, bits-1); {
	case math.IsNaN(v):
		return 0
	case v >= top:
		return -1 - least // the greatest
	case v <= -top:
		return least
	}
	return int64(v)
}

// lowBits gives what of v an integer dtype has room for.
func lowBits(to tensor.DType, v int64) int64 {
	switch to {
	case tensor.I8:
		return int64(int8(v))
	case tensor.I16:
		return int64(int16(v))
	case tensor.I32:
		return int64(int32(v))
	default:
		return v
	}
}

// round gives the number of a float dtype that is nearest to v.
func round(to tensor.DType, v float64) float64 {
	switch to {
	case tensor.F16:
		return float64(tensor.F16ToF32(tensor.F32ToF16(float32(v))))
	case tensor.BF16:
		return float64(tensor.BF16ToF32(tensor.F32ToBF16(float32(v))))
	default:
		return float64(float32(v))
	}
}

func inferReshape(c *Call) ([]tensor.Type, error) {
	if err := wantPlain(c); err != nil {
		return nil, err
	}
	shape := append(tensor.Shape{}, c.Ints("shape")...)
	total, known, open := c.In[0].Shape.Elements(), int64(1), -1
	for i, d := range shape {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 1:
			return nil, invalid("dimension %d of shape %v is %d, want at least 1, or -1 once", i, shape, d)
		case known > total/d:
			return nil, mismatch("shape %v has more elements than the %d of %s", shape, total, c.arg(0))
		default:
			known *= d
		}
	}
	if open >= 0 && total%known == 0 {
		shape[open], known = total/known, total
	}
	if known != total {
		return nil, mismatch("%s has %d elements, which shape %v cannot hold", c.arg(0), total, tensor.Shape(c.Ints("shape")))
	}
	return []tensor.Type{{DType: c.In[0].DType, Shape: shape}}, nil
}

// Axes gives the attribute "axes" of transpose counted from the front. It is
// right once Infer has run.
func Axes(c *Call) []int {
	axes := make([]int, len(c.Ints("axes")))
	for i, axis := range c.Ints("axes") {
		if axis < 0 {
			axis += int64(len(axes))
		}
		axes[i] = int(axis)
	}
	return axes
}

func inferTranspose(c *Call) ([]tensor.Type, error) {
	if err := wantPlain(c); err != nil {
		return nil, err
	}
	x, axes := c.In[0].Shape, Axes(c)
	shape, seen := make(tensor.Shape, len(axes)), make([]bool, len(x))
	for i, axis := range axes {
		if len(axes) != len(x) || axis < 0 || axis >= len(x) || seen[axis] {
			return nil, invalid("axes is %v, want a permutation of the %d axes of %s", tensor.Shape(c.Ints("axes")), len(x), c.arg(0))
		}
		shape[i], seen[axis] = x[axis], true
	}
	if len(axes) != len(x) {
		return nil, invalid("axes is [], want a permutation of the %d axes of %s", len(x), c.arg(0))
	}
	return []tensor.Type{{DType: c.In[0].DType, Shape: shape}}, nil
}

// Range is what a slice takes of its axis: Count elements from Start on, each
// Step from the one before.
type Range struct{ Start, Step, Count int64 }

// SliceRange gives a slice's range with negative and overlong attributes
// resolved.
func SliceRange(c *Call) Range {
	n, start, end, step := c.In[0].Shape[c.Axis()], c.Int("start"), c.Int("end"), c.Int("step")
	if start < 0 {
		start += n
	}
	if end < 0 && end >= -n {
		end += n
	}
	if step > 0 {
		start, end = min(max(start, 0), n), min(max(end, 0), n)
		if end <= start {
			return Range{Start: start, Step: step}
		}
		return Range{start, step, (end-start-1)/step + 1}
	}
	start, end = min(max(start, -1), n-1), min(max(end, -1), n-1)
	if start <= end {
		return Range{Start: start, Step: step}
	}
	// Written so that the smallest step does not overflow when negated.
	return Range{start, step, (end-start+1)/step + 1}
}

func inferSlice(c *Call) ([]tensor.Type, error) {
	if err := wantPlain(c); err != nil {
		return nil, err
	}
	axis, err := checkAxis(c)
	if err != nil {
		return nil, err
	}
	if c.Int("step") == 0 {
		return nil, invalid("step is 0")
	}
	r := SliceRange(c)
	if r.Count < 1 {
		return nil, invalid("nothing is left of axis %d with %d elements of %s: start %d, end %d, step %d",
			axis, c.In[0].Shape[axis], c.arg(0), c.Int("start"), c.Int("end"), c.Int("step"))
	}
	return []tensor.Type{{DType: c.In[0].DType, Shape: replaced(c.In[0].Shape, axis, r.Count)}}, nil
}

// decomposeSlice takes slices with a step apart: x's rows along the axis are
// looked up one by one.
func decomposeSlice(b Builder, c *Call, in []Ref) ([]Ref, error) {
	r, x, axis := SliceRange(c), c.In[0].Shape, c.Axis()
	s := &chain{b: b}
	switch {
	case r.Step == 1:
		return nil, ErrNoDecomposition
	case r.Count == 1:
		return s.result(s.slice(in[0], axis, r.Start, r.Start+1, 1))
	case c.In[0].DType != tensor.F32 || max(r.Start, r.Start+(r.Count-1)*r.Step) >= 1<<24:
		return nil, ErrNoDecomposition // the rows are numbered in f32
	}
	ids := s.op("arange", nil, IntAttr("count", r.Count), RealAttr("start", float64(r.Start)), RealAttr("step", float64(r.Step)))
	ids = s.un("cast", ids, TextAttr("dtype", "i32"))
	toFront := swapped(len(x), 0, axis)
	moved := s.reshape(s.transpose(in[0], toFront...), x[axis], -1)
	shape := append(tensor.Shape{}, x...)
	shape[axis] = shape[0]
	shape[0] = r.Count
	return s.result(s.transpose(s.reshape(s.bin("embedding", moved, ids), shape...), toFront...))
}

func inferConcat(c *Call) ([]tensor.Type, error) {
	if err := wantPlain(c); err != nil {
		return nil, err
	}
	axis, err := checkAxis(c)
	if err != nil {
		return nil, err
	}
	first, total := c.In[0], int64(0)
	for i, t := range c.In {
		if t.DType != first.DType {
			return nil, invalid("input %d is %v, input 0 is %v: the dtypes differ", i, t, first)
		}
		if len(t.Shape) != len(first.Shape) || !replaced(t.Shape, axis, 1).Equal(replaced(first.Shape, axis, 1)) {
			return nil, mismatch("input %d is %v, input 0 is %v: they may differ only in axis %d", i, t, first, axis)
		}
		if t.Shape[axis] > math.MaxInt64-total {
			return nil, status.Errorf(status.InvalidArgument, "axis %d overflows at input %d, %v", axis, i, t)
		}
		total += t.Shape[axis]
	}
	return []tensor.Type{{DType: first.DType, Shape: replaced(first.Shape, axis, total)}}, nil
}

func inferCast(c *Call) ([]tensor.Type, error) {
	to, err := tensor.ParseDType(c.Text("dtype"))
	if err != nil || to.Quantised() {
		return nil, invalid("dtype is %q, want f32, f16, bf16, i8, i16, i32 or i64", c.Text("dtype"))
	}
	return []tensor.Type{{DType: to, Shape: c.In[0].Shape}}, nil
}
