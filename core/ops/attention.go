package ops

import (
	"math"

	"qtsaccel/core/tensor"
)

func init() {
	register(&Op{
		Name: "attention",
		Summary: "softmax(scale * q k^T + mask) v per head; head h reads key head h / (heads / kv_heads). " +
			"Visible to query j are all keys; with positions or causal, the keys i <= p_j, where p_j is positions[j] or, with causal, n - t + j; " +
			"with window w of those, the keys i > p_j - w. What is not visible does not count, whatever it holds. A query whose scores are all minus infinity, as where the mask leaves it no key, gives zeros",
		Source: "Vaswani et al., \"Attention Is All You Need\" (2017); groups of heads: Ainslie et al., \"GQA\" (2023); torch.nn.functional.scaled_dot_product_attention",
		Inputs: []Input{
			{Name: "q", MinRank: 3, MaxRank: 3},
			{Name: "k", DTypes: Float, MinRank: 3, MaxRank: 3},
			{Name: "v", DTypes: Float, MinRank: 3, MaxRank: 3},
			{Name: "mask", Optional: true, MinRank: 2, MaxRank: 2},
			{
				Name: "positions", DTypes: Index, Optional: true, MinRank: 1, MaxRank: 1, FromHost: true,
				Below: func(c *Call) int64 { return c.In[1].Shape[0] },
			},
		},
		Attrs: []Attr{
			optReal("scale", 0, "the factor of the scores; 0: 1/sqrt(d)"),
			flagAttr("causal", 0, "1: the queries are the last t of the n positions"),
			optInt("window", 0, "how many keys up to its own position a query sees; 0: all. Needs positions or causal").atLeast(0),
		},
		Infer:    inferAttention,
		Products: 1,
		Cost:     AttentionCost,
		// Each query meets each key, and each value with its weight.
		flops: func(in, out []tensor.Shape) float64 {
			return 2 * (elements(in[0]) + elements(out[0])) * float64(in[1][0])
		},
		Tolerance: 2e-5,
		OnDevices: "On the CPU keys and values of f16 and bf16 are summed in f32, with the error said, and the numbers are the same for any number of threads. " +
			"Elsewhere those of f16 may be multiplied and summed in f16, where results beyond 65,504 are infinite, and NaN and infinity in keys and values that are not visible may show; scores that are all minus infinity without a mask give NaN",
		Pieces:    func(c *Call) int { return int(c.In[0].Shape[0] * c.In[0].Shape[1]) },
		EvalPiece: evalAttention,
		Scratch:   func(c *Call) int64 { return 8 * c.In[1].Shape[0] },
		Decompose: decomposeAttention,
	})
}

// AttentionScale is the factor of a call's scores.
func AttentionScale(c *Call) float64 {
	if scale := c.Real("scale"); scale != 0 {
		return scale
	}
	return 1 / math.Sqrt(float64(c.In[0].Shape[2]))
}

func inferAttention(c *Call) ([]tensor.Type, error) {
	q, k, v := c.In[0].Shape, c.In[1].Shape, c.In[2].Shape
	t, n := q[0], k[0]
	switch {
	case q[2] != k[2]:
		return nil, mismatch("%s has heads of %d elements, %s of %d", c.arg(0), q[2], c.arg(1), k[2])
	case v[0] != n || v[1] != k[1]:
		return nil, mismatch("%s and %s differ in keys (%d and %d) or heads (%d and %d)", c.arg(1), c.arg(2), n, v[0], k[1], v[1])
	case q[1]%k[1] != 0:
		return nil, mismatch("the %d heads of %s are no multiple of the %d heads of %s", q[1], c.arg(0), k[1], c.arg(1))
	case c.Has(3) && !c.In[3].Shape.Equal(tensor.Shape{t, n}):
		return nil, mismatch("%s must have shape [%d, %d]: queries of %s by keys of %s", c.arg(3), t, n, c.arg(0), c.arg(1))
	}
	// A device may keep the scores.
	if scores := (tensor.Type{DType: tensor.F32, Shape: tensor.Shape{q[1], t, n}}); scores.Check(false) != nil {
		return nil, invalid("the scores of %s and %s, %v, have more than 2^59 elements", c.arg(0), c.arg(1), scores)
	}
	if err := wantShape(c, 4, 0, t); err != nil {
		return nil, err
	}
	causal, window := c.Int("causal") == 1, c.Int("window")
	switch {
	case causal && c.Has(4):
		return nil, invalid("causal is 1 and positions are given: positions say all that causal could")
	case causal && t > n:
		return nil, mismatch("causal is 1 and %s has %d queries, more than the %d keys of %s", c.arg(0), t, n, c.arg(1))
	case window > 0 && !causal && !c.Has(4):
		return nil, invalid("window is %d, which needs positions or causal", window)
	}
	return f32(tensor.Shape{t, q[1], v[2]}), nil
}

