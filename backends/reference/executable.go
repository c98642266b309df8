package reference

import (
	"errors"
	"runtime"
	"sort"
	"sync/atomic"
	"time"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/guarded"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

// executable is a program with the values of its tensors.
type executable struct {
	program *graph.Program
	values  []ops.Value // of each of the program's tensors
	steps   []step
	weights []*weights.Tensor // retained
	arena   mem.Arena         // of inputs and results
	scratch int64
}

// step is a node with its values.
type step struct {
	call    *ops.Call
	in, out []ops.Value
}

func build(s *stream, p *graph.Program) (_ *executable, err error) {
	e := &executable{program: p, values: make([]ops.Value, len(p.Tensors))}
	r := &room{arena: &e.arena}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	for i, t := range p.Tensors {
		switch t.Kind {
		case graph.Input:
			if e.values[i], err = zeros(r, t.Type); err != nil {
				return nil, status.Wrapf(err, "input %q", t.Name)
			}
		case graph.State:
			e.values[i] = s.states[t.Name]
		case graph.Weight:
			t.Weight.Retain()
			e.weights = append(e.weights, t.Weight)
			if e.values[i], err = s.device.weight(t.Weight); err != nil {
				return nil, err
			}
		case graph.Result: // placed below
		}
	}
	for _, n := range p.Nodes {
		if n.Call.Op.Writes {
			e.values[n.Out[0]] = e.values[n.In[0]]
		}
	}
	if e.scratch, err = place(p, e.values, r); err != nil {
		return nil, err
	}
	for _, n := range p.Nodes {
		st := step{call: n.Call, in: make([]ops.Value, len(n.In)), out: make([]ops.Value, len(n.Out))}
		for i, t := range n.In {
			if t >= 0 {
				st.in[i] = e.values[t]
			}
		}
		for i, t := range n.Out {
			st.out[i] = e.values[t]
		}
		e.steps = append(e.steps, st)
	}
	return e, nil
}

// Run decodes the inputs, runs node by node, and encodes the outputs.
func (e *executable) Run(in, out []backend.Buffer, o *backend.RunOptions) error {
	start := time.Now()
	for i, t := range e.program.Inputs {
		if in[i].Data == nil {
			continue
		}
		if err := e.values[t].Decode(unsafe.Slice((*byte)(in[i].Data), in[i].Bytes)); err != nil {
			return status.Wrapf(err, "input %q", e.program.Tensors[t].Name)
		}
	}
	uploaded := time.Now()
	threads := o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	for i := range e.steps {
		if err := e.steps[i].run(threads, o.Cancel); err != nil {
			return status.Wrapf(err, "op %d %q", e.program.Nodes[i].Origin, e.steps[i].call.Op.Name)
		}
	}
	computed := time.Now()
	for i, t := range e.program.Outputs {
		if out[i].Data == nil {
			continue
		}
		if err := e.values[t].Encode(unsafe.Slice((*byte)(out[i].Data), out[i].Bytes)); err != nil {
			return status.Wrapf(err, "output %d", i)
		}
	}
	if o.Timing != nil {
		*o.Timing = backend.Timing{
			Upload: uploaded.Sub(start), Compute: computed.Sub(uploaded), Download: time.Since(computed),
		}
	}
	return nil
}

// smallWork is how many numbers an operator may touch before other threads are
// worth waking.
const smallWork = 1 << 14

func (s *step) run(threads int, cancel *backend.CancelFlag) error {
	for _, v := range s.out {
		if !s.call.Op.Writes {
			clear(v.F)
			clear(v.I)
		}
	}
	work := 0
	for _, v := range append(append([]ops.Value{}, s.in...), s.out...) {
		work += len(v.F)
	}
	if s.call.Op.EvalPiece == nil || threads == 1 || work < smallWork {
		if atomic.LoadInt32(cancel) != 0 {
			return errCancelled()
		}
		return kernelError(guarded.Call(func() error { return s.call.Op.Eval(s.call, s.in, s.out) }))
	}
	return s.runPieces(threads, cancel)
}

// runPieces computes the pieces on several goroutines, all of which have ended
// when it returns.
func (s *step) runPieces(threads int, cancel *backend.CancelFlag) error {
	var (
		next   atomic.Int64
		group  guarded.Group
		pieces = s.call.Op.Pieces(s.call)
	)
	for range min(threads, pieces) {
		group.Go(func() error {
			for piece := int(next.Add(1)) - 1; piece < pieces; piece = int(next.Add(1)) - 1 {
				if atomic.LoadInt32(cancel) != 0 {
					return errCancelled()
				}
				if err := s.call.Op.EvalPiece(s.call, s.in, s.out, piece); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return kernelError(group.Wait())
}

func errCancelled() error { return status.Errorf(status.Cancelled, "the run was cancelled") }

// kernelError says of a panic, a mistake in the table of operators, whose it is.
func kernelError(err error) error {
	if status.Of(err) == status.Internal {
		return status.Wrapf(err, "the reference kernel failed")
	}
	return err
}

// Placement has every node on the reference backend; its scratch is its own.
func (e *executable) Placement() backend.Placement {
	counts := map[string]int{}
	for _, n := range e.program.Nodes {
		counts[n.Call.Op.Name]++
	}
	p := backend.Placement{ScratchBytes: e.scratch}
	for op, n := range counts {
		p.Nodes = append(p.Nodes, backend.NodePlacement{Op: op, Device: "reference", Count: n})
	}
	sort.Slice(p.Nodes, func(i, j int) bool { return p.Nodes[i].Op < p.Nodes[j].Op })
	for _, t := range e.program.Inputs {
		p.IOBytes += 8 * e.program.Tensors[t].Type.Shape.Elements()
	}
	return p
}

func (e *executable) Close() error {
	for _, t := range e.weights {
		t.Release()
	}
	e.weights = nil
	return e.arena.Free()
}
