package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// vec is a length for each of a case's bindings: dimensions are the same only if they
// are with all values of the dynamic ones.
type vec []int64

// form is a shape for each of the bindings.
type form []vec

// val is a tensor that operators of the plan may take.
type val struct {
	ref   Ref
	dtype tensor.DType
	form  form
	value ops.Value // with the first binding, and the first content of the inputs
}

// generator makes one case from a seed.
type generator struct {
	r    *rand.Rand
	c    *Case
	wild bool // numbers may be NaN or infinite
	most int64
	// Threads that meet at a barrier spin, which is slow where others want the CPUs.
	threads int

	lengths  [][]int64        // by binding
	weights  *weights.Weights // declared only, for the graph's checks
	declared []bool
	leafVals []ops.Value

	// Of the plan in the making.
	plan   *Plan
	vals   []val
	graph  *graph.Graph
	number []int64 // the graph's of the dynamic dimensions and expressions
	refs   map[Ref]ops.Ref
}

// Generate makes the case of a seed. The same seed always gives the same case.
func Generate(seed uint64) *Case {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0xda3e39cb94b95bdb)), c: &Case{Seed: seed}, weights: weights.New()}
	defer g.weights.Release()
	g.wild = Wildly(seed)
	g.most = []int64{300, 1000, 4000, 60000}[g.weighted(40, 40, 18, 2)]
	if g.chance(2) {
		g.threads = 2 + g.r.IntN(2)
	}
	g.bindings()
	g.measure()
	for range []int{1, 2, 3, 5}[g.weighted(30, 40, 20, 10)] {
		g.onePlan()
	}
	g.steps()
	return g.c
}

