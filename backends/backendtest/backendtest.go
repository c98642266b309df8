// Package backendtest is the conformance suite that every backend runs, in one
// line of its own test: backendtest.Run(t, b).
//
// Each operator of the table has its cases (see [Cases]). A case goes the way
// that a host's call does: a graph with the operator is bound for the backend,
// which decomposes what the backend lacks, built and run; the result is compared
// with the operator's own Eval in double precision.
package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Run holds a backend to the operator table and to the backend interface.
func Run(t *testing.T, b backend.Backend) {
	t.Helper()
	RunOperators(t, b, ops.Names()...)
	runSequences(t, b)
}

// RunOperators holds a backend to some operators of the table.
func RunOperators(t *testing.T, b backend.Backend, names ...string) {
	t.Helper()
	tally := tally{complete: onCPU(b)}
	cases, special := Cases(), Special(fewSpecial)
	if !tally.complete {
		special = Special(1) // a software device takes seconds for each operator
	}
	for _, name := range names {
		t.Run("op/"+name, func(t *testing.T) {
			before := tally.run
			for i, c := range cases[name] {
				tally.add(t, name, c, tryCase(t, b, name, i, c, asDeclared(b)))
			}
			if tally.run == before {
				t.Errorf("no case of %s ran", name)
			}
		})
		t.Run("special/"+name, func(t *testing.T) {
			for i, c := range special[name] {
				tally.add(t, name, c, tryCase(t, b, name, i, c, asDeclared(b)))
			}
		})
	}
	t.Logf("%s: %v", b.Info().Name, &tally)
}

// asDeclared is the tolerance for a backend that keeps as much of the factors of
// products as it says.
func asDeclared(b backend.Backend) func(*ops.Call) float64 {
	bits := b.Info().ProductBits
	return func(c *ops.Call) float64 { return c.Tolerance(bits) }
}

// ofProducts is the tolerance of what a few products lead to.
func ofProducts(b backend.Backend) float64 { return max(1e-5, 4*math.Ldexp(1, -b.Info().ProductBits)) }

// fewSpecial is of how many cases of an operator there are some with special numbers.
const fewSpecial = 5

// onCPU says whether a backend is the CPU or the reference, which compute every call.
func onCPU(b backend.Backend) bool { return b.Info().Name == "cpu" || b.Info().Name == "reference" }

// tally counts what became of the cases.
type tally struct {
	run     int
	skipped []string // operator, case and reason

	complete bool // nothing may be skipped
}

// add counts a case by its outcome. What the backend cannot do is skipped; every
// other error is a failure.
func (y *tally) add(t *testing.T, name string, c Case, err error) {
	t.Helper()
	switch {
	case err == nil:
		y.run++
	case errors.Is(err, errUnsupported) && !y.complete:
		y.skipped = append(y.skipped, fmt.Sprintf("%s %v: %v", name, c, err))
	default:
		t.Errorf("%s %v: %v", name, c, err)
	}
}

func (y *tally) String() string {
	text := fmt.Sprintf("%d cases ran, %d were skipped", y.run, len(y.skipped))
	if len(y.skipped) > 0 {
		sort.Strings(y.skipped)
		text += ":\n  " + strings.Join(y.skipped, "\n  ")
	}
	return text
}

// errUnsupported marks what the backend says it cannot do.
var errUnsupported = errors.New("not supported")

func unsupported(err error) error {
	if status.Of(err) == status.Unsupported {
		return fmt.Errorf("%w: %w", errUnsupported, err)
	}
	return err
}