// evalAttention computes one head of one query.
func evalAttention(c *Call, in, out []Value, piece int) error {
	t, heads, d := int(c.In[0].Shape[0]), int(c.In[0].Shape[1]), int(c.In[0].Shape[2])
	n, kvHeads, dv := int(c.In[1].Shape[0]), int(c.In[1].Shape[1]), int(c.In[2].Shape[2])
	query, head := piece/heads, piece%heads
	kvHead := head / (heads / kvHeads)

	first, end := 0, n // the keys that the query sees
	if c.Has(4) || c.Int("causal") == 1 {
		position := n - t + query
		if c.Has(4) {
			position = int(in[4].I[query])
		}
		end = min(position+1, n)
		if w := int(c.Int("window")); w > 0 {
			first = max(position-w+1, 0)
		}
	}

	scores := make([]float64, n)
	top, scale := math.Inf(-1), AttentionScale(c)
	for i := first; i < end; i++ {
		scores[i] = scale * dot(in[0].F[piece*d:(piece+1)*d], in[1].F[(i*kvHeads+kvHead)*d:][:d])
		if c.Has(3) {
			scores[i] += in[3].F[query*n+i]
		}
		top = max(top, scores[i])
	}
	if math.IsInf(top, -1) {
		return nil // nothing is seen
	}
	sum := 0.0
	for i := first; i < end; i++ {
		scores[i] = math.Exp(scores[i] - top)
		sum += scores[i]
	}
	y := out[0].F[piece*dv : (piece+1)*dv]
	for i := first; i < end; i++ {
		axpy(scores[i]/sum, in[2].F[(i*kvHeads+kvHead)*dv:][:dv], y)
	}
	return nil
}

func decomposeAttention(b Builder, c *Call, in []Ref) ([]Ref, error) {
	s := &chain{b: b}
	t, heads, d := c.In[0].Shape[0], c.In[0].Shape[1], c.In[0].Shape[2]
	n, kvHeads, dv := c.In[1].Shape[0], c.In[1].Shape[1], c.In[2].Shape[2]
	group := heads / kvHeads

	// The queries of all heads that read one key head stand under each other.
	q := s.transpose(s.reshape(in[0], t, kvHeads, group, d), 1, 2, 0, 3)
	scores := s.bin("matmul", s.reshape(q, kvHeads, group*t, d), s.transpose(in[1], 1, 2, 0))
	scores = s.scale(s.reshape(scores, kvHeads, group, t, n), AttentionScale(c), 0)
	var hidden, seen Ref
	if c.Has(4) || c.Int("causal") == 1 {
		hidden = hiding(s, c, in)
		scores = s.bin("add", scores, s.scale(hidden, -1e30, 0)) // finite, since 0 times an infinity is none
	}
	if c.Has(3) {
		// A row of minus infinities would be NaN: of the greatest numbers it is a mean,
		// which is taken away where no key is seen.
		scores = s.bin("add", scores, s.un("clamp", in[3], RealAttr("min", -math.MaxFloat32), RealAttr("max", math.MaxFloat32)))
		out := s.un("step", s.scale(in[3], -1, -math.MaxFloat32))
		if c.Has(4) || c.Int("causal") == 1 {
			out = s.bin("add", out, hidden)
		}
		seen = s.un("reduce_max", s.scale(s.un("step", out), -1, 1)) // [t, 1]
	}
	weights := s.reshape(s.un("softmax", scores), kvHeads, group*t, n)
	y := s.reshape(s.bin("matmul", weights, s.transpose(in[2], 1, 0, 2)), kvHeads, group, t, dv)
	if c.Has(3) {
		y = s.bin("mul", y, seen)
	}
	return s.result(s.reshape(s.transpose(y, 2, 0, 1, 3), t, heads, dv))
}

// hiding is [t, n], more than 0 where positions hide a key from a query, else 0.
func hiding(s *chain, c *Call, in []Ref) Ref {
	t, n := c.In[0].Shape[0], c.In[1].Shape[0]
	var position Ref
	if c.Has(4) {
		position = s.un("cast", in[4], TextAttr("dtype", "f32"))
	} else {
		position = s.op("arange", nil, IntAttr("count", t), RealAttr("start", float64(n-t)))
	}
	ahead := s.bin("sub", s.op("arange", nil, IntAttr("count", n)), s.reshape(position, t, 1)) // i - p
	hidden := s.un("step", ahead)
	if w := c.Int("window"); w > 0 {
		hidden = s.bin("add", hidden, s.un("step", s.scale(ahead, -1, 1-float64(w)))) // 1 - w - (i - p) > 0
	}
	return hidden
}
