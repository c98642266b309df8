package ggml

import (
	"qtsaccel/backends/ggml/device"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/weights"
)

// layouts are the operators whose lowerings take a weight in a layout of their own. What
// one declares for an input is what it then gets, and what an upload ahead of the
// lowering leaves to it. w is nil where the input is no weight.
var layouts = map[string]func(b *Backend, c *ops.Call, input int, w *weights.Tensor) device.Layout{
	"conv1d": conv1dLayout,
	"linear": linearLayout,
}

// layoutOf is the layout in which a call's lowering takes an input, nil: as it is stored.
func (b *Backend) layoutOf(c *ops.Call, input int, w *weights.Tensor) device.Layout {
	if declared := layouts[c.Op.Name]; declared != nil {
		return declared(b, c, input, w)
	}
	return nil
}

// layout is that of an input of the call that is lowered.
func (c *call) layout(i int) device.Layout {
	var w *weights.Tensor
	if c.program != nil && c.Has(i) {
		if t := &c.program.Tensors[c.tensors[i]]; t.Kind == graph.Weight {
			w = t.Weight
		}
	}
	return c.backend.layoutOf(c.Call, i, w)
}

// uploadWeightsOf uploads what a program takes as it is stored. Lowering would, too, one
// after the other.
func (b *Backend) uploadWeightsOf(p *graph.Program) error {
	if b.device.CPU {
		return nil
	}
	var tensors []*weights.Tensor
	for _, n := range p.Nodes {
		for i, t := range n.In {
			if t >= 0 && p.Tensors[t].Kind == graph.Weight && b.layoutOf(n.Call, i, p.Tensors[t].Weight) == nil {
				tensors = append(tensors, p.Tensors[t].Weight)
			}
		}
	}
	return b.device.UploadStored(tensors)
}
