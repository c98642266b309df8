package backendtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/tensor"
)

// Case is one call of an operator to be tried.
type Case struct {
	In    []Operand
	Attrs []ops.AttrArg

	Special string // the kind of special numbers in it, "" for none
	CPU     bool   // only the CPU and the reference are as exact
}

// Operand is one input of a case: what it is and how its values are made.
type Operand struct {
	Type tensor.Type // DType 0: an optional input left out
	Kind graph.Kind
	fill func(r *rand.Rand, i int) float64
}

// x is an f32 input of normally distributed values.
func x(shape ...int64) Operand {
	return Operand{tensor.Type{DType: tensor.F32, Shape: shape}, graph.Input, normal}
}

// weight and state are operands of a dtype that the weights or the session hold.
func weight(d tensor.DType, shape ...int64) Operand {
	return Operand{tensor.Type{DType: d, Shape: shape}, graph.Weight, normal}
}

func state(d tensor.DType, shape ...int64) Operand {
	return Operand{tensor.Type{DType: d, Shape: shape}, graph.State, normal}
}

// index is an input of random indices below a bound.
func index(d tensor.DType, below int64, shape ...int64) Operand {
	return Operand{tensor.Type{DType: d, Shape: shape}, graph.Input, func(r *rand.Rand, _ int) float64 { return float64(r.Int64N(below)) }}
}

// places is an input of n different indices below a bound, in random order.
func places(d tensor.DType, below, n int64) Operand {
	var order []int
	return Operand{tensor.Type{DType: d, Shape: tensor.Shape{n}}, graph.Input, func(r *rand.Rand, i int) float64 {
		if i == 0 {
			order = r.Perm(int(below))
		}
		return float64(order[i])
	}}
}

// none is an optional input left out.
var none Operand

// uniform gives the operand evenly distributed values between lo and hi.
func (o Operand) uniform(lo, hi float64) Operand {
	o.fill = func(r *rand.Rand, _ int) float64 { return lo + (hi-lo)*r.Float64() }
	return o
}

// is gives the operand another dtype.
func (o Operand) is(d tensor.DType) Operand {
	o.Type.DType = d
	return o
}

// of gives the operand these values, over and over.
func (o Operand) of(values ...float64) Operand {
	o.fill = func(_ *rand.Rand, i int) float64 { return values[i%len(values)] }
	return o
}

func normal(r *rand.Rand, _ int) float64 { return r.NormFloat64() }

// value makes the operand's values: numbers that its dtype has.
func (o Operand) value(r *rand.Rand) (ops.Value, []byte, error) {
	v := ops.NewValue(o.Type)
	if o.Type.DType.Quantised() && !quant.CanEncode(o.Type.DType) {
		data := RandomBlocks(r, o.Type)
		return v, data, v.Decode(data)
	}
	for i := range v.F {
		v.F[i] = o.fill(r, i)
	}
	for i := range v.I {
		v.I[i] = int64(o.fill(r, i))
	}
	data := make([]byte, o.Type.Bytes())
	if err := v.Encode(data); err != nil {
		return v, nil, err
	}
	return v, data, v.Decode(data)
}

// String writes a case as `x=f32[2, 3] weight=f16[4, 3] {eps=1e-05}`.
func (c Case) String() string {
	var b strings.Builder
	for i, in := range c.In {
		if i > 0 {
			b.WriteByte(' ')
		}
		if in.Type.DType == 0 {
			b.WriteString("none")
			continue
		}
		fmt.Fprintf(&b, "%v %v", in.Kind, in.Type)
	}
	b.WriteString(" {")
	for i, a := range c.Attrs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.Name + "=")
		switch a.Value.Type {
		case ops.Int:
			fmt.Fprint(&b, a.Value.Int)
		case ops.Real:
			fmt.Fprint(&b, a.Value.Real)
		case ops.Text:
			b.WriteString(a.Value.Text)
		default:
			fmt.Fprint(&b, a.Value.Ints, a.Value.Reals)
		}
	}
	b.WriteString("}")
	if c.Special != "" {
		b.WriteString(" with " + c.Special)
	}
	return b.String()
}
