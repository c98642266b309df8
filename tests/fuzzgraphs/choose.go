package main

import (
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// How operators get their inputs: what is there, what can be made of it, or a new leaf.

var quantised32 = []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1, tensor.IQ4NL, tensor.MXFP4}

var quantised256 = []tensor.DType{tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K}

// dtype draws one of a class that a tensor of a shape can have.
func (g *generator) dtype(class ops.Class, f form) tensor.DType {
	row := int64(1)
	if len(f) > 0 {
		if s, ok := g.symbol(f[len(f)-1]); ok && s > 0 {
			row = s
		}
	}
	switch class {
	case ops.Activation:
		return tensor.F32
	case ops.Index:
		return []tensor.DType{tensor.I32, tensor.I64}[g.weighted(80, 20)]
	case ops.Weight:
		if row%256 == 0 && g.chance(40) {
			return pick(g, quantised256...)
		}
		if row%32 == 0 && g.chance(50) {
			return pick(g, quantised32...)
		}
	case ops.Any:
		if g.chance(25) {
			return pick(g, tensor.I8, tensor.I16, tensor.I32, tensor.I64)
		}
	case ops.Float:
	}
	return []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}[g.weighted(60, 22, 18)]
}

// some gives a tensor of a class with a rank in a range: one that is there, perhaps in
// another shape, or a new one.
func (g *generator) some(class ops.Class, minRank, maxRank int) (val, bool) {
	for range 4 {
		if len(g.vals) == 0 || g.chance(8) {
			break
		}
		// Of two, the later one: graphs grow deep.
		v := g.vals[max(g.r.IntN(len(g.vals)), g.r.IntN(len(g.vals)))]
		if !class.Accepts(v.dtype) {
			if v.dtype.Integer() || class != ops.Activation || !g.chance(40) {
				continue
			}
			var ok bool
			if v, ok = g.add("cast", []Ref{v.ref}, ops.TextAttr("dtype", "f32")); !ok {
				continue
			}
		}
		if n := len(v.form); n >= minRank && n <= maxRank {
			return v, true
		}
		if v, ok := g.ranked(v, minRank, maxRank); ok {
			return v, true
		}
	}
	f := g.form(minRank, maxRank)
	return g.leaf(g.dtype(class, f), f, "", "")
}

// ranked reshapes a tensor to a rank in a range.
func (g *generator) ranked(v val, minRank, maxRank int) (val, bool) {
	if v.dtype.Quantised() {
		return v, false
	}
	rank := minRank + g.r.IntN(maxRank-minRank+1)
	f := append(form{}, v.form...)
	for len(f) < rank { // a dimension is split, or one of 1 comes in
		at := g.r.IntN(len(f) + 1)
		if at < len(f) {
			if n, ok := g.symbol(f[at]); ok && n > 3 {
				for _, d := range []int64{2, 3, 4, 5} {
					if n%d == 0 && g.chance(60) {
						f = append(f[:at], append(form{g.constant(d), g.constant(n / d)}, f[at+1:]...)...)
						at = -1
						break
					}
				}
				if at < 0 {
					continue
				}
			}
		}
		f = append(f[:at:at], append(form{g.constant(1)}, f[at:]...)...)
	}
	for len(f) > rank { // two become one
		if rank == 0 {
			return v, false
		}
		at := g.r.IntN(len(f) - 1)
		joined := make(vec, len(f[at]))
		for i := range joined {
			joined[i] = f[at][i] * f[at+1][i]
		}
		f = append(f[:at:at], append(form{joined}, f[at+2:]...)...)
	}
	return g.reshape(v, f)
}

func (g *generator) reshape(v val, f form) (val, bool) {
	shape, open := make([]int64, len(f)), false
	for i, d := range f {
		s, ok := g.symbol(d)
		if !ok && open {
			return v, false
		}
		if !ok || !open && g.chance(20) {
			open, s = true, -1
		}
		shape[i] = s
	}
	return g.add("reshape", []Ref{v.ref}, ops.IntsAttr("shape", shape...))
}

