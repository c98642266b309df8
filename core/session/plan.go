package session

import (
	"fmt"
	"math"
	"sync/atomic"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/refcount"
	"qtsaccel/core/status"
)

// Plan is a graph made ready on a session. Everything in it is used by whoever
// has the session's turn.
type Plan struct {
	session  *Session
	graph    *graph.Snapshot
	refs     refcount.Counter
	capacity int
	supports func(*ops.Call) bool // what the plan may be made of
	ports    atomic.Pointer[ports]

	instances []*instance // the most recently used first
	spare     *graph.Program
	stats     CacheStats
	options   backend.RunOptions // of the run in progress; here so that a run allocates nothing
	timing    backend.Timing     // of a run whose host did not ask for it
}

// Options are the options of a plan; zero values are the defaults.
type Options struct {
	MaxInstances int  // 0: 32
	Strict       bool // nothing may go to a backend beside the device's
}

// CacheStats counts what became of the plan's instances.
type CacheStats struct {
	Hits      uint64 `json:"hits"`
	Builds    uint64 `json:"builds"`
	Evictions uint64 `json:"evictions"`
}

const defaultInstances = 32

// NewPlan makes a plan with one reference; it retains the session and the graph.
func NewPlan(s *Session, g *graph.Graph, o Options) (*Plan, error) {
	if o.MaxInstances < 0 || o.MaxInstances > math.MaxInt32 {
		return nil, status.Errorf(status.InvalidArgument, "max_instances is %d, want 1 or more, or 0 for %d", o.MaxInstances, defaultInstances)
	}
	if o.MaxInstances == 0 {
		o.MaxInstances = defaultInstances
	}
	snapshot, err := g.Snapshot()
	if err != nil {
		return nil, err
	}
	p := &Plan{session: s, graph: snapshot, capacity: o.MaxInstances, supports: s.backend.Impl().Supports}
	if a, ok := s.backend.Impl().(backend.Assisted); ok && o.Strict {
		p.supports = a.Own
	}
	if err := p.check(); err != nil {
		snapshot.Release()
		return nil, err
	}
	s.Retain()
	return p, nil
}

// check finds early what can be found without building: operators that the
// backend lacks, states that do not fit.
func (p *Plan) check() error {
	s := p.session
	s.turn.Lock()
	defer s.turn.Unlock()
	dims := p.graph.Dims()
	low, high := make([]int64, len(dims)), make([]int64, len(dims))
	for i, d := range dims {
		low[i], high[i] = d.Min, d.Max
	}
	program, err := p.graph.Bind(low, p.supports)
	if err != nil {
		return err
	}
	if len(dims) == 0 {
		p.spare = program
	} else if _, err := p.graph.Bind(high, p.supports); err != nil {
		return err
	}
	return status.Wrapf(s.addStates(p.graph.States()), "graph %q", p.graph.Label())
}

// Retain adds a reference.
func (p *Plan) Retain() { p.refs.Retain() }

// Release gives one back.
func (p *Plan) Release() {
	if !p.refs.Release() {
		return
	}
	p.session.turn.Lock()
	for _, i := range p.instances {
		_ = i.exec.Close()
	}
	p.session.turn.Unlock()
	p.graph.Release()
	p.session.Release()
}

// InputIndex finds an input's index by name.
func (p *Plan) InputIndex(name string) (int, error) { return p.graph.InputIndex(name) }

// OutputIndex finds an output's index by name.
func (p *Plan) OutputIndex(name string) (int, error) { return p.graph.OutputIndex(name) }

// ports are the plan's for values of the dynamic dimensions that were asked for last:
// a host asks for one after the other.
type ports struct {
	graph.Ports
	dims []int64
}

// Ports gives what the inputs and outputs are for values of the dynamic dimensions. It
// takes no turn of the session's.
func (p *Plan) Ports(dims []int64) (graph.Ports, error) {
	if last := p.ports.Load(); last != nil && sameDims(last.dims, dims) {
		return last.Ports, nil
	}
	found, err := p.graph.Ports(dims)
	if err != nil {
		return graph.Ports{}, err
	}
	p.ports.Store(&ports{found, append([]int64(nil), dims...)})
	return found, nil
}

// Prepare builds what a run with these values of the dynamic dimensions needs.
func (p *Plan) Prepare(dims []int64) error {
	p.session.turn.Lock()
	defer p.session.turn.Unlock()
	_, err := p.instance(dims)
	return err
}

// RunOptions are the options of a run; zero values are the defaults.
type RunOptions struct {
	Dims    []int64
	Threads int
	Timing  *backend.Timing
}

