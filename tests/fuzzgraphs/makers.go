package main

import (
	"math"
	"slices"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// makers add one use of an operator each. To have a new operator in the search, add it
// here: TestEveryOperatorHasAMaker fails until then. Most need only [simple], which
// fills the inputs that the table describes with tensors of any shape.
var makers map[string]func(g *generator, op *ops.Op)

func init() {
	makers = map[string]func(g *generator, op *ops.Op){
		"clamp": attributed(func(g *generator) []ops.AttrArg {
			low := g.r.NormFloat64()
			return []ops.AttrArg{ops.RealAttr("min", low), ops.RealAttr("max", low+pick(g, 0, 1, 3, math.MaxFloat32))}
		}),
		"scale": attributed(func(g *generator) []ops.AttrArg {
			return g.some2(ops.RealAttr("scale", pick(g, 0, 1, -1, 0.5, g.r.NormFloat64())), ops.RealAttr("bias", pick(g, 0, 1, g.r.NormFloat64())))
		}),
		"leaky_relu": attributed(func(g *generator) []ops.AttrArg {
			return g.some2(ops.RealAttr("negative_slope", pick(g, 0, 0.1, 1, -0.5, 2)))
		}),
		"elu": attributed(func(g *generator) []ops.AttrArg { return g.some2(ops.RealAttr("alpha", pick(g, 1, 0.5, 2))) }),
		"gelu": attributed(func(g *generator) []ops.AttrArg {
			return g.some2(ops.TextAttr("approximate", pick(g, "none", "tanh")))
		}),
		"softmax": alongAxis, "log_softmax": alongAxis, "cumsum": alongAxis, "argmax": alongAxis, "glu": alongAxis,
		"reduce_sum": reduced, "reduce_mean": reduced, "reduce_max": reduced,
		"swiglu": func(g *generator, op *ops.Op) {
			if x, ok := g.some(ops.Activation, 0, 4); ok {
				if y, ok := g.want(ops.Activation, x.form); ok {
					g.add(op.Name, g.either(x.ref, y.ref))
				}
			}
		},
		"where": func(g *generator, op *ops.Op) {
			x, ok := g.some(ops.Activation, 0, 4)
			a, ok1 := g.broadcastable(x.form)
			b, ok2 := g.broadcastable(x.form)
			if !ok || !ok1 || !ok2 {
				return
			}
			in := []Ref{x.ref, a.ref, b.ref}
			g.r.Shuffle(3, func(i, j int) { in[i], in[j] = in[j], in[i] })
			if g.chance(60) {
				if c, ok := g.add("step", in[:1]); ok {
					in[0] = c.ref
				}
			}
			g.add(op.Name, in)
		},
		"expand": expanded, "reshape": reshaped, "transpose": transposed, "slice": sliced, "concat": joined, "pad": padded, "cast": castTo,
		"arange": func(g *generator, op *ops.Op) {
			if n, ok := g.symbol(g.length()); ok {
				g.add(op.Name, nil, append(g.some2(ops.RealAttr("start", pick(g, 0, 1, -2.5)), ops.RealAttr("step", pick(g, 1, -1, 0.25))), ops.IntAttr("count", n))...)
			}
		},
		"top_k": func(g *generator, op *ops.Op) {
			if x, ok := g.some(ops.Activation, 1, 4); ok {
				g.add(op.Name, []Ref{x.ref}, ops.IntAttr("k", 1+g.r.Int64N(g.least(x.form[len(x.form)-1]))))
			}
		},
		"embedding": embedded, "rope": roped, "attention": attended, "state_write": written,
		"linear": multiplied, "matmul": matrices, "lstm_cell": stepped,
		"rms_norm": rowNorm, "layer_norm": rowNorm, "group_norm": groupNorm,
		"conv1d": convolved, "conv2d": convolved, "conv_transpose1d": transposedConv,
		"snake": func(g *generator, op *ops.Op) {
			x, ok := g.some(ops.Activation, 3, 3)
			if !ok {
				return
			}
			// Of a larger angle devices with angles in f32 have nothing to say.
			if x, ok = g.add("clamp", []Ref{x.ref}, ops.RealAttr("min", -300), ops.RealAttr("max", 300)); !ok {
				return
			}
			a, ok := g.leaf(tensor.F32, form{x.form[1]}, "", pick(g, Normal, Positive))
			b, ok2 := g.leaf(tensor.F32, form{x.form[1]}, Input, Positive)
			if ok && ok2 {
				g.add(op.Name, []Ref{x.ref, a.ref, b.ref})
			}
		},
		"depth_to_space": func(g *generator, op *ops.Op) {
			block := 1 + g.r.Int64N(3)
			f := g.form(4, 4)
			f[1] = g.constant(block * block * (1 + g.r.Int64N(3)))
			if x, ok := g.want(ops.Activation, f); ok {
				g.add(op.Name, []Ref{x.ref}, append(g.some2(ops.TextAttr("mode", pick(g, "CRD", "DCR"))), ops.IntAttr("block", block))...)
			}
		},
		"upsample": func(g *generator, op *ops.Op) {
			if x, ok := g.some(ops.Activation, 4, 4); ok {
				scale := []int64{1 + g.r.Int64N(4)}
				if g.chance(40) {
					scale = append(scale, 1+g.r.Int64N(3))
				}
				g.add(op.Name, []Ref{x.ref}, ops.IntsAttr("scale", scale...))
			}
		},
	}
	for _, name := range []string{
		"relu", "sigmoid", "tanh", "silu", "exp", "log", "sqrt", "abs", "neg", "square", "sin", "cos", "step", "softplus",
	} {
		makers[name] = attributed(func(*generator) []ops.AttrArg { return nil })
	}
	for _, name := range []string{"add", "sub", "mul", "div", "maximum", "minimum"} {
		makers[name] = paired
	}
}

// some2 leaves out some of the attributes, which have defaults.
func (g *generator) some2(attrs ...ops.AttrArg) []ops.AttrArg {
	var out []ops.AttrArg
	for _, a := range attrs {
		if g.chance(70) {
			out = append(out, a)
		}
	}
	return out
}

func (g *generator) either(a, b Ref) []Ref {
	if g.chance(50) {
		return []Ref{b, a}
	}
	return []Ref{a, b}
}

func (g *generator) least(v vec) int64 {
	n := v[0]
	for _, d := range v {
		n = min(n, d)
	}
	return n
}

// attributed makes operators on one tensor of any shape.
func attributed(attrs func(*generator) []ops.AttrArg) func(*generator, *ops.Op) {
	return func(g *generator, op *ops.Op) {
		x, ok := g.some(op.Inputs[0].DTypes, op.Inputs[0].MinRank, 4)
		if !ok {
			return
		}
		if (op.Name == "log" || op.Name == "sqrt") && g.chance(80) {
			if x, ok = g.add(pick(g, "abs", "exp", "square", "softplus"), []Ref{x.ref}); !ok {
				return
			}
		}
		g.add(op.Name, []Ref{x.ref}, attrs(g)...)
	}
}

func alongAxis(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 1, 4)
	if !ok {
		return
	}
	axis := g.axis(len(x.form))
	if g.chance(50) {
		g.add(op.Name, []Ref{x.ref})
	} else {
		g.add(op.Name, []Ref{x.ref}, ops.IntAttr("axis", axis))
	}
}