// Wildly says whether the case of a seed has numbers that are NaN or infinite.
func Wildly(seed uint64) bool { return seed%8 == 0 }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// weighted gives an index, each as likely as its weight says.
func (g *generator) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := g.r.IntN(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

func pick[T any](g *generator, from ...T) T { return from[g.r.IntN(len(from))] }

// bindings makes the dynamic dimensions and the values that runs will give them.
func (g *generator) bindings() {
	for range []int{0, 1, 2}[g.weighted(50, 38, 12)] {
		low := 1 + g.r.Int64N(3)
		g.c.Dims = append(g.c.Dims, Dim{low, low + []int64{1, 4, 30, 100}[g.weighted(20, 50, 25, 5)]})
	}
	low, high := []int64{}, []int64{}
	for _, d := range g.c.Dims {
		low, high = append(low, d.Min), append(high, d.Max)
	}
	g.c.Bindings = [][]int64{low}
	if len(low) == 0 {
		return
	}
	g.c.Bindings = append(g.c.Bindings, high)
	for range g.r.IntN(4) {
		var b []int64
		for _, d := range g.c.Dims {
			b = append(b, d.Min+g.r.Int64N(d.Max-d.Min+1))
		}
		g.c.Bindings = append(g.c.Bindings, b)
	}
}

func (g *generator) constant(n int64) vec {
	v := make(vec, len(g.c.Bindings))
	for i := range v {
		v[i] = n
	}
	return v
}

// length is a new dimension.
func (g *generator) length() vec {
	if len(g.c.Dims) > 0 && g.chance(35) {
		return g.dynamic(g.r.IntN(len(g.c.Dims)))
	}
	return g.constant(g.small())
}

func (g *generator) dynamic(d int) vec {
	v := make(vec, len(g.c.Bindings))
	for i, b := range g.c.Bindings {
		v[i] = b[d]
	}
	return v
}

func (g *generator) small() int64 {
	switch g.weighted(18, 46, 20, 10, 4, 2) {
	case 0:
		return 1
	case 1:
		return 2 + g.r.Int64N(6)
	case 2:
		return pick[int64](g, 5, 7, 9, 11, 13, 15, 17)
	case 3:
		return pick[int64](g, 16, 31, 32, 33, 64)
	case 4:
		return pick[int64](g, 63, 65, 127, 128, 129)
	default:
		return pick[int64](g, 255, 256, 257, 512)
	}
}

// symbol is what stands for a dimension in a case: its length or a dynamic one's number.
func (g *generator) symbol(v vec) (int64, bool) {
	if slices.Equal(v, g.constant(v[0])) {
		return v[0], true
	}
	for d := range g.c.Dims {
		if slices.Equal(v, g.dynamic(d)) {
			return firstDim + int64(d), true
		}
	}
	for i := range g.c.Sums {
		if slices.Equal(v, g.each(func(lengths []int64) int64 { return lengths[maxDims+i] })) {
			return firstSum + int64(i), true
		}
	}
	for d := range g.c.Dims {
		if n, ok := g.linear(v, d); ok {
			return n, true
		}
		for e := range g.c.Dims[:d+1] {
			if slices.Equal(v, g.each(func(lengths []int64) int64 { return lengths[d] * lengths[e] })) {
				return g.sum(graph.DimMul, firstDim+int64(d), firstDim+int64(e))
			}
		}
	}
	return 0, false
}

// each gives a length that depends on the bindings'.
func (g *generator) each(f func(lengths []int64) int64) vec {
	v := make(vec, len(g.c.Bindings))
	for b := range v {
		v[b] = f(g.lengths[b])
	}
	return v
}

// linear finds a and b so that a length is a times a dynamic dimension plus b.
func (g *generator) linear(v vec, d int) (int64, bool) {
	of := g.dynamic(d)
	if of[0] == of[1] || (v[1]-v[0])%(of[1]-of[0]) != 0 {
		return 0, false
	}
	a := (v[1] - v[0]) / (of[1] - of[0])
	b := v[0] - a*of[0]
	if !slices.Equal(v, g.each(func(lengths []int64) int64 { return a*lengths[d] + b })) {
		return 0, false
	}
	n := firstDim + int64(d)
	switch {
	case a == -1:
		return g.sum(graph.DimSub, b, n)
	case a != 1:
		product, ok := g.sum(graph.DimMul, n, a)
		if !ok {
			return 0, false
		}
		n = product
	}
	switch {
	case b > 0:
		return g.sum(graph.DimAdd, n, b)
	case b < 0:
		return g.sum(graph.DimSub, n, -b)
	}
	return n, true
}

// sum adds an expression to the case, and to the graph in the making.
func (g *generator) sum(op graph.DimOp, a, b int64) (int64, bool) {
	if len(g.c.Sums) == maxSums {
		return 0, false
	}
	n, err := g.graph.DimOp(op, resolve([]int64{a}, g.number)[0], resolve([]int64{b}, g.number)[0])
	if err != nil {
		return 0, false
	}
	g.number = append(g.number, n)
	g.c.Sums = append(g.c.Sums, Sum{op, a, b})
	g.measure()
	return firstSum + int64(len(g.c.Sums)-1), true
}

// measure computes all lengths with each of the bindings.
func (g *generator) measure() {
	g.lengths = nil
	for b := range g.c.Bindings {
		g.lengths = append(g.lengths, g.c.lengths(b))
	}
}

func (g *generator) symbols(f form) ([]int64, bool) {
	out := make([]int64, len(f))
	for i, v := range f {
		var ok bool
		if out[i], ok = g.symbol(v); !ok {
			return nil, false
		}
	}
	return out, true
}

func (f form) at(binding int) tensor.Shape {
	s := make(tensor.Shape, len(f))
	for i, v := range f {
		s[i] = v[binding]
	}
	return s
}

func (f form) equal(o form) bool {
	return slices.EqualFunc(f, o, func(a, b vec) bool { return slices.Equal(a, b) })
}

func (f form) elements(binding int) int64 { return f.at(binding).Elements() }

func (g *generator) sameSize(a, b form) bool {
	for i := range g.c.Bindings {
		if a.elements(i) != b.elements(i) {
			return false
		}
	}
	return true
}

// form gives a new shape.
func (g *generator) form(minRank, maxRank int) form {
	rank := minRank + g.r.IntN(maxRank-minRank+1)
	for {
		f := make(form, rank)
		for i := range f {
			f[i] = g.length()
		}
		if g.fits(f) {
			return f
		}
		if rank > 1 && g.chance(50) {
			f[g.r.IntN(rank)] = g.constant(1)
			if g.fits(f) {
				return f
			}
		}
	}
}

func (g *generator) fits(f form) bool {
	for i := range g.c.Bindings {
		if f.elements(i) > g.most {
			return false
		}
	}
	return true
}

func (g *generator) onePlan() {
	g.c.Plans = append(g.c.Plans, Plan{})
	g.plan = &g.c.Plans[len(g.c.Plans)-1]
	g.vals, g.refs = nil, map[Ref]ops.Ref{}
	g.graph = graph.New("generated")
	defer g.graph.Release()
	var dims []int64
	for i, d := range g.c.Dims {
		n, err := g.graph.Dim(leafName(i), d.Min, d.Max)
		if err != nil {
			panic(err) // the ranges are made to be right
		}
		dims = append(dims, n)
	}
	used := make([]bool, maxDims+len(g.c.Sums))
	for i := range used {
		used[i] = true
	}
	var err error
	if g.number, err = g.c.numbers(g.graph, dims, used); err != nil {
		panic(err) // another graph had them, too
	}
	if g.chance(30) {
		g.plan.Capacity = 1 + g.r.IntN(2)
	}
	// What plans before have used is used again.
	for i := range g.c.Leaves {
		if g.chance(40) {
			g.enter(i)
		}
	}
	for range 1 + g.r.IntN(2) {
		g.leaf(tensor.F32, g.form(0, 4), "", "")
	}
	want := 3 + int(math.Pow(g.r.Float64(), 3)*37)
	names := ops.Names()
	for tries := 0; len(g.plan.Nodes) < want && tries < 12*want; tries++ {
		name := names[g.r.IntN(len(names))]
		if g.chance(25) { // views of views are where memory goes wrong
			name = pick(g, "slice", "transpose", "expand", "concat", "state_write", "add", "slice")
		}
		if op, err := ops.Lookup(name); err == nil {
			makers[name](g, op)
		}
	}
	g.outputs()
}

// enter makes a leaf of the case known to the plan.
func (g *generator) enter(i int) (val, bool) {
	if v, ok := g.known(leaf(i)); ok {
		return v, true
	}
	l := &g.c.Leaves[i]
	t := tensor.Type{DType: l.DType, Shape: resolve(l.Shape, g.number)}
	var ref ops.Ref
	var err error
	switch l.Kind {
	case Weight:
		if !g.declared[i] {
			if err = g.weights.Declare(leafName(i), t); err != nil {
				return val{}, false
			}
			g.declared[i] = true
		}
		ref, err = g.graph.Weight(g.weights, leafName(i))
	case State:
		ref, err = g.graph.State(leafName(i), t)
	case Input:
		ref, err = g.graph.Input(leafName(i), t)
	}
	if err != nil {
		return val{}, false
	}
	g.refs[leaf(i)] = ref
	f := make(form, len(l.Shape))
	for axis := range f {
		f[axis] = make(vec, len(g.c.Bindings))
		for b := range g.c.Bindings {
			f[axis][b] = resolve(l.Shape, g.lengths[b])[axis]
		}
	}
	v := val{ref: leaf(i), dtype: l.DType, form: f, value: g.leafVals[i]}
	g.vals = append(g.vals, v)
	return v, true
}

func (g *generator) known(r Ref) (val, bool) {
	for _, v := range g.vals {
		if v.ref == r {
			return v, true
		}
	}
	return val{}, false
}

// leaf adds a new leaf. With no kind or fill given, any that will do.
func (g *generator) leaf(d tensor.DType, f form, kind Kind, fill Fill) (val, bool) {
	shape, ok := g.symbols(f)
	if !ok || !g.fits(f) {
		return val{}, false
	}
	fixed := true
	for _, s := range shape {
		if _, dynamic := dimOf(s); dynamic {
			fixed = false
		}
	}
	if kind == "" {
		kind = []Kind{Input, Weight, State}[g.weighted(50, 32, 18)]
		if kind == State && d != tensor.F32 && d != tensor.F16 || kind == Weight && d.Integer() || !fixed {
			kind = Input
		}
		if d.Quantised() {
			kind = Weight
		}
	}
	if kind != Input && !fixed {
		return val{}, false
	}
	if fill == "" {
		fill = []Fill{Normal, Positive, Coarse}[g.weighted(70, 18, 12)]
		if d.Integer() {
			fill = Whole
		} else if g.wild && kind == Input && g.chance(30) {
			fill = Wild
		}
	}
	l := Leaf{Kind: kind, DType: d, Shape: shape, Fill: fill, Data: uint64(len(g.c.Leaves))}
	t := tensor.Type{DType: d, Shape: f.at(0)}
	if t.Check(false) != nil {
		return val{}, false
	}
	v, err := fill.values(t, uint64(len(g.c.Leaves)), 1, make([]byte, t.Bytes()))
	if err != nil {
		return val{}, false
	}
	g.c.Leaves = append(g.c.Leaves, l)
	g.declared = append(g.declared, false)
	g.leafVals = append(g.leafVals, v)
	return g.enter(len(g.c.Leaves) - 1)
}

// add puts an operator into the plan if it fits with every binding and gives no numbers
// that are too large to learn anything from.
func (g *generator) add(name string, in []Ref, attrs ...ops.AttrArg) (val, bool) {
	op, err := ops.Lookup(name)
	if err != nil || len(g.plan.Nodes) >= 40 {
		return val{}, false
	}
	var calls []*ops.Call
	types, values := make([]tensor.Type, len(in)), make([]ops.Value, len(in))
	for b := range g.c.Bindings {
		bound, err := op.Bind(resolveAttrs(attrs, g.lengths[b]))
		if err != nil {
			return val{}, false
		}
		for i, r := range in {
			types[i] = tensor.Type{}
			if v, ok := g.known(r); ok {
				types[i] = tensor.Type{DType: v.dtype, Shape: v.form.at(b)}
				values[i] = v.value
			} else if !r.none() {
				return val{}, false // a state that was written since
			}
		}
		c, err := op.NewCall(slices.Clone(types), bound)
		if err != nil || work(c) > 40*g.most+100000 || len(calls) > 0 && len(c.Out[0].Shape) != len(calls[0].Out[0].Shape) {
			return val{}, false
		}
		for _, t := range c.Out {
			if t.Shape.Elements() > 2*g.most {
				return val{}, false
			}
		}
		calls = append(calls, c)
	}
	out, err := evaluate(calls[0], values)
	if err != nil || !g.sensible(out) {
		return val{}, false
	}
	inRefs := make([]ops.Ref, len(in))
	for i, r := range in {
		inRefs[i] = ops.None
		if !r.none() {
			inRefs[i] = g.refs[r]
		}
	}
	made, err := g.graph.Op(name, inRefs, resolveAttrs(attrs, g.number), len(op.Outputs))
	if err != nil {
		return val{}, false
	}
	n := len(g.plan.Nodes)
	g.plan.Nodes = append(g.plan.Nodes, Node{name, slices.Clone(in), attrs})
	if op.Writes { // the state as it was is gone
		g.vals = slices.DeleteFunc(g.vals, func(v val) bool { return v.ref == in[0] })
	}
	var first val
	for i := range made {
		f := make(form, len(calls[0].Out[i].Shape))
		for axis := range f {
			f[axis] = make(vec, len(calls))
			for b, c := range calls {
				f[axis][b] = c.Out[i].Shape[axis]
			}
		}
		v := val{ref: Ref{n, i}, dtype: calls[0].Out[i].DType, form: f, value: out[i]}
		g.refs[v.ref] = made[i]
		g.vals = append(g.vals, v)
		if i == 0 {
			first = v
		}
	}
	return first, true
}

// work estimates what a call's reference kernel takes.
func work(c *ops.Call) int64 {
	n := int64(0)
	for _, t := range c.Out {
		n += t.Shape.Elements()
	}
	switch c.Op.Name {
	case "linear", "matmul":
		n *= c.In[0].Shape.Dim(-1)
	case "conv1d", "conv2d", "conv_transpose1d":
		n *= c.In[1].Shape.Elements() / c.In[1].Shape[0]
	case "attention":
		n *= 2 * c.In[1].Shape[0]
	case "lstm_cell":
		n *= 4 * (c.In[0].Shape[1] + c.In[1].Shape[1])
	}
	return n
}

// sensible keeps numbers so small that rounding them says something, and odd ones to
// where they are wanted.
func (g *generator) sensible(out []ops.Value) bool {
	for _, v := range out {
		for _, f := range v.F {
			if (math.IsNaN(f) || math.IsInf(f, 0)) && !g.wild {
				return false
			}
			if math.Abs(f) > 1e3 && !math.IsInf(f, 0) {
				return false
			}
		}
	}
	return true
}

// outputs chooses what the plan gives: results that nothing reads, and any others.
func (g *generator) outputs() {
	read := map[Ref]bool{}
	for _, n := range g.plan.Nodes {
		for _, r := range n.In {
			read[r] = true
		}
	}
	for _, v := range g.vals {
		switch {
		case v.dtype.Quantised():
		case !v.ref.leaf() && !read[v.ref] && g.chance(70), !v.ref.leaf() && g.chance(15), v.ref.leaf() && g.chance(5):
			g.plan.Outputs = append(g.plan.Outputs, v.ref)
		}
	}
	if n := len(g.plan.Outputs); n > 0 && g.chance(10) {
		g.plan.Outputs = append(g.plan.Outputs, g.plan.Outputs[g.r.IntN(n)])
	}
	for i := len(g.vals) - 1; i >= 0 && len(g.plan.Outputs) == 0; i-- {
		if v := g.vals[i]; !v.dtype.Quantised() {
			g.plan.Outputs = append(g.plan.Outputs, v.ref)
		}
	}
}

// steps makes what is done with the plans: each is run at least once.
func (g *generator) steps() {
	g.c.Plans = slices.DeleteFunc(g.c.Plans, func(p Plan) bool { return len(p.Outputs) == 0 })
	for i := range g.c.Plans {
		g.c.Steps = append(g.c.Steps, g.step(Run, i))
	}
	for range len(g.c.Plans) + g.r.IntN(2+2*len(g.c.Plans)) {
		if len(g.c.Plans) == 0 {
			return
		}
		do := []Action{Run, Call, Prepare, Reset, SetAll}[g.weighted(78, 10, 4, 3, 5)]
		at := g.r.IntN(len(g.c.Plans))
		g.c.Steps = append(g.c.Steps, g.step(do, at))
		if g.chance(15) {
			again := g.c.Steps[len(g.c.Steps)-1]
			g.c.Steps = append(g.c.Steps, again)
		}
	}
	g.r.Shuffle(len(g.c.Steps), func(i, j int) { g.c.Steps[i], g.c.Steps[j] = g.c.Steps[j], g.c.Steps[i] })
}

func (g *generator) step(do Action, plan int) Step {
	s := Step{Do: do, Plan: plan, Binding: g.r.IntN(len(g.c.Bindings)), Data: g.r.Uint64() >> 8, Node: g.r.IntN(40)}
	if g.chance(30) {
		s.Keep = g.r.Uint64()
	}
	if g.chance(20) {
		s.Unwanted = g.r.Uint64()
	}
	if g.threads > 0 && g.chance(50) {
		s.Threads = g.threads
	}
	return s
}