// want gives a tensor of a class and exactly this shape.
func (g *generator) want(class ops.Class, f form) (val, bool) {
	if g.chance(60) {
		start := g.r.IntN(len(g.vals) + 1)
		for i := range g.vals {
			if v := g.vals[(start+i)%len(g.vals)]; class.Accepts(v.dtype) && v.form.equal(f) {
				return v, true
			}
		}
	}
	if g.chance(60) {
		if v, ok := g.adapted(class, f); ok {
			return v, true
		}
	}
	return g.leaf(g.dtype(class, f), f, "", "")
}

// adapted makes a tensor of a shape out of one that is there.
func (g *generator) adapted(class ops.Class, f form) (val, bool) {
	if len(g.vals) == 0 {
		return val{}, false
	}
	start := g.r.IntN(len(g.vals))
	for i := range len(g.vals) {
		v := g.vals[(start+i)%len(g.vals)]
		if !class.Accepts(v.dtype) || v.dtype.Quantised() {
			continue
		}
		if g.sameSize(v.form, f) && !v.form.equal(f) {
			return g.reshape(v, f)
		}
		if len(v.form) != len(f) || len(f) == 0 {
			continue
		}
		if w, ok := g.cutTo(v, f); ok {
			return w, true
		}
	}
	return val{}, false
}

// cutTo slices a tensor to a shape where one dimension alone is longer, or transposes it
// where two are exchanged.
func (g *generator) cutTo(v val, f form) (val, bool) {
	odd := -1
	for axis := range f {
		same := true
		for b := range f[axis] {
			if v.form[axis][b] < f[axis][b] {
				return v, false
			}
			same = same && v.form[axis][b] == f[axis][b]
		}
		if !same {
			if odd >= 0 {
				return v, false
			}
			odd = axis
		}
	}
	if odd < 0 {
		return v, false
	}
	n, ok := g.symbol(f[odd])
	if !ok {
		return v, false
	}
	attrs := []ops.AttrArg{ops.IntAttr("axis", int64(odd)), ops.IntAttr("end", n)}
	if _, dynamic := dimOf(n); !dynamic && g.chance(40) { // from the end, or backwards
		attrs = []ops.AttrArg{ops.IntAttr("axis", int64(odd)), ops.IntAttr("start", -n)}
		if g.chance(50) {
			attrs = []ops.AttrArg{ops.IntAttr("axis", int64(odd)), ops.IntAttr("start", -1), ops.IntAttr("end", -1-n), ops.IntAttr("step", -1)}
			if len(f[odd]) > 0 && v.form[odd][0] == n {
				return v, false
			}
		}
	}
	w, ok := g.add("slice", []Ref{v.ref}, attrs...)
	return w, ok && w.form.equal(f)
}

// index gives a tensor of indices with a shape: an input that may hold any, or what
// argmax and its like have found.
func (g *generator) index(f form, wide bool) (val, bool) {
	if g.chance(50) {
		start := g.r.IntN(len(g.vals) + 1)
		for i := range g.vals {
			v := g.vals[(start+i)%len(g.vals)]
			if (v.dtype == tensor.I32 || wide && v.dtype == tensor.I64) && v.form.equal(f) {
				return v, true
			}
		}
	}
	d := tensor.I32
	if wide && g.chance(20) {
		d = tensor.I64
	}
	return g.leaf(d, f, Input, Whole)
}

// broadcastable gives a tensor that stretches to a shape.
func (g *generator) broadcastable(f form) (val, bool) {
	to := append(form{}, f...)
	switch g.weighted(50, 20, 20, 10) {
	case 1:
		to = to[g.r.IntN(len(to)+1):]
	case 2:
		for i := range to {
			if g.chance(50) {
				to[i] = g.constant(1)
			}
		}
	case 3:
		to = form{}
	}
	return g.want(ops.Activation, to)
}

// axis is an axis of a rank, counted from either end.
func (g *generator) axis(rank int) int64 {
	a := g.r.Int64N(int64(rank))
	if g.chance(40) {
		a -= int64(rank)
	}
	return a
}

// maybe gives an optional input, or none.
func (g *generator) maybe(class ops.Class, f form, percent int) Ref {
	if g.chance(percent) {
		if v, ok := g.want(class, f); ok {
			return v.ref
		}
	}
	return Ref{noneRef, 0}
}

// trimmed leaves out optional inputs at the end that are not given.
func trimmed(in ...Ref) []Ref {
	for len(in) > 0 && in[len(in)-1].none() {
		in = in[:len(in)-1]
	}
	return in
}
