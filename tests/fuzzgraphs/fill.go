package main

import (
	"math"
	"math/rand/v2"

	"qtsaccel/backends/backendtest"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/tensor"
)

// Fill says what numbers a leaf holds.
type Fill string

// The fills. Of integers that serve as indices all but distinct give random ones
// below the bound.
const (
	Normal    Fill = "normal"
	Positive  Fill = "positive"  // 0.5 to 2
	Coarse    Fill = "coarse"    // few different values, so that there are equal ones
	Wild      Fill = "wild"      // with NaN, infinities, zeros of both signs, denormals
	Masking   Fill = "masking"   // 0 or minus infinity, the first of a row 0
	Distinct  Fill = "distinct"  // no index twice
	Positions Fill = "positions" // whole numbers as rope takes them
	Whole     Fill = "whole"     // small whole numbers of either sign
	Ones      Fill = "ones"
)

var wildValues = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, -1e-40, 1e3, -1e3, 1, -1,
}

// values makes a leaf's content: numbers that its dtype has, and their bytes.
// below > 0 bounds integers.
func (f Fill) values(t tensor.Type, seed uint64, below int64, into []byte) (ops.Value, error) {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	v := ops.NewValue(t)
	if t.DType.Quantised() && !quant.CanEncode(t.DType) {
		copy(into, backendtest.RandomBlocks(r, t))
		return v, v.Decode(into)
	}
	f.floats(v.F, r, t.Shape.Dim(-1))
	f.integers(v.I, r, below, t.DType)
	if err := v.Encode(into); err != nil {
		return v, err
	}
	return v, v.Decode(into)
}

func (f Fill) floats(v []float64, r *rand.Rand, row int64) {
	for i := range v {
		switch f {
		case Positive:
			v[i] = 0.5 + 1.5*r.Float64()
		case Coarse:
			v[i] = float64(r.IntN(5)-2) / 2
		case Wild:
			v[i] = r.NormFloat64()
			if r.IntN(4) == 0 {
				v[i] = wildValues[r.IntN(len(wildValues))]
			}
		case Masking:
			if int64(i)%row != 0 && r.IntN(2) == 0 {
				v[i] = math.Inf(-1)
			}
		case Ones:
			v[i] = 1
		case Normal, Distinct, Positions, Whole:
			v[i] = r.NormFloat64()
		}
	}
}

func (f Fill) integers(v []int64, r *rand.Rand, below int64, d tensor.DType) {
	if below > 0 {
		if d == tensor.I8 {
			below = min(below, 128)
		}
		if d == tensor.I16 {
			below = min(below, 1<<15)
		}
		switch {
		case f == Distinct && int64(len(v)) <= below && below < 1<<20:
			for i, p := range r.Perm(int(below))[:len(v)] {
				v[i] = int64(p)
			}
		default:
			for i := range v {
				v[i] = r.Int64N(below)
			}
		}
		return
	}
	for i := range v {
		switch f {
		case Positions:
			v[i] = r.Int64N(1000)
		case Ones:
			v[i] = 1
		default:
			v[i] = r.Int64N(200) - 100
		}
	}
}