// tryCase runs a case and compares its results. The values come from a generator
// seeded with the operator's name and the case's number.
func tryCase(t *testing.T, b backend.Backend, name string, number int, c Case, tolerance func(*ops.Call) float64) error {
	t.Helper()
	if err := beyond(b, name, c); err != nil {
		return err
	}
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(name)) // a hash takes everything
	r := rand.New(rand.NewPCG(seed.Sum64(), uint64(number)))

	m := newMaker(t, b, name)
	in := make([]ops.Ref, len(c.In))
	values := make([]ops.Value, len(c.In))
	for i, o := range c.In {
		in[i] = ops.None
		if o.Type.DType == 0 {
			continue
		}
		v, data, err := o.value(r)
		if err != nil {
			return err
		}
		values[i] = v
		if in[i], err = m.leaf(o, fmt.Sprintf("%d", i), data); err != nil {
			return err
		}
	}
	call, want, err := exactly(name, c, values)
	if err != nil {
		return err
	}
	refs, err := m.graph.Op(name, in, c.Attrs, len(call.Op.Outputs))
	if err != nil {
		return err
	}
	for i, ref := range refs {
		if err := m.output(call.Op.Outputs[i], ref, want[i].Type); err != nil {
			return err
		}
	}
	if err := m.build(); err != nil {
		return unsupported(err)
	}
	// More than once: a run finds what the one before has left behind, and one that may
	// compute in the buffers leaves nothing there, and inputs as they are.
	given := make([][]byte, len(m.in))
	for i := range m.in {
		given[i] = bytes.Clone(bytesAt(m.in[i]))
	}
	for _, lent := range []bool{false, true, false} {
		m.options.Lent = lent
		got, err := m.run()
		if err != nil {
			return err
		}
		for i := range m.in {
			if !bytes.Equal(given[i], bytesAt(m.in[i])) {
				return fmt.Errorf("a run wrote to input %d", i)
			}
		}
		for i := range want {
			if err := near(got[i], want[i], tolerance(call)); err != nil {
				return fmt.Errorf("output %q: %w", call.Op.Outputs[i], err)
			}
		}
	}
	return nil
}

// beyond says why a case asks for more than a device promises.
func beyond(b backend.Backend, name string, c Case) error {
	op, err := ops.Lookup(name)
	switch {
	case err != nil || onCPU(b):
		return err
	case c.CPU:
		return fmt.Errorf("%w: only the CPU is as exact", errUnsupported)
	case hiddenShows(name, c):
		return fmt.Errorf("%w: devices may read what attention hides", errUnsupported)
	case c.Special == "NaN" && op.LosesNaN:
		return fmt.Errorf("%w: devices may lose NaN", errUnsupported)
	}
	return nil
}

// exactly computes a case in double precision.
func exactly(name string, c Case, in []ops.Value) (*ops.Call, []ops.Value, error) {
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	attrs, err := op.Bind(c.Attrs)
	if err != nil {
		return nil, nil, err
	}
	types := make([]tensor.Type, len(in))
	for i := range in {
		types[i] = in[i].Type
	}
	call, err := op.NewCall(types, attrs)
	if err != nil {
		return nil, nil, err
	}
	out := make([]ops.Value, len(call.Out))
	for i, t := range call.Out {
		out[i] = ops.NewValue(t)
	}
	return call, out, op.Eval(call, in, out)
}

