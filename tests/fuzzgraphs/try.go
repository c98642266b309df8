package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/session"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// trial is a case being tried on a device: two sessions go through its steps side by
// side. On the open one every tensor is an output, so that each operator can be held to
// its reference kernel with the inputs that it really had. On the other the plans are
// as they are, and their results must be those of the open one.
type trial struct {
	target  *Target
	c       *Case
	stats   *Stats
	weights *weights.Weights
	leaves  []ops.Value // of the weights
	open    *side
	plain   *side
	plans   []*planPair
	step    int
	called  bool // an operator-level call was made
	binds   map[[2]int]*bound
}

// side is a session with a plan for each of the case's.
type side struct {
	session *session.Session
	plans   []*session.Plan
	graphs  []*made
}

type planPair struct {
	given  map[int]map[int][]byte // by binding and leaf: what an input was given last
	recent []int                  // bindings with an instance, the most recent first
	ran    map[int]bool           // bindings whose instance has run since it was built
}

// bound is a plan's program for a binding, one node for each operator.
type bound struct {
	program *graph.Program
	leaf    map[int]int // the case's leaves in the program
	at      map[Ref]int // results in the program
}

// Try goes through a case on the device.
func (t *Target) Try(c *Case, stats *Stats) (err error) {
	before := mem.Live()
	tr := &trial{target: t, c: c, stats: stats, leaves: make([]ops.Value, len(c.Leaves)), binds: map[[2]int]*bound{}}
	t.host.reset()
	defer func() {
		tr.close()
		// What operator-level calls build is kept for the next ones.
		if left := mem.Live() - before; left != 0 && err == nil && !tr.called {
			err = &Failure{Kind: Leak, Message: fmt.Sprintf("%d bytes are left", left)}
		}
	}()
	if err := tr.begin(); err != nil {
		return err
	}
	for i := range c.Steps {
		tr.step = i
		if err := tr.do(&c.Steps[i]); err != nil {
			f := asFailure(err)
			f.Message = fmt.Sprintf("step %d: %s", i, f.Message)
			return f
		}
		if !t.host.intact() {
			return &Failure{Kind: Overwritten, Message: fmt.Sprintf("step %d wrote behind a buffer", i)}
		}
	}
	return nil
}

func (tr *trial) begin() error {
	var err error
	if tr.weights, err = makeWeights(tr.c, tr.leaves); err != nil {
		return err
	}
	if tr.open, err = tr.side(true); err != nil {
		return err
	}
	if tr.plain, err = tr.side(false); err != nil {
		return err
	}
	for range tr.c.Plans {
		tr.plans = append(tr.plans, &planPair{given: map[int]map[int][]byte{}, ran: map[int]bool{}})
	}
	return nil
}