func reduced(g *generator, op *ops.Op) {
	if x, ok := g.some(ops.Activation, 1, 4); ok {
		g.add(op.Name, []Ref{x.ref}, g.some2(ops.IntAttr("axis", g.axis(len(x.form))), ops.IntAttr("keepdims", g.r.Int64N(2)))...)
	}
}

func paired(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 0, 4)
	if !ok {
		return
	}
	y, ok := g.broadcastable(x.form)
	if !ok {
		return
	}
	if op.Name == "div" && g.chance(70) { // by what is not near 0
		if y, ok = g.add("exp", []Ref{y.ref}); !ok {
			return
		}
		g.add(op.Name, []Ref{x.ref, y.ref})
		return
	}
	g.add(op.Name, g.either(x.ref, y.ref))
}

func expanded(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 0, 4)
	if !ok {
		return
	}
	one := g.constant(1)
	to := append(form{}, x.form...)
	for i := range to {
		if to[i][0] == 1 && (form{to[i]}).equal(form{one}) && g.chance(60) {
			to[i] = g.length()
		}
	}
	for len(to) < 4 && g.chance(40) {
		to = append(form{g.length()}, to...)
	}
	if shape, ok := g.symbols(to); ok {
		g.add(op.Name, []Ref{x.ref}, ops.IntsAttr("shape", shape...))
	}
}

