// Package run compiles programs on a stream of a backend, keeps those that are used, and
// runs them: what the plans of a session and operator-level calls have in common.
package run

import (
	"sync/atomic"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
)

// Stream is a stream of a backend whose runs can be cancelled. Calls on it, and on its
// programs, never overlap, but for Cancel.
type Stream struct {
	backend.Stream
	// home is the flag's memory: the backend looks at it while it computes, hence outside
	// Go's heap.
	home    []byte
	cancel  *backend.CancelFlag
	options backend.RunOptions // of the run in progress; here so that a run allocates nothing
}

// Open makes a stream on a backend.
func Open(b backend.Backend) (*Stream, error) {
	home, err := mem.Alloc(int64(unsafe.Sizeof(backend.CancelFlag(0))))
	if err != nil {
		return nil, err
	}
	stream, err := b.NewStream()
	if err != nil {
		_ = mem.Free(home)
		return nil, err
	}
	return &Stream{Stream: stream, home: home, cancel: (*backend.CancelFlag)(unsafe.Pointer(unsafe.SliceData(home)))}, nil
}

// Begin forgets cancels of earlier runs. It is called before what may take seconds, such
// as compiling the run's program: a cancel that comes in the meantime is this run's.
func (s *Stream) Begin() { atomic.StoreInt32(s.cancel, 0) }

// Cancel asks the run in progress to stop. It waits for nothing, and may be called from
// any goroutine.
func (s *Stream) Cancel() { atomic.StoreInt32(s.cancel, 1) }

// Close gives everything back. Every program is closed.
func (s *Stream) Close() error {
	err := s.Stream.Close()
	_ = mem.Free(s.home)
	return err
}

// Program is a graph's program compiled on a stream.
type Program struct {
	stream   *Stream
	exec     backend.Executable
	in, out  []port
	indices  []index
	dims     string // the values of the dynamic dimensions, for messages
	complete bool
}

// port is an input or output as a run checks it.
type port struct {
	name  string
	bytes uintptr
}

// index is an input whose values are checked.
type index struct {
	input  int
	tensor graph.ProgramTensor
}

// Compile compiles a program.
func (s *Stream) Compile(p *graph.Program) (*Program, error) {
	exec, err := s.Build(p)
	if err != nil {
		return nil, err
	}
	made := &Program{stream: s, exec: exec, dims: p.Dims}
	for n, t := range p.Inputs {
		x := &p.Tensors[t]
		made.in = append(made.in, port{x.Name, uintptr(x.Type.Bytes())})
		if x.Below > 0 {
			made.indices = append(made.indices, index{n, *x})
		}
	}
	for n, t := range p.Outputs {
		made.out = append(made.out, port{p.OutputNames[n], uintptr(p.Tensors[t].Type.Bytes())})
	}
	return made, nil
}

// Run checks in and out, one entry for each input and output, uploads, computes, and
// downloads; see [backend.Executable]. The cancel flag of o is the stream's.
func (p *Program) Run(in, out []backend.Buffer, o backend.RunOptions) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	s := p.stream
	s.options = o
	s.options.Cancel = s.cancel
	err := p.exec.Run(in, out, &s.options)
	s.options.Timing = nil
	if err != nil {
		return err
	}
	p.complete = true
	return nil
}

// Complete says whether a run has succeeded, so that every input was given once.
func (p *Program) Complete() bool { return p.complete }

// Placement says where the nodes run.
func (p *Program) Placement() backend.Placement { return p.exec.Placement() }

// Close gives back what the program has.
func (p *Program) Close() error { return p.exec.Close() }

// check finds what is wrong with a run's buffers before anything is touched.
func (p *Program) check(in, out []backend.Buffer) error {
	if len(in) != len(p.in) {
		return status.Errorf(status.InvalidArgument, "%d inputs are given, the graph has %d", len(in), len(p.in))
	}
	if len(out) != len(p.out) {
		return status.Errorf(status.InvalidArgument, "%d outputs are given, the graph has %d", len(out), len(p.out))
	}
	for n := range in {
		if in[n].Data != nil && in[n].Bytes != p.in[n].bytes {
			return status.Errorf(status.ShapeMismatch, "input %q: %d bytes are given, it has %d", p.in[n].name, in[n].Bytes, p.in[n].bytes)
		}
	}
	for n := range out {
		if out[n].Data != nil && out[n].Bytes != p.out[n].bytes {
			return status.Errorf(status.ShapeMismatch, "output %q: %d bytes are given, it has %d", p.out[n].name, out[n].Bytes, p.out[n].bytes)
		}
	}
	if !p.complete {
		for n := range in {
			if in[n].Data == nil {
				return p.notGiven(n)
			}
		}
	}
	for i := range p.indices {
		x := &p.indices[i]
		if in[x.input].Data == nil {
			continue
		}
		if err := x.tensor.CheckIndices(in[x.input].Data); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) notGiven(n int) error {
	with := ""
	if p.dims != "" {
		// Each set of values of the dynamic dimensions has inputs of its own, as long as it
		// is kept.
		with = " with" + p.dims + " since that was built"
	}
	return status.Errorf(status.InvalidState, "input %q is not given, and no run has succeeded that gave it%s", p.in[n].name, with)
}
