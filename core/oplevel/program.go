package oplevel

import (
	"errors"
	"strconv"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/run"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
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

func newProgram(supports func(*ops.Call) bool, stream *run.Stream, r *request, write func(*sketch)) (made *program, err error) {
	s := &sketch{graph: graph.New(r.op), constants: &mem.Arena{}}
	defer s.graph.Release()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.constants.Free())
		}
	}()
	write(s)
	if s.err != nil {
		return nil, s.err
	}
	bound, err := s.graph.Bind(nil, supports)
	if err != nil {
		return nil, err
	}
	compiled, err := stream.Compile(bound)
	if err != nil {
		return nil, err
	}
	return &program{
		Program: compiled, feeds: s.feeds, hostInputs: s.hostInputs, in: make([]backend.Buffer, len(s.feeds)),
		matrices: append([]*Matrix(nil), r.matrices...), constants: s.constants,
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

// sketch writes the graph of a call. After a failure its methods do nothing.
type sketch struct {
	graph      *graph.Graph
	feeds      []feed
	hostInputs int
	outputs    int
	constants  *mem.Arena
	unseen     int64 // bytes of constants since free memory was looked at
	err        error
}

// input adds the next input of the request.
func (s *sketch) input(t tensor.Type) ops.Ref {
	r := s.addInput(t, feed{host: s.hostInputs})
	s.hostInputs++
	return r
}

// constant adds an input that is uploaded at the program's first run only; fill writes
// it, into memory outside Go's heap that is zero. OUT_OF_MEMORY: there is not so much.
func (s *sketch) constant(t tensor.Type, fill func(data []byte)) ops.Ref {
	if s.err == nil {
		s.err = t.Check(false)
	}
	if s.err != nil {
		return ops.None
	}
	n := t.Bytes()
	// What was filled since the last look is seen as taken; many small ones add up.
	if s.unseen += n; s.unseen >= constantsUnseen {
		s.unseen = 0
		if s.err = mem.Check(n + constantsUnseen); s.err != nil {
			return ops.None
		}
	}
	var data []byte
	if data, s.err = s.constants.Alloc(n); s.err != nil {
		return ops.None
	}
	fill(data)
	return s.addInput(t, feed{constant: data})
}

// constantsUnseen is how many bytes of constants are made between two looks at what is
// free.
const constantsUnseen = 16 << 20

// zeros is an f32 tensor of zeros that the backend makes.
func (s *sketch) zeros(rows, columns int64) ops.Ref {
	if s.err == nil {
		s.err = f32(rows, columns).Check(false)
	}
	if s.err != nil {
		return ops.None
	}
	return s.reshape(s.op("arange", nil, ops.IntAttr("count", rows*columns), ops.RealAttr("step", 0)), rows, columns)
}

func (s *sketch) addInput(t tensor.Type, f feed) ops.Ref {
	if s.err != nil {
		return ops.None
	}
	var r ops.Ref
	r, s.err = s.graph.Input("input "+itoa(len(s.feeds)), t)
	s.feeds = append(s.feeds, f)
	return r
}

func (s *sketch) weight(m *Matrix) ops.Ref {
	if s.err != nil {
		return ops.None
	}
	var r ops.Ref
	r, s.err = s.graph.Weight(m.weights, m.tensor.Name)
	return r
}

// op adds an operator with one output.
func (s *sketch) op(name string, in []ops.Ref, attrs ...ops.AttrArg) ops.Ref {
	if s.err != nil {
		return ops.None
	}
	var out []ops.Ref
	if out, s.err = s.graph.Op(name, in, attrs, 1); s.err != nil {
		return ops.None
	}
	return out[0]
}

func (s *sketch) reshape(x ops.Ref, shape ...int64) ops.Ref {
	return s.op("reshape", []ops.Ref{x}, ops.IntsAttr("shape", shape...))
}

// output makes a tensor the next output of the request.
func (s *sketch) output(x ops.Ref) {
	if s.err == nil {
		s.err = s.graph.Output("output "+itoa(s.outputs), x)
		s.outputs++
	}
}

func f32(shape ...int64) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: shape} }

func itoa(n int) string { return strconv.Itoa(n) }
