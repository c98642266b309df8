package fallback

import (
	"qtsaccel/core/graph"
)

// assign says which device computes each node: the primary what it can, but for
// nodes of its that lie between nodes of the companion only, which would cost two
// copies and go there, too.
func (b *Backend) assign(p *graph.Program) []device {
	where := make([]device, len(p.Nodes))
	for i := range p.Nodes {
		if !b.Own(p.Nodes[i].Call) {
			where[i] = companion
		}
	}
	f := flowOf(p)
	for changed := true; changed; {
		changed = false
		for i := range p.Nodes {
			if where[i] == primary && f.lies(p, i, where, companion) && b.of[companion].Supports(p.Nodes[i].Call) {
				where[i], changed = companion, true
			}
		}
	}
	return where
}

// flow is where a program's tensors come from and go to.
type flow struct {
	producer []int   // the node that computes a tensor, -1 for none
	users    [][]int // the nodes that take a tensor
	output   []bool
	// before lists the nodes that must have run before a node: those that compute
	// its inputs and, for one that writes a state, those that read it as it was.
	before [][]int
}

func flowOf(p *graph.Program) *flow {
	f := &flow{
		producer: make([]int, len(p.Tensors)), users: make([][]int, len(p.Tensors)),
		output: make([]bool, len(p.Tensors)), before: make([][]int, len(p.Nodes)),
	}
	for t := range p.Tensors {
		f.producer[t] = -1
	}
	for _, t := range p.Outputs {
		f.output[t] = true
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, t := range n.In {
			if t < 0 {
				continue
			}
			f.users[t] = append(f.users[t], i)
			if f.producer[t] >= 0 {
				f.before[i] = append(f.before[i], f.producer[t])
			}
		}
		if n.Call.Op.Writes {
			// Whoever has read the state up to here.
			for _, user := range f.users[n.In[0]] {
				if user != i {
					f.before[i] = append(f.before[i], user)
				}
			}
		}
		for _, t := range n.Out {
			f.producer[t] = i
		}
	}
	return f
}

// lies says whether a node takes results of one device only and gives its own to
// nodes of that device only.
func (f *flow) lies(p *graph.Program, i int, where []device, d device) bool {
	n := &p.Nodes[i]
	if n.Call.Op.Writes {
		return false
	}
	from, to := 0, 0
	for _, t := range n.In {
		if t < 0 || p.Tensors[t].Kind == graph.Input || p.Tensors[t].Kind == graph.Weight {
			continue
		}
		if p.Tensors[t].Kind == graph.State || where[f.producer[t]] != d {
			return false
		}
		from++
	}
	for _, t := range n.Out {
		if f.output[t] {
			return false
		}
		for _, user := range f.users[t] {
			if where[user] != d {
				return false
			}
			to++
		}
	}
	return from > 0 && to > 0
}

// cut is nodes, in order, that one device computes without the other.
type cut struct {
	on    device
	nodes []int
}

// schedule orders the nodes so that a device computes all that it can before the
// other has its turn: no order with fewer segments begins with the same device.
func (f *flow) schedule(where []device) []cut {
	left := make([]int, len(where)) // nodes that a node still waits for
	after := make([][]int, len(where))
	for i, before := range f.before {
		left[i] = len(before)
		for _, b := range before {
			after[b] = append(after[b], i)
		}
	}
	best := f.scheduleFrom(primary, where, append([]int(nil), left...), after)
	if other := f.scheduleFrom(companion, where, left, after); len(other) < len(best) {
		best = other
	}
	return best
}

func (f *flow) scheduleFrom(on device, where []device, left []int, after [][]int) []cut {
	var cuts []cut
	done := make([]bool, len(where))
	for n := 0; n < len(where); on = 1 - on {
		c := cut{on: on}
		// Nodes stand in an order in which they can run, so one pass finds all.
		for i := range where {
			if done[i] || where[i] != on || left[i] > 0 {
				continue
			}
			done[i] = true
			c.nodes = append(c.nodes, i)
			for _, a := range after[i] {
				left[a]--
			}
		}
		n += len(c.nodes)
		if len(c.nodes) > 0 {
			cuts = append(cuts, c)
		}
	}
	return cuts
}