func reshaped(g *generator, _ *ops.Op) {
	if x, ok := g.some(ops.Any, 0, 4); ok {
		if g.chance(30) {
			g.reshape(x, x.form)
			return
		}
		g.ranked(x, 1, 4)
	}
}

func transposed(g *generator, op *ops.Op) {
	if x, ok := g.some(ops.Any, 1, 4); ok {
		axes := make([]int64, len(x.form))
		for i, a := range g.r.Perm(len(axes)) {
			axes[i] = int64(a)
			if g.chance(20) {
				axes[i] -= int64(len(axes))
			}
		}
		g.add(op.Name, []Ref{x.ref}, ops.IntsAttr("axes", axes...))
	}
}

func sliced(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Any, 1, 4)
	if !ok {
		return
	}
	axis := g.axis(len(x.form))
	n := g.least(x.form[(axis+int64(len(x.form)))%int64(len(x.form))])
	for range 3 {
		attrs := []ops.AttrArg{ops.IntAttr("axis", axis)}
		step := pick[int64](g, 1, 1, 1, 2, 3, -1, -1, -2)
		if g.chance(80) {
			attrs = append(attrs, ops.IntAttr("start", g.r.Int64N(2*n)-n))
		}
		if g.chance(60) {
			attrs = append(attrs, ops.IntAttr("end", g.r.Int64N(2*n+2)-n-1))
		} else if step < 0 {
			attrs = append(attrs, ops.IntAttr("end", math.MinInt32))
		}
		if step != 1 {
			attrs = append(attrs, ops.IntAttr("step", step))
		}
		if _, ok := g.add(op.Name, []Ref{x.ref}, attrs...); ok {
			return
		}
	}
}

func joined(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Any, 1, 4)
	if !ok || x.dtype.Quantised() {
		return
	}
	axis := g.r.IntN(len(x.form))
	in := []Ref{x.ref}
	for range g.r.IntN(4) {
		if g.chance(20) {
			in = append(in, in[g.r.IntN(len(in))])
			continue
		}
		f := append(form{}, x.form...)
		if g.chance(60) {
			f[axis] = g.length()
		}
		if v, ok := g.want(ops.Any, f); ok && v.dtype == x.dtype {
			in = append(in, v.ref)
		} else if v, ok := g.leaf(x.dtype, f, "", ""); ok {
			in = append(in, v.ref)
		}
	}
	g.r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	g.add(op.Name, in, ops.IntAttr("axis", int64(axis)))
}

func padded(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 1, 4)
	if !ok {
		return
	}
	pads := make([]int64, 2*len(x.form))
	mode := pick(g, "constant", "reflect")
	for i := range pads {
		most := int64(3)
		if mode == "reflect" {
			most = min(most, g.least(x.form[i%len(x.form)])-1)
		}
		if g.chance(50) {
			pads[i] = g.r.Int64N(most + 1)
		}
	}
	g.add(op.Name, []Ref{x.ref}, append(g.some2(ops.RealAttr("value", pick(g, 0, 1.5, -1))), ops.TextAttr("mode", mode), ops.IntsAttr("pads", pads...))...)
}

