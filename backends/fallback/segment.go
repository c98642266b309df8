package fallback

import (
	"errors"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// segment is a part of a program on one device.
type segment struct {
	on      device
	program *graph.Program
	exec    backend.Executable
	in, out []backend.Buffer
	// Where each input comes from and each output goes: a number of the host's, or
	// -1 for memory of ours, which in and out hold already.
	hostIn, hostOut []int
	// States that the companion reads as they are when the segment begins.
	reads []stateRead
}

type stateRead struct {
	name string
	to   backend.Buffer
}

// splitter makes the segments of one program.
type splitter struct {
	stream   *stream
	program  *graph.Program
	flow     *flow
	cuts     []cut
	at       []int // the segment of each node
	segments []*segment
	numbers  []map[int]int          // by segment: a tensor's number in its program
	staged   map[int]backend.Buffer // tensors that are copied by way of the host
	handed   map[int]string         // tensors that the primary keeps in a place of its own
	memory   *mem.Arena
	copies   backend.Copies
}

// build cuts a program and builds its segments.
func (s *stream) build(p *graph.Program, where []device) (_ backend.Executable, err error) {
	f := flowOf(p)
	b := &splitter{
		stream: s, program: p, flow: f, cuts: f.schedule(where), at: make([]int, len(p.Nodes)),
		staged: map[int]backend.Buffer{}, handed: map[int]string{}, memory: &mem.Arena{},
	}
	x := &executable{stream: s, memory: b.memory}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	for i, c := range b.cuts {
		for _, n := range c.nodes {
			b.at[n] = i
		}
		b.segments = append(b.segments, &segment{on: c.on, program: &graph.Program{Label: p.Label}})
		b.numbers = append(b.numbers, map[int]int{})
	}
	if err := b.handOn(); err != nil {
		return nil, err
	}
	for i := range b.cuts {
		if err := b.fill(i); err != nil {
			return nil, err
		}
	}
	if err := b.outputs(); err != nil {
		return nil, err
	}
	x.segments = b.segments
	for _, seg := range b.segments {
		if seg.exec, err = s.on[seg.on].Build(seg.program); err != nil {
			return nil, err
		}
	}
	x.copies = b.copies
	return x, nil
}

// handOn finds a place for what one segment makes and another takes. Between two
// of the primary's an f32 tensor stays on the device; everything else goes by way
// of the host.
func (b *splitter) handOn() error {
	taken := map[string]int{}
	for t := range b.program.Tensors {
		from := b.flow.producer[t]
		if from < 0 {
			continue
		}
		other, again := false, false // a user on the other device; a later one of the same
		for _, user := range b.flow.users[t] {
			switch {
			case b.at[user] == b.at[from]:
			case b.segments[b.at[user]].on == b.segments[b.at[from]].on:
				again = true
			default:
				other = true
			}
		}
		typ := b.program.Tensors[t].Type
		onDevice := b.segments[b.at[from]].on == primary && typ.DType == tensor.F32 && !b.program.Nodes[from].Call.Op.Writes
		if again && onDevice {
			name, err := b.stream.place(typ, taken[typ.String()])
			if err != nil {
				return err
			}
			taken[typ.String()]++
			b.handed[t] = name
		}
		if other {
			b.count(typ)
		}
		if other || again && !onDevice && !b.program.Nodes[from].Call.Op.Writes {
			if _, err := b.stage(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *splitter) count(copied tensor.Type) {
	b.copies.Count++
	b.copies.Bytes += copied.Bytes()
}

// stage gives a tensor memory on the host.
func (b *splitter) stage(t int) (backend.Buffer, error) {
	if s, ok := b.staged[t]; ok {
		return s, nil
	}
	typ := b.program.Tensors[t].Type
	home, err := b.memory.Alloc(typ.Bytes())
	if err != nil {
		return backend.Buffer{}, status.Wrapf(err, "a copy of %v between devices", typ)
	}
	s := backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(home)), Bytes: uintptr(len(home))}
	b.staged[t] = s
	return s, nil
}

// fill writes a segment's program.
func (b *splitter) fill(i int) error {
	seg := b.segments[i]
	for _, n := range b.cuts[i].nodes {
		from := &b.program.Nodes[n]
		node := graph.ProgramNode{Call: from.Call, Origin: from.Origin, In: make([]int, len(from.In)), Out: make([]int, len(from.Out))}
		for j, t := range from.In {
			node.In[j] = -1
			if t >= 0 {
				var err error
				if node.In[j], err = b.number(i, t); err != nil {
					return err
				}
			}
		}
		for j, t := range from.Out {
			node.Out[j] = b.add(i, t, b.program.Tensors[t])
		}
		seg.program.Nodes = append(seg.program.Nodes, node)
	}
	for _, n := range b.cuts[i].nodes {
		for _, t := range b.program.Nodes[n].Out {
			if to, ok := b.staged[t]; ok {
				b.output(i, t, -1, to)
			}
			if name, ok := b.handed[t]; ok {
				if err := b.keep(i, t, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *splitter) add(i, t int, as graph.ProgramTensor) int {
	p := b.segments[i].program
	p.Tensors = append(p.Tensors, as)
	b.numbers[i][t] = len(p.Tensors) - 1
	return len(p.Tensors) - 1
}

// number gives a tensor's number in a segment's program, and puts it there if it
// comes from elsewhere.
func (b *splitter) number(i, t int) (int, error) {
	if n, ok := b.numbers[i][t]; ok {
		return n, nil
	}
	seg, pt := b.segments[i], b.program.Tensors[t]
	switch {
	case pt.Kind == graph.Input:
		return b.input(i, t, pt, b.hostInput(t), backend.Buffer{}), nil
	case pt.Kind == graph.Weight, pt.Kind == graph.State && seg.on == primary:
		return b.add(i, t, pt), nil
	case pt.Kind == graph.State:
		to, err := b.stage(t)
		if err != nil {
			return 0, err
		}
		b.count(pt.Type)
		seg.reads = append(seg.reads, stateRead{pt.Name, to})
		return b.input(i, t, graph.ProgramTensor{Kind: graph.Input, Name: pt.Name, Type: pt.Type}, -1, to), nil
	}
	if name, ok := b.handed[t]; ok && seg.on == primary {
		return b.add(i, t, graph.ProgramTensor{Kind: graph.State, Name: name, Type: pt.Type}), nil
	}
	if writer := b.program.Nodes[b.flow.producer[t]]; writer.Call.Op.Writes && seg.on == primary {
		// The state itself, as a segment before this one has left it.
		return b.add(i, t, graph.ProgramTensor{Kind: graph.State, Name: b.stateOf(t), Type: pt.Type}), nil
	}
	from := b.staged[t]
	return b.input(i, t, graph.ProgramTensor{Kind: graph.Input, Name: "between segments", Type: pt.Type, Below: pt.Below}, -1, from), nil
}

// stateOf is the name of the state that a node has written.
func (b *splitter) stateOf(t int) string {
	for b.program.Tensors[t].Kind != graph.State {
		t = b.program.Nodes[b.flow.producer[t]].In[0]
	}
	return b.program.Tensors[t].Name
}

func (b *splitter) hostInput(t int) int {
	for n, in := range b.program.Inputs {
		if in == t {
			return n
		}
	}
	return -1
}

func (b *splitter) input(i, t int, as graph.ProgramTensor, host int, from backend.Buffer) int {
	seg := b.segments[i]
	n := b.add(i, t, as)
	seg.program.Inputs = append(seg.program.Inputs, n)
	seg.hostIn = append(seg.hostIn, host)
	seg.in = append(seg.in, from)
	return n
}

func (b *splitter) output(i, t, host int, to backend.Buffer) {
	seg := b.segments[i]
	seg.program.Outputs = append(seg.program.Outputs, b.numbers[i][t])
	seg.hostOut = append(seg.hostOut, host)
	seg.out = append(seg.out, to)
}

// keep ends a segment of the primary with writing a tensor where a later one of
// its finds it.
func (b *splitter) keep(i, t int, name string) error {
	typ := b.program.Tensors[t].Type
	op, err := ops.Lookup("state_write")
	if err != nil {
		return err
	}
	call, err := op.NewCall([]tensor.Type{typ, typ}, nil)
	if err != nil {
		return err
	}
	p := b.segments[i].program
	place := len(p.Tensors)
	p.Tensors = append(p.Tensors,
		graph.ProgramTensor{Kind: graph.State, Name: name, Type: typ},
		graph.ProgramTensor{Kind: graph.Result, Type: typ})
	p.Nodes = append(p.Nodes, graph.ProgramNode{Call: call, In: []int{place, b.numbers[i][t]}, Out: []int{place + 1}})
	return nil
}

// outputs lets the segments give the host what it wants.
func (b *splitter) outputs() error {
	for host, t := range b.program.Outputs {
		// What no node computes, any segment can give; a state only the primary.
		i := -1
		if n := b.flow.producer[t]; n >= 0 {
			i = b.at[n]
		} else {
			for j, seg := range b.segments {
				if seg.on == primary || b.program.Tensors[t].Kind != graph.State {
					i = j
				}
			}
		}
		if i < 0 {
			i = len(b.segments)
			b.segments = append(b.segments, &segment{on: primary, program: &graph.Program{Label: b.program.Label}})
			b.numbers = append(b.numbers, map[int]int{})
		}
		if _, err := b.number(i, t); err != nil {
			return err
		}
		b.output(i, t, host, backend.Buffer{})
	}
	return nil
}
