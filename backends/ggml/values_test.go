package ggml

import (
	"math/rand/v2"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

func random(r *rand.Rand, s tensor.Shape) []float32 {
	v := make([]float32, s.Elements())
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func value(t tensor.Type, data []float32) ops.Value {
	v := ops.NewValue(t)
	for i := range v.F {
		v.F[i] = float64(data[i])
	}
	return v
}