// Run uploads in, computes, and downloads to out: one entry for each input and
// output of the graph. The memory behind them is the host's and used during the
// call only.
func (p *Plan) Run(in, out []backend.Buffer, o RunOptions) error {
	if err := backend.CheckThreads(o.Threads, "the backend's"); err != nil {
		return err
	}
	s := p.session
	s.turn.Lock()
	defer s.turn.Unlock()
	// Before what may take seconds, such as an upload: a cancel that comes in the
	// meantime is this run's.
	atomic.StoreInt32(s.cancel, 0)
	i, err := p.instance(o.Dims)
	if err != nil {
		return err
	}
	if err := p.checkRun(i, in, out); err != nil {
		return status.Wrapf(err, "graph %q", p.graph.Label())
	}
	p.options = backend.RunOptions{Threads: o.Threads, Timing: o.Timing, Cancel: s.cancel}
	if s.backend.Debug() != nil && o.Timing == nil {
		p.options.Timing = &p.timing
	}
	err = i.exec.Run(in, out, &p.options)
	if s.backend.Debug() != nil && err == nil {
		p.debugRun(p.options.Timing)
	}
	p.options.Timing = nil
	if err != nil {
		return status.Wrapf(err, "graph %q", p.graph.Label())
	}
	i.complete = true
	return nil
}

// instance is a plan for given values of the dynamic dimensions.
type instance struct {
	dims     []int64
	exec     backend.Executable
	in, out  []port
	indices  []int // of the inputs whose values are indices
	flops    float64
	bytes    int64
	complete bool // a run succeeded, so that every input was given once
}

// port is an input or output as a run checks it.
type port struct {
	name   string
	tensor graph.ProgramTensor
	bytes  uintptr
}

// instance finds or builds the instance for values of the dynamic dimensions.
func (p *Plan) instance(dims []int64) (*instance, error) {
	for n, i := range p.instances {
		if !sameDims(i.dims, dims) {
			continue
		}
		p.stats.Hits++
		if n > 0 {
			copy(p.instances[1:n+1], p.instances[:n])
			p.instances[0] = i
		}
		return i, nil
	}
	return p.build(dims)
}

func (p *Plan) build(dims []int64) (*instance, error) {
	program := p.spare
	if program == nil {
		var err error
		if program, err = p.graph.Bind(dims, p.supports); err != nil {
			return nil, err
		}
	} else if err := p.graph.CheckDims(dims); err != nil {
		return nil, err
	}
	exec, err := p.session.stream.Build(program)
	if err != nil {
		return nil, status.Wrapf(err, "graph %q", p.graph.Label())
	}
	p.spare = nil
	p.stats.Builds++
	i := &instance{dims: append([]int64(nil), dims...), exec: exec}
	i.flops, i.bytes = program.Work()
	for n, t := range program.Inputs {
		i.in = append(i.in, newPort(program.Tensors[t].Name, &program.Tensors[t]))
		if i.in[n].tensor.Below > 0 {
			i.indices = append(i.indices, n)
		}
	}
	for n, t := range program.Outputs {
		i.out = append(i.out, newPort(p.graph.OutputName(n), &program.Tensors[t]))
	}
	if len(p.instances) == p.capacity {
		last := p.instances[len(p.instances)-1]
		p.instances = p.instances[:len(p.instances)-1]
		p.stats.Evictions++
		if err := last.exec.Close(); err != nil {
			_ = exec.Close()
			return nil, status.Wrapf(err, "graph %q", p.graph.Label())
		}
	}
	p.instances = append([]*instance{i}, p.instances...)
	p.debugBuild(i)
	return i, nil
}

func newPort(name string, t *graph.ProgramTensor) port {
	return port{name: name, tensor: *t, bytes: uintptr(t.Type.Bytes())}
}

func sameDims(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// checkRun finds what is wrong with a run's buffers before anything is touched.
func (p *Plan) checkRun(i *instance, in, out []backend.Buffer) error {
	if len(in) != len(i.in) {
		return status.Errorf(status.InvalidArgument, "%d inputs are given, the graph has %d", len(in), len(i.in))
	}
	if len(out) != len(i.out) {
		return status.Errorf(status.InvalidArgument, "%d outputs are given, the graph has %d", len(out), len(i.out))
	}
	for n := range in {
		if in[n].Data != nil && in[n].Bytes != i.in[n].bytes {
			return status.Errorf(status.ShapeMismatch, "input %q: %d bytes are given, it has %d", i.in[n].name, in[n].Bytes, i.in[n].bytes)
		}
	}
	for n := range out {
		if out[n].Data != nil && out[n].Bytes != i.out[n].bytes {
			return status.Errorf(status.ShapeMismatch, "output %q: %d bytes are given, it has %d", i.out[n].name, out[n].Bytes, i.out[n].bytes)
		}
	}
	if !i.complete {
		for n := range in {
			if in[n].Data == nil {
				// Each set of values of the dynamic dimensions has inputs of its own, as
				// long as it is kept.
				with := ""
				if len(i.dims) > 0 {
					with = fmt.Sprintf(" with%s since that was built", p.graph.DimsText(i.dims))
				}
				return status.Errorf(status.InvalidState, "input %q is not given, and no run has succeeded that gave it%s", i.in[n].name, with)
			}
		}
	}
	for _, n := range i.indices {
		if in[n].Data == nil {
			continue
		}
		if err := i.in[n].tensor.CheckIndices(in[n].Data); err != nil {
			return err
		}
	}
	return nil
}
