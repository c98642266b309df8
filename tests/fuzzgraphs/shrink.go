package main

import (
	"slices"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// Shrinking tries smaller cases as long as one fails in the same way.

// shrinker makes a failing case smaller. try gives the failure of a case, nil for none.
type shrinker struct {
	try   func(*Case) *Failure
	best  *Case
	found *Failure
	left  int // tries
}

// shrink gives the smallest case found that fails as the first one does, with its failure.
func shrink(c *Case, f *Failure, tries int, try func(*Case) *Failure) (*Case, *Failure) {
	s := &shrinker{try: try, best: c.clone(), found: f, left: tries}
	for before := 1 << 62; s.left > 0 && s.weight() < before; {
		before = s.weight()
		s.steps()
		s.plans()
		s.outputs()
		s.nodes()
		s.attributes()
		s.dims()
		s.lengths()
		s.leaves()
	}
	return s.best, s.found
}

// weight orders cases by size, then by how much they hold.
func (s *shrinker) weight() int { return weight(s.best) }

func weight(c *Case) int {
	w := c.size() << 24
	for _, l := range c.Leaves {
		n := int64(1)
		for _, d := range l.Shape {
			if d > 0 {
				n *= d
			}
		}
		w += int(min(n, 1<<16))
		if l.Kind != Input {
			w++
		}
		if l.DType != tensor.F32 {
			w++
		}
	}
	return w
}

// keep takes a candidate if it fails likewise.
func (s *shrinker) keep(change func(c *Case) bool) bool {
	if s.left <= 0 {
		return false
	}
	c := s.best.clone()
	if !change(c) {
		return false
	}
	tidy(c)
	if weight(c) >= weight(s.best) || !valid(c) {
		return false
	}
	s.left--
	f := s.try(c)
	if f == nil || f.Kind != s.found.Kind {
		return false
	}
	s.best, s.found = c, f
	return true
}

// valid says whether the plans of a case can be made at all: a failure to make them is
// not what is looked for.
func valid(c *Case) bool {
	for i := range c.Plans {
		if len(c.Plans[i].Outputs) == 0 {
			return false
		}
	}
	values := make([]ops.Value, len(c.Leaves))
	w, err := makeWeights(c, values)
	if err != nil {
		return false
	}
	defer w.Release()
	for i := range c.Plans {
		m, err := makeGraph(c, &c.Plans[i], w, true, "")
		if err != nil {
			return false
		}
		for b := range c.Bindings {
			if _, err = m.graph.Bind(m.bound(c, b), func(*ops.Call) bool { return true }); err != nil {
				break
			}
		}
		m.graph.Release()
		if err != nil {
			return false
		}
		if m, err = makeGraph(c, &c.Plans[i], w, false, ""); err != nil {
			return false
		}
		m.graph.Release()
	}
	return true
}

// tidy drops leaves, nodes and dimensions that nothing uses.
func tidy(c *Case) {
	for i := range c.Plans {
		dropDeadNodes(&c.Plans[i])
	}
	for len(c.Sums) > 0 { // the last ones; others before would change numbers
		used := false
		for i := range c.Plans {
			_, of := c.dims(&c.Plans[i])
			used = used || of[maxDims+len(c.Sums)-1]
		}
		if used {
			break
		}
		c.Sums = c.Sums[:len(c.Sums)-1]
	}
	used := make([]bool, len(c.Leaves))
	for i := range c.Plans {
		c.Plans[i].refs(func(r *Ref) {
			if r.leaf() {
				used[r.Index] = true
			}
		})
	}
	renumber, n := make([]int, len(c.Leaves)), 0
	var kept []Leaf
	for i, u := range used {
		if renumber[i] = n; u {
			kept = append(kept, c.Leaves[i])
			n++
		}
	}
	c.Leaves = kept
	for i := range c.Plans {
		c.Plans[i].refs(func(r *Ref) {
			if r.leaf() {
				r.Index = renumber[r.Index]
			}
		})
	}
}

// dropDeadNodes drops nodes that no output or state needs.
func dropDeadNodes(p *Plan) {
	for i := range slices.Backward(p.Nodes) {
		needed := false
		p.refs(func(r *Ref) { needed = needed || r.Node == i })
		if op, err := ops.Lookup(p.Nodes[i].Op); !needed && (err != nil || !op.Writes) {
			dropNode(p, i)
		}
	}
}

// dropNode drops a node that nothing refers to.
func dropNode(p *Plan, at int) {
	p.Nodes = slices.Delete(p.Nodes, at, at+1)
	p.refs(func(r *Ref) {
		if r.Node > at {
			r.Node--
		}
	})
}

func (s *shrinker) steps() {
	for size := len(s.best.Steps) / 2; size >= 1; size /= 2 {
		for i := len(s.best.Steps) - size; i >= 0; i -= size {
			s.keep(func(c *Case) bool {
				if i+size > len(c.Steps) {
					return false
				}
				c.Steps = slices.Delete(c.Steps, i, i+size)
				return true
			})
		}
	}
	for i := range s.best.Steps {
		for _, change := range []func(*Step){
			func(t *Step) { t.Keep = 0 }, func(t *Step) { t.Unwanted = 0 }, func(t *Step) { t.Threads = 0 }, func(t *Step) { t.Binding = 0 },
			func(t *Step) { t.Data = 1 },
			func(t *Step) {
				if t.Do == Reset || t.Do == SetAll {
					t.Plan = 0
				}
			},
		} {
			s.simplify(func(c *Case) bool {
				before := c.Steps[i]
				change(&c.Steps[i])
				return c.Steps[i] != before
			})
		}
	}
}

// simplify takes a candidate that is no smaller but plainer, if it fails likewise.
func (s *shrinker) simplify(change func(c *Case) bool) {
	if s.left <= 0 {
		return
	}
	c := s.best.clone()
	if !change(c) || !valid(c) {
		return
	}
	s.left--
	if f := s.try(c); f != nil && f.Kind == s.found.Kind {
		s.best, s.found = c, f
	}
}

func (s *shrinker) plans() {
	for i := len(s.best.Plans) - 1; i >= 0 && len(s.best.Plans) > 1; i-- {
		s.keep(func(c *Case) bool {
			c.Plans = slices.Delete(c.Plans, i, i+1)
			c.Steps = slices.DeleteFunc(c.Steps, func(t Step) bool { return t.Plan == i })
			for k := range c.Steps {
				if c.Steps[k].Plan > i {
					c.Steps[k].Plan--
				}
			}
			return true
		})
	}
	for i := range s.best.Plans {
		s.simplify(func(c *Case) bool {
			had := c.Plans[i].Capacity
			c.Plans[i].Capacity = 0
			return had != 0
		})
	}
}

func (s *shrinker) outputs() {
	for p := range s.best.Plans {
		for size := len(s.best.Plans[p].Outputs) / 2; size >= 1; size /= 2 {
			for i := len(s.best.Plans[p].Outputs) - size; i >= 0; i -= size {
				s.keep(func(c *Case) bool {
					o := &c.Plans[p].Outputs
					if i+size > len(*o) || len(*o) == size {
						return false
					}
					*o = slices.Delete(*o, i, i+size)
					return true
				})
			}
		}
	}
}

// nodes takes nodes out: what they give becomes an input, or what they take.
func (s *shrinker) nodes() {
	for p := range s.best.Plans {
		for i := range slices.Backward(s.best.Plans[p].Nodes) {
			if i >= len(s.best.Plans[p].Nodes) {
				continue
			}
			if s.keep(func(c *Case) bool { return dropWriting(&c.Plans[p], i) }) {
				continue
			}
			if s.keep(func(c *Case) bool { return cut(c, &c.Plans[p], i) }) {
				continue
			}
			for k := range s.best.Plans[p].Nodes[i].In {
				if s.keep(func(c *Case) bool { return bypass(&c.Plans[p], i, k) }) {
					break
				}
			}
		}
		for i := range s.best.Plans[p].Nodes {
			for k := range slices.Backward(s.best.Plans[p].Nodes[i].In) { // inputs that may be left out
				s.keep(func(c *Case) bool {
					in := &c.Plans[p].Nodes[i].In
					if k >= len(*in) {
						return false
					}
					*in = slices.Delete(*in, k, k+1)
					return true
				})
			}
		}
	}
}

// dropWriting has a state stay as it is.
func dropWriting(p *Plan, i int) bool {
	if op, err := ops.Lookup(p.Nodes[i].Op); err != nil || !op.Writes {
		return false
	}
	return bypass(p, i, 0)
}

// bypass has all that read a node's result read its input k.
func bypass(p *Plan, i, k int) bool {
	from := p.Nodes[i].In[k]
	if from.none() {
		return false
	}
	p.refs(func(r *Ref) {
		if r.Node == i {
			*r = from
		}
	})
	p.Nodes[i].In = nil
	dropNode(p, i)
	return true
}

// cut makes inputs of what a node gives.
func cut(c *Case, p *Plan, i int) bool {
	forms, err := resultTypes(c, p, i)
	if err != nil {
		return false
	}
	at := map[int]int{}
	p.refs(func(r *Ref) {
		if r.Node != i {
			return
		}
		l, ok := at[r.Index]
		if !ok {
			l = len(c.Leaves)
			at[r.Index] = l
			fill := Normal
			if forms[r.Index].DType.Integer() {
				fill = Whole
			}
			c.Leaves = append(c.Leaves, Leaf{Kind: Input, DType: forms[r.Index].DType, Shape: forms[r.Index].Shape, Fill: fill, Data: 1000 + uint64(l)})
		}
		*r = leaf(l)
	})
	p.Nodes[i].In = nil
	dropNode(p, i)
	return true
}

// resultTypes gives the types of a node's results where they are the same, or a dynamic
// dimension's, with every binding.
func resultTypes(c *Case, p *Plan, node int) ([]tensor.Type, error) {
	g := &generator{c: c}
	g.measure()
	g.graph = graph.New("")
	defer g.graph.Release()
	for i, d := range c.Dims {
		n, err := g.graph.Dim(leafName(i), d.Min, d.Max)
		if err != nil {
			return nil, err
		}
		g.number = append(g.number, n)
	}
	used := make([]bool, maxDims+len(c.Sums))
	for i := range used {
		used[i] = true
	}
	var err error
	if g.number, err = c.numbers(g.graph, g.number, used); err != nil {
		return nil, err
	}
	values := make([]ops.Value, len(c.Leaves))
	w, err := makeWeights(c, values)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	m, err := makeGraph(c, p, w, true, "")
	if err != nil {
		return nil, err
	}
	defer m.graph.Release()
	var forms []form
	var types []tensor.Type
	for b := range c.Bindings {
		program, err := m.graph.Bind(m.bound(c, b), func(*ops.Call) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, n := range program.Nodes {
			if n.Origin != node {
				continue
			}
			if b == 0 {
				forms, types = make([]form, len(n.Out)), make([]tensor.Type, len(n.Out))
			}
			for i, t := range n.Call.Out {
				types[i].DType = t.DType
				if b == 0 {
					forms[i] = make(form, len(t.Shape))
				}
				for axis, d := range t.Shape {
					forms[i][axis] = append(forms[i][axis], d)
				}
			}
		}
	}
	if types == nil {
		return nil, failed("node %d is not needed", node)
	}
	for i := range types {
		shape, ok := g.symbols(forms[i])
		if !ok {
			return nil, failed("no dynamic dimension stands for %v", forms[i])
		}
		types[i].Shape = shape
	}
	return types, nil
}

func (s *shrinker) attributes() {
	for p := range s.best.Plans {
		for i := range s.best.Plans[p].Nodes {
			for k := range slices.Backward(s.best.Plans[p].Nodes[i].Attrs) {
				s.keep(func(c *Case) bool {
					n := &c.Plans[p].Nodes[i]
					n.Attrs = slices.Delete(n.Attrs, k, k+1)
					return true
				})
			}
		}
	}
}

// dims fixes dynamic dimensions at one of their values, and drops values.
func (s *shrinker) dims() {
	for d := range slices.Backward(s.best.Dims) {
		for b := range s.best.Bindings {
			if s.keep(func(c *Case) bool {
				if b >= len(c.Bindings) || d >= len(c.Dims) {
					return false
				}
				fix(c, d, c.Bindings[b][d])
				return true
			}) {
				break
			}
		}
	}
}

// fix replaces a dynamic dimension by a length.
func fix(c *Case, d int, n int64) {
	eachLength(c, func(v *int64) {
		if k, ok := dimOf(*v); ok {
			if k == d {
				*v = n
			} else if k > d && k < maxDims {
				*v--
			}
		}
	})
	c.Dims = slices.Delete(c.Dims, d, d+1)
	for i := range c.Bindings {
		c.Bindings[i] = slices.Delete(c.Bindings[i], d, d+1)
	}
	if len(c.Dims) == 0 {
		c.Bindings = c.Bindings[:1]
		for i := range c.Steps {
			c.Steps[i].Binding = 0
		}
	}
}

// eachLength calls f with every length in shapes and attributes.
func eachLength(c *Case, f func(*int64)) {
	for i := range c.Sums {
		f(&c.Sums[i].A)
		f(&c.Sums[i].B)
	}
	for i := range c.Leaves {
		for k := range c.Leaves[i].Shape {
			f(&c.Leaves[i].Shape[k])
		}
	}
	for p := range c.Plans {
		for i := range c.Plans[p].Nodes {
			for k := range c.Plans[p].Nodes[i].Attrs {
				v := &c.Plans[p].Nodes[i].Attrs[k].Value
				f(&v.Int)
				for e := range v.Ints {
					f(&v.Ints[e])
				}
			}
		}
	}
}

// lengths makes one length after the other smaller, wherever it stands.
func (s *shrinker) lengths() {
	seen := map[int64]bool{}
	eachLength(s.best, func(v *int64) {
		if *v > 1 {
			seen[*v] = true
		}
	})
	var all []int64
	for v := range seen {
		all = append(all, v)
	}
	slices.Sort(all)
	slices.Reverse(all)
	for _, v := range all {
		for _, to := range []int64{1, 2, v / 4, v / 2, v - 1} {
			if to < 1 || to >= v {
				continue
			}
			if s.keep(func(c *Case) bool {
				eachLength(c, func(x *int64) {
					if *x == v {
						*x = to
					}
				})
				return true
			}) {
				break
			}
		}
	}
	for l := range s.best.Leaves {
		for axis := range s.best.Leaves[l].Shape {
			for _, to := range []int64{1, 2} {
				if s.keep(func(c *Case) bool {
					if l >= len(c.Leaves) || axis >= len(c.Leaves[l].Shape) || c.Leaves[l].Shape[axis] <= to {
						return false
					}
					c.Leaves[l].Shape[axis] = to
					return true
				}) {
					break
				}
			}
		}
	}
}

// leaves makes plainer leaves: inputs, f32, normal numbers.
func (s *shrinker) leaves() {
	for i := range s.best.Leaves {
		for _, change := range []func(*Leaf){
			func(l *Leaf) { l.Kind = Input },
			func(l *Leaf) {
				if !l.DType.Integer() {
					l.DType = tensor.F32
				}
			},
			func(l *Leaf) {
				if !l.DType.Integer() {
					l.Fill = Normal
				}
			},
		} {
			s.simplify(func(c *Case) bool {
				if i >= len(c.Leaves) {
					return false
				}
				had := c.Leaves[i]
				change(&c.Leaves[i])
				return c.Leaves[i].Kind != had.Kind || c.Leaves[i].DType != had.DType || c.Leaves[i].Fill != had.Fill
			})
		}
	}
}
