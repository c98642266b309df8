package oplevel

import (
	"math"
	"unsafe"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// Heads is the form of an attention: q and out are [tq, heads*dim], k and v
// [tk, kv_heads*dim].
type Heads struct {
	TQ, TK, Heads, KVHeads, Dim int64
	Causal                      bool    // query j sees keys up to tk - tq + j
	Window                      int64   // how many of these, the last; 0: all
	Scale                       float64 // of the scores; 0: 1/sqrt(dim)
}

func (h *Heads) check() error {
	for _, size := range []struct {
		name     string
		v, least int64
	}{
		{"tq", h.TQ, 0},
		{"tk", h.TK, 1},
		{"heads", h.Heads, 1},
		{"kv_heads", h.KVHeads, 1},
		{"head_dim", h.Dim, 1},
		{"window", h.Window, 0},
	} {
		if err := atLeast(size.name, size.v, size.least); err != nil {
			return err
		}
	}
	switch {
	case h.Heads%h.KVHeads != 0:
		return status.Errorf(status.ShapeMismatch, "heads is %d, no multiple of kv_heads, %d", h.Heads, h.KVHeads)
	case h.Causal && h.TQ > h.TK:
		return status.Errorf(status.ShapeMismatch, "causal: tq is %d, more than tk, %d", h.TQ, h.TK)
	case h.Window > 0 && !h.Causal:
		return status.Errorf(status.InvalidArgument, "window is %d, which only causal attention has", h.Window)
	case math.IsNaN(h.Scale) || math.IsInf(h.Scale, 0):
		return status.Errorf(status.InvalidArgument, "scale is %v", h.Scale)
	}
	return nil
}

// seen is the part of the keys that a query sees, on average.
func (h *Heads) seen() float64 {
	keys := float64(h.TK)
	if h.Causal {
		keys -= float64(h.TQ-1) / 2
	}
	if h.Window > 0 {
		keys = min(keys, float64(h.Window))
	}
	return keys / float64(h.TK)
}

// Attention is softmax(scale q k^T) v per head; head i reads key head
// i / (heads / kv_heads). tq = 0 succeeds and does nothing.
func (c *Calls) Attention(q, k, v unsafe.Pointer, h Heads, out unsafe.Pointer, flags Flags) error {
	if err := checkAttention(q, k, v, &h, out, flags); err != nil {
		return status.Wrapf(err, "attention")
	}
	if h.TQ == 0 {
		return nil
	}
	r := c.begin("attention", flags)
	defer c.end(r)
	return c.attention(r, q, k, v, &h, out)
}

func (c *Calls) attention(r *request, q, k, v unsafe.Pointer, h *Heads, out unsafe.Pointer) error {
	r.numbers(h.TQ, h.TK, h.Heads, h.KVHeads, h.Dim, h.Window, int64(math.Float64bits(h.Scale)))
	r.flag(h.Causal)
	r.floats(q, h.TQ*h.Heads*h.Dim)
	r.floats(k, h.TK*h.KVHeads*h.Dim)
	r.floats(v, h.TK*h.KVHeads*h.Dim)
	r.output(out, 4*h.TQ*h.Heads*h.Dim)
	unfused := exceeds(q, h.TQ*h.Heads*h.Dim, infinity) || exceeds(k, h.TK*h.KVHeads*h.Dim, infinity)
	r.flag(unfused)
	r.shape(h.TQ, h.Heads, h.Dim)
	r.shape(h.TK, h.KVHeads, h.Dim)
	r.shape(h.TK, h.KVHeads, h.Dim)
	r.shape(h.TQ, h.Heads, h.Dim)
	r.countWork(attentionOp, 3)
	r.work.flops *= h.seen()
	return c.run(r, func(b *builder) {
		in := []ops.Ref{b.input(f32(h.TQ, h.Heads, h.Dim)), b.input(f32(h.TK, h.KVHeads, h.Dim)), b.input(f32(h.TK, h.KVHeads, h.Dim))}
		if unfused { // a mask of the caller's keeps it from being fused
			in = append(in, b.zeros(h.TQ, h.TK))
		}
		causal := int64(0)
		if h.Causal {
			causal = 1
		}
		b.output(b.op("attention", in, ops.RealAttr("scale", h.Scale), ops.IntAttr("causal", causal), ops.IntAttr("window", h.Window)))
	})
}

func checkAttention(q, k, v unsafe.Pointer, h *Heads, out unsafe.Pointer, flags Flags) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	qBytes, err := f32Bytes("q", max(h.TQ, 1), h.Heads, h.Dim)
	if err != nil {
		return err
	}
	kBytes, err := f32Bytes("k", h.TK, h.KVHeads, h.Dim)
	if err != nil || h.TQ == 0 {
		return err
	}
	to := regionOf("out", -1, out, qBytes)
	if err := notNull("out", out); err != nil {
		return err
	}
	for _, in := range [...]struct {
		name  string
		p     unsafe.Pointer
		bytes int64
	}{{"q", q, qBytes}, {"k", k, kBytes}, {"v", v, kBytes}} {
		if err := notNull(in.name, in.p); err != nil {
			return err
		}
		if err := apart(to, regionOf(in.name, -1, in.p, in.bytes)); err != nil {
			return err
		}
	}
	return nil
}