func castTo(g *generator, op *ops.Op) {
	if x, ok := g.some(ops.Any, 0, 4); ok {
		g.add(op.Name, []Ref{x.ref}, ops.TextAttr("dtype", pick(g, "f32", "f32", "f16", "bf16", "i8", "i16", "i32", "i64")))
	}
}

func embedded(g *generator, op *ops.Op) {
	w, ok := g.some(ops.Weight, 2, 2)
	if ok && g.chance(30) {
		f := form{g.constant(g.small()), g.constant(pick[int64](g, 32, 64, 256))}
		w, ok = g.quantised(f)
	}
	if !ok {
		return
	}
	f := g.form(0, 3)
	if !g.fits(append(append(form{}, f...), w.form[1])) {
		return
	}
	if ids, ok := g.index(f, true); ok {
		g.add(op.Name, []Ref{w.ref, ids.ref})
	}
}

func roped(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 3, 3)
	if !ok {
		return
	}
	positions, ok := g.leaf(tensor.I32, form{x.form[0]}, Input, Positions)
	if ok {
		dims := 2 * (1 + g.r.Int64N(max(g.least(x.form[2])/2, 1)))
		g.add(op.Name, []Ref{x.ref, positions.ref}, g.some2(ops.TextAttr("mode", pick(g, "half", "interleaved")),
			ops.RealAttr("base", pick(g, 10000, 1e6, 100)), ops.IntAttr("dims", dims), ops.RealAttr("scale", pick(g, 1, 0.25)))...)
	}
}

func attended(g *generator, op *ops.Op) {
	d := g.constant(pick[int64](g, 1, 2, 3, 4, 8, 16, 32, 33, 64))
	kvHeads := g.constant(pick[int64](g, 1, 1, 2, 3))
	heads := g.constant(kvHeads[0] * pick[int64](g, 1, 2, 4))
	dv := d
	if g.chance(20) {
		dv = g.constant(pick[int64](g, 1, 2, 5, 8, 16))
	}
	t, n := g.length(), g.length()
	if g.chance(30) {
		n = t
	}
	q, ok := g.want(ops.Activation, form{t, heads, d})
	k, ok1 := g.want(ops.Float, form{n, kvHeads, d})
	v, ok2 := g.want(ops.Float, form{n, kvHeads, dv})
	if !ok || !ok1 || !ok2 {
		return
	}
	mask, positions := Ref{noneRef, 0}, Ref{noneRef, 0}
	var attrs []ops.AttrArg
	switch g.weighted(30, 25, 25, 20) {
	case 1:
		fill := pick(g, Normal, Masking)
		if m, ok := g.leaf(tensor.F32, form{t, n}, "", fill); ok {
			mask = m.ref
		}
	case 2:
		attrs = append(attrs, ops.IntAttr("causal", 1))
	case 3:
		if p, ok := g.leaf(tensor.I32, form{t}, Input, Whole); ok {
			positions = p.ref
		}
	}
	if (len(attrs) > 0 || !positions.none()) && g.chance(40) {
		attrs = append(attrs, ops.IntAttr("window", 1+g.r.Int64N(6)))
	}
	if g.chance(30) {
		attrs = append(attrs, ops.RealAttr("scale", pick(g, 0.5, 1)))
	}
	g.add(op.Name, trimmed(q.ref, k.ref, v.ref, mask, positions), attrs...)
}

// written replaces rows of a state, or all of it, with what may be computed of it.
func written(g *generator, op *ops.Op) {
	var states []val
	for _, v := range g.vals {
		if g.isState(v.ref) {
			states = append(states, v)
		}
	}
	var s val
	if len(states) > 0 && g.chance(75) {
		s = pick(g, states...)
	} else {
		f := g.form(0, 4)
		for i := range f {
			f[i] = g.constant(g.least(f[i]))
		}
		var ok bool
		if s, ok = g.leaf(pick(g, tensor.F32, tensor.F16), f, State, ""); !ok {
			return
		}
	}
	if len(s.form) == 0 || g.chance(35) {
		if v, ok := g.want(ops.Activation, s.form); ok {
			g.add(op.Name, []Ref{s.ref, v.ref})
		}
		return
	}
	rows := append(form{g.length()}, s.form[1:]...)
	for i := range rows[0] {
		if rows[0][i] > s.form[0][0] {
			rows[0] = g.constant(1 + g.r.Int64N(s.form[0][0]))
			break
		}
	}
	values, ok := g.want(ops.Activation, rows)
	// Rows that are named twice may end as either, so none is.
	positions, ok2 := g.leaf(pick(g, tensor.I32, tensor.I32, tensor.I64), form{rows[0]}, Input, Distinct)
	if ok && ok2 {
		g.add(op.Name, []Ref{s.ref, values.ref, positions.ref})
	}
}

