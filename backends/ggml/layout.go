package ggml

import (
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/weights"
)

// layout is how a weight lies on a device, where that is not as it is stored: the key of
// a copy of it.
type layout any

// layouts are the operators whose lowerings take a weight in a layout of their own. What
// one declares for an input is what it then gets, and what an upload ahead of the
// lowering leaves to it. w is nil where the input is no weight.
var layouts = map[string]func(b *Backend, c *ops.Call, input int, w *weights.Tensor) layout{
	"conv1d": conv1dLayout,
	"linear": linearLayout,
}

// layoutOf is the layout in which a call's lowering takes an input, nil: as it is stored.
func (b *Backend) layoutOf(c *ops.Call, input int, w *weights.Tensor) layout {
	if declared := layouts[c.Op.Name]; declared != nil {
		return declared(b, c, input, w)
	}
	return nil
}

// layout is that of an input of the call that is lowered.
func (c *call) layout(i int) layout {
	var w *weights.Tensor
	if c.program != nil && c.Has(i) {
		if t := &c.program.Tensors[c.tensors[i]]; t.Kind == graph.Weight {
			w = t.Weight
		}
	}
	return c.backend.layoutOf(c.Call, i, w)
}
