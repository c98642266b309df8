package oplevel

import (
	"errors"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/run"
	"qtsaccel/core/status"
)

// program is a call's operators compiled on a worker.
type program struct {
	*run.Program
	feeds      []feed           // one for each of the program's inputs
	hostInputs int              // how many of them are the host's
	in         []backend.Buffer // of the run in progress
	matrices   []*Matrix
	constants  *mem.Arena
}

// feed is where an input's content comes from: the host, or a constant that is
// uploaded once.
type feed struct {
	host     int
	constant []byte
}

func newProgram(supports func(*ops.Call) bool, stream *run.Stream, r *request, write func(*builder)) (made *program, err error) {
	b := &builder{graph: graph.New(r.op), constants: &mem.Arena{}}
	defer b.graph.Release()
	defer func() {
		if err != nil {
			err = errors.Join(err, b.constants.Free())
		}
	}()
	write(b)
	if b.err != nil {
		return nil, b.err
	}
	bound, err := b.graph.Bind(nil, supports)
	if err != nil {
		return nil, err
	}
	compiled, err := stream.Compile(bound)
	if err != nil {
		return nil, err
	}
	return &program{
		Program: compiled, feeds: b.feeds, hostInputs: b.hostInputs, in: make([]backend.Buffer, len(b.feeds)),
		matrices: append([]*Matrix(nil), r.matrices...), constants: b.constants,
	}, nil
}

// run uploads, computes and downloads.
func (p *program) run(w *worker, r *request) error {
	if len(r.in) != p.hostInputs { // a key that does not tell programs apart
		return status.Errorf(status.Internal, "%s: %d inputs are given, the program has %d", r.op, len(r.in), p.hostInputs)
	}
	kept := p.Complete() // what is constant is kept from the first run
	for i := range p.feeds {
		switch f := &p.feeds[i]; {
		case f.constant == nil:
			p.in[i] = r.in[f.host]
		case kept:
			p.in[i] = backend.Buffer{}
		default:
			p.in[i] = bufferOf(f.constant)
		}
	}
	w.stream.Begin()
	err := p.Run(p.in, r.out, backend.RunOptions{Lent: kept})
	clear(p.in)
	if err != nil {
		return status.Wrapf(err, "%s", r.op)
	}
	if !kept {
		return p.dropConstants()
	}
	return nil
}

// dropConstants gives back what the program has uploaded, or never will.
func (p *program) dropConstants() error {
	for i := range p.feeds {
		if p.feeds[i].constant != nil {
			p.feeds[i].constant = []byte{}
		}
	}
	return p.constants.Free()
}

// Close gives back what the program has.
func (p *program) Close() error { return errors.Join(p.Program.Close(), p.dropConstants()) }
