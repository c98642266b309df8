package ggml

import "qtsaccel/core/tensor"

// maskKey is what a mask is made of: attentions that agree in it share the mask.
type maskKey struct {
	positions int // the input's place among the inputs, -1: counted from the end
	t, n      int64
	window    int64
	dtype     tensor.DType
}