// near says by how much and where a result is off by more than the tolerance
// times the largest magnitude of what it should be, at least 1.
func near(got, want ops.Value, tolerance float64) error {
	if !got.Type.Equal(want.Type) {
		return fmt.Errorf("%v, want %v", got.Type, want.Type)
	}
	for i := range want.I {
		if got.I[i] != want.I[i] {
			return fmt.Errorf("element %v is %d, want %d", position(i, want.Type.Shape), got.I[i], want.I[i])
		}
	}
	largest := 1.0
	for _, f := range want.F {
		if math.Abs(f) > math.MaxFloat32 {
			continue
		}
		if !math.IsInf(f, 0) && !math.IsNaN(f) {
			largest = math.Max(largest, math.Abs(f))
		}
	}
	worst, at := 0.0, -1
	for i, f := range want.F {
		if want.Type.DType == tensor.F32 {
			f = float64(float32(f)) // beyond f32 that is infinity
		}
		d := math.Abs(got.F[i] - f)
		if got.F[i] == f || math.IsNaN(got.F[i]) && math.IsNaN(f) {
			d = 0
		} else if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if allowed := tolerance * largest; worst > allowed {
		return fmt.Errorf("element %v is %v, want %v: off by %.3g, allowed is %.3g (%g of the largest, %.6g)",
			position(at, want.Type.Shape), got.F[at], want.F[at], worst, allowed, tolerance, largest)
	}
	return nil
}

// position is where element i lies.
func position(i int, s tensor.Shape) tensor.Shape {
	p := make(tensor.Shape, len(s))
	for axis := len(s) - 1; axis >= 0; axis-- {
		p[axis] = int64(i) % s[axis]
		i /= int(s[axis])
	}
	return p
}

// maker makes a graph and runs it. All it hands to a backend lies outside Go's
// heap, as what a host hands over does.
type maker struct {
	t       *testing.T
	backend backend.Backend
	graph   *graph.Graph
	weights *weights.Weights
	stream  backend.Stream
	exec    backend.Executable
	program *graph.Program
	options backend.RunOptions

	states map[string][]byte // initial content
	in     []backend.Buffer
	inputs [][]byte // what in points at
	out    []backend.Buffer
	types  []tensor.Type // of the outputs
	guards [][]byte      // what lies behind them
	memory memory
}

func newMaker(t *testing.T, b backend.Backend, label string) *maker {
	t.Helper()
	m := &maker{t: t, backend: b, graph: graph.New(label), weights: weights.New(), states: map[string][]byte{}}
	m.options.Cancel = m.memory.flag(t)
	t.Cleanup(m.close)
	return m
}

// leaf adds a tensor that no operator computes, with its data.
func (m *maker) leaf(o Operand, name string, data []byte) (ops.Ref, error) {
	switch o.Kind {
	case graph.Weight:
		if err := m.weights.Declare(name, o.Type); err != nil {
			return ops.None, err
		}
		if err := m.weights.Set(name, data); err != nil {
			return ops.None, err
		}
		return m.graph.Weight(m.weights, name)
	case graph.State:
		m.states[name] = data
		return m.graph.State(name, o.Type)
	default:
		buffer := m.memory.copyOf(m.t, data)
		m.inputs = append(m.inputs, buffer)
		m.in = append(m.in, pointing(buffer))
		return m.graph.Input(name, o.Type)
	}
}

// guard lies behind every output and must stay as it is.
var guard = bytes.Repeat([]byte{0xa5}, 64)

func (m *maker) output(name string, r ops.Ref, t tensor.Type) error {
	memory := m.memory.bytes(m.t, t.Bytes()+int64(len(guard)))
	copy(memory[t.Bytes():], guard)
	m.guards = append(m.guards, memory[t.Bytes():])
	m.out = append(m.out, pointing(memory[:t.Bytes()]))
	m.types = append(m.types, t)
	return m.graph.Output(name, r)
}

// build binds the graph, makes a stream with the states, and builds.
func (m *maker) build() error {
	var err error
	if m.program, err = m.graph.Bind(nil, m.backend.Supports); err != nil {
		return err
	}
	if m.stream == nil {
		if m.stream, err = m.backend.NewStream(); err != nil {
			return err
		}
	}
	for name, data := range m.states {
		t, err := m.stateType(name)
		if err != nil {
			return err
		}
		if err := m.stream.AddState(name, t); err != nil {
			return err
		}
		if err := m.writeState(name, data); err != nil {
			return err
		}
	}
	exec, err := m.stream.Build(m.program)
	if err == nil { // else exec may be a nil of the backend's own type
		m.exec = exec
	}
	return err
}

func (m *maker) stateType(name string) (tensor.Type, error) {
	s, err := m.graph.Snapshot()
	if err != nil {
		return tensor.Type{}, err
	}
	defer s.Release()
	names, types := s.States()
	for i := range names {
		if names[i] == name {
			return types[i], nil
		}
	}
	return tensor.Type{}, fmt.Errorf("no state %q", name)
}

func (m *maker) writeState(name string, data []byte) error {
	buffer := pointing(m.memory.copyOf(m.t, data))
	return m.stream.WriteState(name, 0, buffer.Data, int64(buffer.Bytes))
}

// run puts the states back to their initial content and runs once.
func (m *maker) run() ([]ops.Value, error) {
	for name, data := range m.states {
		if err := m.writeState(name, data); err != nil {
			return nil, err
		}
	}
	return m.again()
}

// again runs with the states as they are.
func (m *maker) again() ([]ops.Value, error) {
	if err := m.exec.Run(m.in, m.out, &m.options); err != nil {
		return nil, err
	}
	for i, g := range m.guards {
		if !bytes.Equal(g, guard) {
			return nil, fmt.Errorf("a run wrote behind output %d", i)
		}
	}
	got := make([]ops.Value, len(m.out))
	for i, t := range m.types {
		got[i] = ops.NewValue(t)
		if m.out[i].Data == nil {
			continue
		}
		if err := got[i].Decode(bytesAt(m.out[i])); err != nil {
			return nil, err
		}
	}
	return got, nil
}

func (m *maker) close() {
	if m.exec != nil {
		if err := m.exec.Close(); err != nil {
			m.t.Errorf("closing the executable: %v", err)
		}
	}
	if m.stream != nil {
		if err := m.stream.Close(); err != nil {
			m.t.Errorf("closing the stream: %v", err)
		}
	}
	m.graph.Release()
	m.weights.Release()
	m.memory.free(m.t)
}