func (tr *trial) side(everything bool) (_ *side, err error) {
	s := &side{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.session, err = session.New(tr.target.backend); err != nil {
		return nil, err
	}
	for i := range tr.c.Plans {
		p := &tr.c.Plans[i]
		m, err := makeGraph(tr.c, p, tr.weights, everything, fmt.Sprintf("plan %d", i))
		if err != nil {
			return nil, &Failure{Kind: Refused, Message: err.Error()}
		}
		s.graphs = append(s.graphs, m)
		o := session.Options{}
		if !everything {
			o.MaxInstances = p.Capacity
		}
		made, err := session.NewPlan(s.session, m.graph, o)
		if err != nil {
			return nil, err
		}
		s.plans = append(s.plans, made)
	}
	return s, nil
}

func (s *side) close() {
	if s == nil {
		return
	}
	for _, p := range s.plans {
		p.Release()
	}
	for _, g := range s.graphs {
		g.graph.Release()
	}
	if s.session != nil {
		s.session.Release()
	}
}

func (tr *trial) close() {
	tr.open.close()
	tr.plain.close()
	if tr.weights != nil {
		tr.weights.Release()
	}
}

// bind gives a plan's program with every operator as it is.
func (tr *trial) bind(plan, binding int) (*bound, error) {
	key := [2]int{plan, binding}
	if b := tr.binds[key]; b != nil {
		return b, nil
	}
	m := tr.open.graphs[plan]
	p, err := m.graph.Bind(m.bound(tr.c, binding), func(*ops.Call) bool { return true })
	if err != nil {
		return nil, err
	}
	b := &bound{program: p, leaf: map[int]int{}, at: map[Ref]int{}}
	for i, t := range p.Tensors {
		if t.Kind != graph.Result {
			var l int
			if _, err := fmt.Sscanf(t.Name, "t%d", &l); err != nil {
				return nil, err
			}
			b.leaf[l] = i
		}
	}
	for _, n := range p.Nodes {
		for k, t := range n.Out {
			b.at[Ref{n.Origin, k}] = t
		}
	}
	tr.binds[key] = b
	return b, nil
}

func (tr *trial) do(s *Step) error {
	if s.Plan >= len(tr.c.Plans) || s.Binding >= len(tr.c.Bindings) {
		return nil
	}
	switch s.Do {
	case Reset:
		for _, on := range []*side{tr.open, tr.plain} {
			if err := on.session.Reset(); err != nil {
				return err
			}
		}
	case SetAll:
		return tr.setStates(s.Data)
	case Prepare:
		dims := tr.plain.graphs[s.Plan].bound(tr.c, s.Binding)
		if err := tr.plain.plans[s.Plan].Prepare(dims); err != nil {
			return err
		}
		tr.touch(s.Plan, s.Binding)
	case Run:
		_, err := tr.run(s)
		return err
	case Call:
		return tr.call(s)
	}
	return nil
}

// touch follows which instances the plain plan keeps.
func (tr *trial) touch(plan, binding int) {
	p, capacity := tr.plans[plan], tr.c.Plans[plan].Capacity
	if capacity == 0 {
		capacity = 32
	}
	dims := tr.plain.graphs[plan].bound(tr.c, binding)
	for i, b := range p.recent {
		if b == binding || equal(tr.plain.graphs[plan].bound(tr.c, b), dims) {
			p.recent = append(append([]int{b}, p.recent[:i]...), p.recent[i+1:]...)
			return
		}
	}
	if len(p.recent) == capacity {
		delete(p.ran, p.recent[capacity-1])
		p.recent = p.recent[:capacity-1]
	}
	p.recent = append([]int{binding}, p.recent...)
	delete(p.ran, binding)
	delete(p.given, binding)
}

func equal(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// states are the leaves that are states of some plan.
func (tr *trial) states() []int {
	used := map[int]bool{}
	for i := range tr.c.Plans {
		for _, l := range tr.c.Plans[i].leaves(len(tr.c.Leaves)) {
			used[l] = tr.c.Leaves[l].Kind == State
		}
	}
	var list []int
	for l := range tr.c.Leaves {
		if used[l] {
			list = append(list, l)
		}
	}
	return list
}

func (tr *trial) stateType(l int) tensor.Type {
	return tensor.Type{DType: tr.c.Leaves[l].DType, Shape: tr.c.Leaves[l].Shape}
}

func (tr *trial) setStates(seed uint64) error {
	for _, l := range tr.states() {
		t := tr.stateType(l)
		data, err := tr.target.host.take(t.Bytes())
		if err != nil {
			return err
		}
		if _, err := tr.c.Leaves[l].Fill.values(t, seed+tr.c.Leaves[l].Data, 0, data); err != nil {
			return err
		}
		for _, on := range []*side{tr.open, tr.plain} {
			if err := on.session.Write(leafName(l), 0, at(data), uint64(len(data))); err != nil {
				return err
			}
		}
	}
	return nil
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func (tr *trial) readState(on *side, l int) ([]byte, error) {
	data, err := tr.target.host.take(tr.stateType(l).Bytes())
	if err != nil {
		return nil, err
	}
	return data, on.session.Read(leafName(l), 0, at(data), uint64(len(data)))
}

// known are the values of a bound program's tensors.
type known []ops.Value

// run runs a step on both sides and compares; it gives what the open side found.
func (tr *trial) run(s *Step) (known, error) {
	b, err := tr.bind(s.Plan, s.Binding)
	if err != nil {
		return nil, err
	}
	p := tr.plans[s.Plan]
	tr.touch(s.Plan, s.Binding)
	home := p.recent[0] // the binding that the instance goes by
	values := make(known, len(b.program.Tensors))
	inputs, err := tr.inputs(s, b, home, values)
	if err != nil {
		return nil, err
	}
	for l, i := range b.leaf {
		switch tr.c.Leaves[l].Kind {
		case Weight:
			values[i] = tr.leaves[l]
		case State:
			data, err := tr.readState(tr.open, l)
			if err != nil {
				return nil, err
			}
			values[i] = ops.NewValue(b.program.Tensors[i].Type)
			if err := values[i].Decode(data); err != nil {
				return nil, err
			}
		case Input:
		}
	}
	results, err := tr.runOpen(s, b, inputs, values)
	if err != nil {
		return nil, err
	}
	if err := tr.runPlain(s, b, inputs, values, results, home); err != nil {
		return nil, err
	}
	p.ran[home] = true
	return values, tr.compareStates(s, b, values)
}

// inputs makes or keeps what the inputs hold, by leaf.
func (tr *trial) inputs(s *Step, b *bound, home int, values known) (map[int][]byte, error) {
	p, inputs := tr.plans[s.Plan], map[int][]byte{}
	if p.given[home] == nil {
		p.given[home] = map[int][]byte{}
	}
	n := 0
	for _, l := range tr.c.Plans[s.Plan].leaves(len(tr.c.Leaves)) {
		i, ok := b.leaf[l]
		if tr.c.Leaves[l].Kind != Input || !ok {
			continue
		}
		t := b.program.Tensors[i]
		data := p.given[home][l]
		if data == nil || !p.ran[home] || s.Keep>>(n%64)&1 == 0 {
			var err error
			if data, err = tr.target.host.take(t.Type.Bytes()); err != nil {
				return nil, err
			}
			if _, err := tr.c.Leaves[l].Fill.values(t.Type, s.Data+tr.c.Leaves[l].Data*0x10001, t.Below, data); err != nil {
				return nil, err
			}
			p.given[home][l] = data
		}
		n++
		inputs[l] = data
		values[i] = ops.NewValue(t.Type)
		if err := values[i].Decode(data); err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

func buffer(b []byte) backend.Buffer { return backend.Buffer{Data: at(b), Bytes: uintptr(len(b))} }

// outputs makes buffers for a graph's outputs, filled with what no result is.
func (tr *trial) outputs(b *bound, of []Ref) ([][]byte, []backend.Buffer, error) {
	data, buffers := make([][]byte, len(of)), make([]backend.Buffer, len(of))
	for i, r := range of {
		var err error
		if data[i], err = tr.target.host.take(b.program.Tensors[b.index(r)].Type.Bytes()); err != nil {
			return nil, nil, err
		}
		for k := range data[i] {
			data[i][k] = 0x7d
		}
		buffers[i] = buffer(data[i])
	}
	return data, buffers, nil
}

func (b *bound) index(r Ref) int {
	if r.leaf() {
		return b.leaf[r.Index]
	}
	return b.at[r]
}

// runOpen runs the plan whose tensors are all outputs, and holds every operator to its
// reference kernel. values holds the leaves' and gets the results'.
func (tr *trial) runOpen(s *Step, b *bound, inputs map[int][]byte, values known) (map[Ref][]byte, error) {
	m := tr.open.graphs[s.Plan]
	var in []backend.Buffer
	for _, l := range tr.c.Plans[s.Plan].leaves(len(tr.c.Leaves)) {
		if tr.c.Leaves[l].Kind == Input {
			in = append(in, buffer(inputs[l]))
		}
	}
	before := tr.sums(inputs)
	data, out, err := tr.outputs(b, m.outputs)
	if err != nil {
		return nil, err
	}
	if err := tr.open.plans[s.Plan].Run(in, out, session.RunOptions{Dims: m.bound(tr.c, s.Binding), Threads: s.Threads}); err != nil {
		return nil, err
	}
	if tr.sums(inputs) != before {
		return nil, &Failure{Kind: Overwritten, Message: "a run wrote to an input"}
	}
	results, got := map[Ref][]byte{}, make(known, len(values))
	for i, r := range m.outputs {
		results[r] = data[i]
		t := b.index(r)
		got[t] = ops.NewValue(b.program.Tensors[t].Type)
		if err := got[t].Decode(data[i]); err != nil {
			return nil, err
		}
		if r.leaf() {
			if err := exactly(got[t], values[t]); err != nil {
				return nil, &Failure{Kind: WrongOp, Op: string(tr.c.Leaves[r.Index].Kind), Message: fmt.Sprintf("as an output: %v", err)}
			}
		}
	}
	return results, tr.checkNodes(b, got, values)
}

func exactly(got, want ops.Value) error {
	c, err := ops.Lookup("reshape")
	if err != nil {
		return err
	}
	return checkOp(&ops.Call{Op: c}, nil, []ops.Value{got}, []ops.Value{want}, 24, 0)
}

// checkNodes compares every node's results with its reference kernel's.
func (tr *trial) checkNodes(b *bound, got, values known) error {
	for _, n := range b.program.Nodes {
		in := make([]ops.Value, len(n.In))
		for i, t := range n.In {
			if t >= 0 {
				in[i] = values[t]
			}
		}
		want, err := evaluate(n.Call, in)
		if err != nil {
			return err
		}
		have := make([]ops.Value, len(n.Out))
		for i, t := range n.Out {
			have[i] = got[t]
		}
		tr.stats.op(n.Call)
		if err := tr.target.check(n.Call, in, have, want, tr.stats); err != nil {
			return &Failure{Kind: WrongOp, Op: n.Call.Op.Name, Message: fmt.Sprintf("node %d %s: %v", n.Origin, describe(n.Call), err)}
		}
		for i, t := range n.Out {
			values[t] = got[t]
			if got[t].F == nil && got[t].I == nil {
				values[t] = want[i]
			}
		}
	}
	return nil
}

func describe(c *ops.Call) string {
	in := make([]string, len(c.In))
	for i, t := range c.In {
		if in[i] = "none"; t.DType != 0 {
			in[i] = t.String()
		}
	}
	return "(" + strings.Join(in, ", ") + ")"
}

// sums tells whether the inputs' memory has changed.
func (tr *trial) sums(inputs map[int][]byte) uint64 {
	sum := uint64(0)
	for l, data := range inputs {
		h := uint64(14695981039346656037)
		for _, b := range data {
			h = (h ^ uint64(b)) * 1099511628211
		}
		sum += h * uint64(2*l+1)
	}
	return sum
}

// runPlain runs the plan as it is and compares its outputs with the open side's.
func (tr *trial) runPlain(s *Step, b *bound, inputs map[int][]byte, values known, results map[Ref][]byte, home int) error {
	m, p := tr.plain.graphs[s.Plan], tr.plans[s.Plan]
	var in []backend.Buffer
	for _, l := range tr.c.Plans[s.Plan].leaves(len(tr.c.Leaves)) {
		if tr.c.Leaves[l].Kind != Input {
			continue
		}
		if p.ran[home] && s.Keep>>(len(in)%64)&1 == 1 {
			in = append(in, backend.Buffer{})
		} else {
			in = append(in, buffer(inputs[l]))
		}
	}
	before := tr.sums(inputs)
	data, out, err := tr.outputs(b, m.outputs)
	if err != nil {
		return err
	}
	for i := range out {
		if s.Unwanted>>(i%64)&1 == 1 {
			out[i].Data = nil
		}
	}
	if err := tr.plain.plans[s.Plan].Run(in, out, session.RunOptions{Dims: m.bound(tr.c, s.Binding), Threads: s.Threads}); err != nil {
		return err
	}
	tr.stats.Runs++
	if tr.sums(inputs) != before {
		return &Failure{Kind: Overwritten, Message: "a run wrote to an input"}
	}
	for i, r := range m.outputs {
		if out[i].Data == nil {
			continue
		}
		t := b.index(r)
		want := results[r]
		if want == nil {
			want = make([]byte, len(data[i]))
			if err := values[t].Encode(want); err != nil {
				return err
			}
		}
		if err := tr.settle(s, b, values, data[i], want, t, fmt.Sprintf("output %d (%s)", i, tr.nameOf(s.Plan, r)), WrongPlan); err != nil {
			return err
		}
	}
	return nil
}

// settle compares what the plain side has with what the open side has of a tensor.
func (tr *trial) settle(s *Step, b *bound, values known, got, want []byte, t int, what, kind string) error {
	how, err := agree(got, want, b.program.Tensors[t].Type, func() (spreads, error) { return tr.spread(b, values, t) })
	tr.stats.Agree[how]++
	if how != different {
		return nil
	}
	op := ""
	for _, n := range b.program.Nodes {
		for _, o := range n.Out {
			if o == t {
				op = n.Call.Op.Name
			}
		}
	}
	return &Failure{Kind: kind, Op: op, Message: fmt.Sprintf("plan %d, %s: %v", s.Plan, what, err)}
}

func (tr *trial) nameOf(plan int, r Ref) string {
	if r.leaf() {
		return fmt.Sprintf("%s %d", tr.c.Leaves[r.Index].Kind, r.Index)
	}
	return fmt.Sprintf("node %d, %s", r.Node, tr.c.Plans[plan].Nodes[r.Node].Op)
}

// compareStates compares all states, and has both sides go on from the plain one's.
func (tr *trial) compareStates(s *Step, b *bound, values known) error {
	for _, l := range tr.states() {
		open, err := tr.readState(tr.open, l)
		if err != nil {
			return err
		}
		plain, err := tr.readState(tr.plain, l)
		if err != nil {
			return err
		}
		i, touched := b.leaf[l]
		if !touched {
			if string(open) != string(plain) {
				return &Failure{Kind: WrongState, Message: fmt.Sprintf("state %d, which plan %d does not have, differs", l, s.Plan)}
			}
			continue
		}
		// What the open side holds must be what its last write gave.
		read := ops.NewValue(tr.stateType(l))
		if err := read.Decode(open); err != nil {
			return err
		}
		if err := exactly(read, values[b.newest(i)]); err != nil {
			return &Failure{Kind: WrongState, Message: fmt.Sprintf("state %d after plan %d: %v", l, s.Plan, err)}
		}
		if err := tr.settle(s, b, values, plain, open, b.newest(i), fmt.Sprintf("state %d", l), WrongState); err != nil {
			return err
		}
		if string(open) != string(plain) {
			if err := tr.open.session.Write(leafName(l), 0, at(plain), uint64(len(plain))); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest gives the tensor that holds a state, given as it is at first, after a run.
func (b *bound) newest(state int) int {
	for _, n := range b.program.Nodes {
		if n.Call.Op.Writes && n.In[0] == state {
			state = n.Out[0]
		}
	}
	return state
}

// spreadSamples are how many computations show how far roundings lead.
const spreadSamples = 12

// spread computes a tensor several times in double precision, every operator off by a
// random part of its tolerance.
func (tr *trial) spread(b *bound, values known, t int) (spreads, error) {
	r := rand.New(rand.NewPCG(tr.c.Seed, uint64(tr.step)))
	var s spreads
	for range spreadSamples {
		v := append(known(nil), values...)
		for _, n := range b.program.Nodes {
			in := make([]ops.Value, len(n.In))
			for i, k := range n.In {
				if k >= 0 {
					in[i] = v[k]
				}
			}
			out, err := evaluate(n.Call, in)
			if err != nil {
				return nil, err
			}
			for i, k := range n.Out {
				shake(r, out[i], n.Call.Tolerance(tr.target.bits))
				v[k] = out[i]
			}
		}
		s = append(s, v[t])
	}
	return s, nil
}

// shake adds a random part of the tolerance to values.
func shake(r *rand.Rand, v ops.Value, tolerance float64) {
	if tolerance <= 2e-7 {
		return // what only moves numbers does not round
	}
	largest := 1.0
	for _, f := range v.F {
		if f > largest && f < 1e300 {
			largest = f
		} else if -f > largest && -f < 1e300 {
			largest = -f
		}
	}
	for i := range v.F {
		v.F[i] += (2*r.Float64() - 1) * tolerance * largest
	}
}
