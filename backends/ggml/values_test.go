package ggml

import (
	"math/rand/v2"

	"qtsaccel/core/tensor"
)

func random(r *rand.Rand, s tensor.Shape) []float32 {
	v := make([]float32, s.Elements())
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}
