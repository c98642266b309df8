package session

import (
	"math"
	"sync/atomic"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/refcount"
	"qtsaccel/core/run"
	"qtsaccel/core/status"
)

// Plan is a graph compiled on a session. Everything in it is used by whoever
// has the session's turn.
type Plan struct {
	session  *Session
	graph    *graph.Snapshot
	refs     refcount.Counter
	supports func(*ops.Call) bool // what the plan may be made of
	ports    atomic.Pointer[ports]

	instances *run.Cache[*instance]
	spare     *graph.Program
	stats     CacheStats
	timing    backend.Timing // of a run whose host did not ask for it
}

// Options are the options of a plan; zero values are the defaults.
type Options struct {
	MaxInstances int  // 0: 32
	Strict       bool // nothing may go to the CPU fallback
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
	p := &Plan{
		session: s, graph: snapshot, supports: s.backend.Impl().Supports,
		instances: run.NewCache[*instance](o.MaxInstances, 0),
	}
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
	_ = p.instances.Close()
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
	s.stream.Begin()
	i, err := p.instance(o.Dims)
	if err != nil {
		return err
	}
	if s.backend.Debug() != nil && o.Timing == nil {
		o.Timing = &p.timing
	}
	err = i.Run(in, out, backend.RunOptions{Threads: o.Threads, Timing: o.Timing})
	if err != nil {
		return status.Wrapf(err, "graph %q", p.graph.Label())
	}
	if s.backend.Debug() != nil {
		p.debugRun(o.Timing)
	}
	return nil
}

// instance is a plan for given values of the dynamic dimensions.
type instance struct {
	*run.Program
	dims  []int64
	flops float64
	bytes int64
}

// instance finds or builds the instance for values of the dynamic dimensions.
func (p *Plan) instance(dims []int64) (*instance, error) {
	if i, ok := p.instances.Get(keyOf(dims)); ok {
		p.stats.Hits++
		return i, nil
	}
	return p.build(dims)
}

// keyOf gives the memory of values: they are a key that need not be written first.
func keyOf(dims []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dims))), len(dims)*int(unsafe.Sizeof(int64(0))))
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
	compiled, err := p.session.stream.Compile(program)
	if err != nil {
		return nil, status.Wrapf(err, "graph %q", p.graph.Label())
	}
	p.spare = nil
	p.stats.Builds++
	i := &instance{Program: compiled, dims: append([]int64(nil), dims...)}
	i.flops, i.bytes = program.Work()
	evicted, err := p.instances.Add(keyOf(dims), i, 0)
	p.stats.Evictions += uint64(evicted)
	if err != nil {
		return nil, status.Wrapf(err, "graph %q", p.graph.Label())
	}
	p.debugBuild(i)
	return i, nil
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