// isState says whether a tensor is a state as it is now.
func (g *generator) isState(r Ref) bool {
	if r.leaf() {
		return g.c.Leaves[r.Index].Kind == State
	}
	return g.plan.Nodes[r.Node].Op == "state_write"
}

func multiplied(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 1, 4)
	if ok && g.chance(30) { // rows that quantised weights take
		f := g.form(0, 2)
		f = append(f, g.constant(pick[int64](g, 32, 64, 96, 256, 512)))
		x, ok = g.leaf(tensor.F32, f, "", "")
	}
	if !ok {
		return
	}
	f := form{g.length(), x.form[len(x.form)-1]}
	w, ok := g.quantised(f)
	if !ok {
		w, ok = g.want(ops.Weight, f)
	}
	if ok {
		g.add(op.Name, trimmed(x.ref, w.ref, g.maybe(ops.Activation, form{f[0]}, 50)))
	}
}

// quantised gives a quantised weight of a shape, often where rows can be so.
func (g *generator) quantised(f form) (val, bool) {
	row, ok := g.symbol(f[len(f)-1])
	if !ok || row < 32 || row%32 != 0 || g.chance(30) {
		return val{}, false
	}
	of := quantised32
	if row%256 == 0 {
		of = slices.Concat(of, quantised256)
	}
	return g.leaf(pick(g, of...), f, Weight, "")
}

func matrices(g *generator, op *ops.Op) {
	a, ok := g.some(ops.Activation, 2, 4)
	if !ok {
		return
	}
	n := len(a.form)
	f := append(append(form{}, a.form[:n-2]...), a.form[n-1], g.length())
	switch g.weighted(50, 25, 25) {
	case 1:
		f = f[len(f)-2:]
	case 2:
		for i := range len(f) - 2 {
			if g.chance(50) {
				f[i] = g.constant(1)
			}
		}
	}
	if b, ok := g.want(ops.Float, f); ok {
		g.add(op.Name, []Ref{a.ref, b.ref})
	}
}

func stepped(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 2, 2)
	if !ok {
		return
	}
	hidden := pick[int64](g, 1, 2, 3, 5, 8, 16, 32)
	state, gates := form{x.form[0], g.constant(hidden)}, g.constant(4*hidden)
	h, ok := g.want(ops.Activation, state)
	c, ok1 := g.want(ops.Activation, state)
	wi, ok2 := g.want(ops.Weight, form{gates, x.form[1]})
	wh, ok3 := g.want(ops.Weight, form{gates, state[1]})
	if ok && ok1 && ok2 && ok3 {
		bias := form{gates}
		g.add(op.Name, trimmed(x.ref, h.ref, c.ref, wi.ref, wh.ref, g.maybe(ops.Activation, bias, 60), g.maybe(ops.Activation, bias, 60)))
	}
}

func rowNorm(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 1, 4)
	if !ok {
		return
	}
	row := form{x.form[len(x.form)-1]}
	in := []Ref{x.ref, g.maybe(ops.Activation, row, 50)}
	if len(op.Inputs) > 2 {
		in = append(in, g.maybe(ops.Activation, row, 50))
	}
	g.add(op.Name, trimmed(in...), g.some2(ops.RealAttr("eps", pick(g, 1e-5, 1e-6, 1e-3)))...)
}

func groupNorm(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 2, 4)
	if !ok {
		return
	}
	n := g.least(x.form[1])
	groups := pick[int64](g, 1, 2, 3, 4, n)
	channels := form{x.form[1]}
	in := trimmed(x.ref, g.maybe(ops.Activation, channels, 50), g.maybe(ops.Activation, channels, 50))
	g.add(op.Name, in, append(g.some2(ops.RealAttr("eps", 1e-3)), ops.IntAttr("groups", groups))...)
}

// channels gives the groups of a convolution over a tensor, and what a group reads.
func (g *generator) channels(x val) (groups, each int64, ok bool) {
	n, ok := g.symbol(x.form[1])
	if _, dynamic := dimOf(n); !ok || dynamic {
		return 0, 0, false
	}
	groups = pick[int64](g, 1, 1, 1, 2, 3, n)
	if n%groups != 0 {
		groups = 1
	}
	return groups, n / groups, true
}

func convolved(g *generator, op *ops.Op) {
	spatial := 1
	if op.Name == "conv2d" {
		spatial = 2
	}
	x, ok := g.some(ops.Activation, 2+spatial, 2+spatial)
	if !ok {
		return
	}
	groups, each, ok := g.channels(x)
	if !ok {
		return
	}
	out := groups * (1 + g.r.Int64N(max(1, min(16, 16/groups))))
	f := form{g.constant(out), g.constant(each)}
	for range spatial {
		f = append(f, g.constant(pick[int64](g, 1, 2, 3, 3, 5, 7)))
	}
	w, ok := g.want(ops.Float, f)
	if !ok {
		return
	}
	in := trimmed(x.ref, w.ref, g.maybe(ops.Activation, form{f[0]}, 50))
	for range 3 {
		attrs := []ops.AttrArg{ops.IntAttr("groups", groups)}
		if spatial == 1 {
			attrs = append(attrs, g.some2(ops.IntAttr("stride", 1+g.r.Int64N(3)), ops.IntAttr("dilation", 1+g.r.Int64N(3)),
				ops.IntsAttr("padding", g.several(5, 1, 2)...))...)
		} else {
			attrs = append(attrs, g.some2(ops.IntsAttr("stride", g.atLeast1(3, 1, 2)...), ops.IntsAttr("dilation", g.atLeast1(3, 1, 2)...),
				ops.IntsAttr("padding", g.several(4, 1, 2, 4)...))...)
		}
		if _, ok := g.add(op.Name, in, attrs...); ok {
			return
		}
	}
}

// several gives numbers below a bound, as many as one of the counts.
func (g *generator) several(below int64, counts ...int) []int64 {
	v := make([]int64, pick(g, counts...))
	for i := range v {
		v[i] = g.r.Int64N(below)
	}
	return v
}

func (g *generator) atLeast1(below int64, counts ...int) []int64 {
	v := g.several(below, counts...)
	for i := range v {
		v[i]++
	}
	return v
}

func transposedConv(g *generator, op *ops.Op) {
	x, ok := g.some(ops.Activation, 3, 3)
	if !ok {
		return
	}
	groups, _, ok := g.channels(x)
	if !ok {
		return
	}
	each := 1 + g.r.Int64N(max(1, min(8, 8/groups)))
	w, ok := g.want(ops.Float, form{x.form[1], g.constant(each), g.constant(pick[int64](g, 1, 2, 3, 4, 7, 10))})
	if !ok {
		return
	}
	in := trimmed(x.ref, w.ref, g.maybe(ops.Activation, form{g.constant(each * groups)}, 50))
	for range 3 {
		attrs := append(g.some2(ops.IntAttr("stride", 1+g.r.Int64N(5)), ops.IntAttr("dilation", 1+g.r.Int64N(3)),
			ops.IntsAttr("padding", g.several(4, 1, 2)...), ops.IntAttr("output_padding", g.r.Int64N(3))), ops.IntAttr("groups", groups))
		if _, ok := g.add(op.Name, in, attrs...); ok {
			return
		}
	}
}
