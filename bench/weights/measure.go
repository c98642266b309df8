package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"qtsaccel/backends/providers"
	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/engine"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/ops"
	"qtsaccel/core/session"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

const (
	matrices = 32
	columns  = 4096
)

// bench has what measurements use.
type bench struct {
	build    *providers.Set
	backend  *engine.Backend
	session  *session.Session
	plugins  string
	f16, f32 string // files of 1 GiB
}

func newBench(out, plugins string) (*bench, error) {
	b := &bench{f16: filepath.Join(out, "weights-f16.gguf"), f32: filepath.Join(out, "weights-f32.gguf")}
	var err error
	if b.plugins, err = filepath.Abs(plugins); err != nil {
		return nil, err
	}
	b.build = providers.New(func(name string) string {
		if name == "QTSACCEL_PLUGIN_DIR" {
			return b.plugins // not what the environment has: the build beside it is measured
		}
		return os.Getenv(name)
	}, "")
	if b.backend, err = engine.Open(choice.Request{Backend: "cpu", PluginDir: b.plugins}, os.Getenv, b.build.All()); err != nil {
		return nil, err
	}
	b.session, err = session.New(b.backend)
	return b, err
}

// files makes the files of 1 GiB, unless they are there.
func (b *bench) files(*result) error {
	for path, d := range map[string]tensor.DType{b.f16: tensor.F16, b.f32: tensor.F32} {
		if info, err := os.Stat(path); err == nil && info.Size() > size {
			continue
		}
		if err := makeFile(path, d, size); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close() {
	b.session.Release()
	b.backend.Release()
}

// makeFile writes matrices of small numbers, so many bytes in all.
func makeFile(path string, d tensor.DType, bytes int64) error {
	w := weights.New()
	defer w.Release()
	t := tensor.Type{DType: d, Shape: tensor.Shape{0, columns}}
	_, width := d.Block()
	t.Shape[0] = bytes / matrices / columns / width
	data := make([]byte, t.Bytes())
	for i := 0; i < len(data); i += int(width) { // between 1/64 and 2, of both signs
		n := uint32(i)*2654435761>>7 ^ uint32(i)
		data[i], data[i+int(width)-2] = byte(n), byte(n>>8)
		if d == tensor.F16 {
			data[i+1] = byte(n>>16)&0x83 | 0x24 + byte(n>>20)&0x18
		} else {
			data[i+3] = byte(n>>16)&0x80 | 0x3c + byte(n>>20)&3
		}
	}
	for _, name := range matrixNames() {
		if err := w.Declare(name, t); err != nil {
			return err
		}
		if err := w.Set(name, data); err != nil {
			return err
		}
	}
	return modelfile.Save(w, path, nil, nil)
}

func matrixNames() []string {
	names := make([]string, matrices)
	for i := range names {
		names[i] = fmt.Sprintf("blk.%d.weight", i)
	}
	return names
}

// plan is a plan of products with weights, with its input and output.
type plan struct {
	*session.Plan
	in, out []backend.Buffer
	memory  mem.Arena
}

// newPlan multiplies rows of x with each of the weights.
func (b *bench) newPlan(w *weights.Weights, rows int64, names ...string) (*plan, error) {
	g := graph.New("weights")
	defer g.Release()
	x, err := g.Input("x", tensor.Type{DType: tensor.F32, Shape: tensor.Shape{rows, columns}})
	if err != nil {
		return nil, err
	}
	p := &plan{}
	if p.in, err = p.buffers(p.in, rows*columns); err != nil {
		return nil, err
	}
	for i, name := range names {
		weight, err := g.Weight(w, name)
		if err != nil {
			return nil, err
		}
		y, err := g.Op("linear", []ops.Ref{x, weight}, nil, 1)
		if err != nil {
			return nil, err
		}
		if err := g.Output(fmt.Sprint(i), y[0]); err != nil {
			return nil, err
		}
		t, err := find(w, name)
		if err != nil {
			return nil, err
		}
		if p.out, err = p.buffers(p.out, rows*t.Type.Shape[0]); err != nil {
			return nil, err
		}
	}
	if p.Plan, err = session.NewPlan(b.session, g, session.Options{}); err != nil {
		return nil, err
	}
	return p, p.Prepare(nil)
}

func (p *plan) buffers(list []backend.Buffer, elements int64) ([]backend.Buffer, error) {
	data, err := p.memory.Alloc(4 * elements)
	if err != nil {
		return nil, err
	}
	return append(list, backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(data)), Bytes: uintptr(len(data))}), nil
}

func (p *plan) run() error { return p.Run(p.in, p.out, session.RunOptions{}) }

func (p *plan) close() {
	p.Release()
	_ = p.memory.Free()
}

// plans measures from a file to a plan, and the first run after, beside copies of as
// many bytes in memory, turn by turn. Of the rates the best counts: others on the machine
// only slow a copy down, often by more than what is to be measured.
func (b *bench) plans(r *result) error {
	var memory mem.Arena
	defer func() { _ = memory.Free() }()
	src, err := memory.Alloc(size)
	if err != nil {
		return err
	}
	touched, err := memory.Alloc(size)
	if err != nil {
		return err
	}
	for i := range src {
		src[i], touched[i] = byte(i), 1
	}
	opened := map[weights.Placement]*times{weights.Mapped: {}, weights.Copied: {}}
	open := func(p weights.Placement) func() error {
		return func() error { return b.toPlan(p, opened[p]) }
	}
	var intoNew, intoTouched, onThreads []float64
	turns := []func() error{
		open(weights.Mapped), open(weights.Copied),
		func() error {
			return timed(&intoNew, func() error {
				dst, err := mem.Alloc(size)
				if err != nil {
					return err
				}
				copyOnThreads(dst, src)
				return mem.Free(dst)
			})
		},
		func() error { return timed(&intoTouched, func() error { copy(touched, src); return nil }) },
		func() error { return timed(&onThreads, func() error { copyOnThreads(touched, src); return nil }) },
	}
	for i := range 2 * rounds {
		for j := range turns {
			if err := turns[(i+j)%len(turns)](); err != nil {
				return err
			}
		}
	}
	mapped, copied := opened[weights.Mapped], opened[weights.Copied]
	r.MapMS, r.FirstRunMappedMS = median(mapped.ready), median(mapped.firstRun)
	r.CopiedPlanMS, r.FirstRunCopiedMS = median(copied.ready), median(copied.firstRun)
	r.CopyGBs, r.MemcpyNewGBs = rate(copied.ready), rate(intoNew)
	r.MemcpyTouchedGBs, r.MemcpyTouchedThreadsGBs = rate(intoTouched), rate(onThreads)
	overNew, overTouched := *r.CopyGBs / *r.MemcpyNewGBs, *r.CopyGBs / *r.MemcpyTouchedGBs
	r.CopyOverMemcpy, r.CopyOverTouched = &overNew, &overTouched
	return nil
}

// times are milliseconds from a file to a plan, and of the run after it.
type times struct{ ready, firstRun []float64 }

func (b *bench) toPlan(p weights.Placement, t *times) error {
	var w *weights.Weights
	var plan *plan
	err := timed(&t.ready, func() (err error) {
		if w, err = modelfile.Open(b.f16, modelfile.Options{Placement: p}); err == nil {
			plan, err = b.newPlan(w, 1, matrixNames()...)
		}
		return err
	})
	if err == nil {
		err = timed(&t.firstRun, plan.run)
		plan.close()
	}
	if w != nil {
		w.Release()
	}
	return err
}

// rate is how many GB a second go through the fastest copy of the size.
func rate(ms []float64) *float64 {
	r := size / slices.Min(ms) / 1e6
	return &r
}

// timed appends the milliseconds that f takes.
func timed(to *[]float64, f func() error) error {
	ms, err := milliseconds(f)
	*to = append(*to, ms)
	return err
}

// copyOnThreads copies on as many threads as reading takes.
func copyOnThreads(dst, src []byte) {
	threads := min(runtime.GOMAXPROCS(0), 4)
	var group sync.WaitGroup
	for i := range threads {
		from, to := len(src)/threads*i, len(src)/threads*(i+1)
		group.Go(func() { copy(dst[from:to], src[from:to]) })
	}
	group.Wait()
}

// quantise measures converting on the way in, beside ggml's own routine in memory on as
// many threads, turn by turn.
func (b *bench) quantise(r *result) error {
	encode, err := b.build.Encoder()
	if err != nil {
		return err
	}
	var memory mem.Arena
	defer func() { _ = memory.Free() }()
	raw, err := memory.Alloc(size / 4)
	if err != nil {
		return err
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/4)
	for i := range values {
		values[i] = float32(int32(uint32(i)*2654435761)) / (1 << 31)
	}
	for _, c := range []struct {
		dtype     tensor.DType
		to, ofRaw **float64
	}{{tensor.Q8_0, &r.QuantizeQ8GBs, &r.RawQuantizeQ8GBs}, {tensor.Q4_K, &r.QuantizeQ4KGBs, &r.RawQuantizeQ4KGBs}} {
		var ours, ggmls []float64
		for range rounds / 3 {
			err := timed(&ours, func() error {
				w, err := modelfile.Open(b.f32, modelfile.Options{Rules: []modelfile.Rule{{Pattern: "*", DType: c.dtype}}, Encode: encode})
				if err == nil {
					defer w.Release()
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := timed(&ggmls, func() error { return quantiseOnThreads(encode, c.dtype, values) }); err != nil {
				return err
			}
		}
		us, raw := size / *median(ours) / 1e6, size/4 / *median(ggmls) / 1e6
		*c.to, *c.ofRaw = &us, &raw
	}
	return nil
}

// quantiseOnThreads quantises pieces on all threads into memory of theirs.
func quantiseOnThreads(encode modelfile.Encoder, d tensor.DType, values []float32) error {
	const piece = 1 << 18
	block, bytes := d.Block()
	errs := make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			dst := make([]byte, piece/block*bytes)
			for errs[i] == nil {
				at := int(next.Add(piece)) - piece
				if at >= len(values) {
					return
				}
				errs[i] = encode(d, dst, values[at:at+piece], nil)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// alignment measures products of one row with the same matrix at a multiple of 64
// and at 32 beyond one: of matrices that a cache holds, and of those that come from
// memory.
func (b *bench) alignment(r *result) error {
	dir, err := os.MkdirTemp("", "qtsaccel-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.Align32Over64 = map[string]float64{}
	for _, c := range []struct {
		name string
		rows int64 // of the matrix
	}{{"cached", 512}, {"memory", 8192}} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0} {
			ratio, err := b.aligned(filepath.Join(dir, "aligned.gguf"), tensor.Type{DType: d, Shape: tensor.Shape{c.rows, columns}})
			if err != nil {
				return err
			}
			r.Align32Over64[c.name+" "+d.String()] = ratio
		}
	}
	return nil
}

// aligned is the time from 32 beyond over that from a multiple of 64.
func (b *bench) aligned(path string, t tensor.Type) (float64, error) {
	w := weights.New()
	defer w.Release()
	// 32 bytes between two: whichever way the file begins, one of them lies at a
	// multiple of 64.
	for i, t := range []tensor.Type{t, {DType: tensor.F32, Shape: tensor.Shape{8}}, t} {
		name := strconv.Itoa(i)
		if err := w.Declare(name, t); err != nil {
			return 0, err
		}
		if err := w.Set(name, make([]byte, t.Bytes())); err != nil {
			return 0, err
		}
	}
	if err := modelfile.Save(w, path, nil, nil); err != nil {
		return 0, err
	}
	mapped, err := modelfile.Open(path, modelfile.Options{Placement: weights.Mapped})
	if err != nil {
		return 0, err
	}
	defer mapped.Release()
	first, err := b.newPlan(mapped, 1, "0")
	if err != nil {
		return 0, err
	}
	defer first.close()
	second, err := b.newPlan(mapped, 1, "2")
	if err != nil {
		return 0, err
	}
	defer second.close()
	x, err := find(mapped, "0")
	if err != nil {
		return 0, err
	}
	data, err := x.Freeze()
	if err != nil {
		return 0, err
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%64 != 0 {
		first, second = second, first
	}
	return ratioOf(second.run, first.run)
}

// ratioOf is the median of how long a takes over b, turn by turn.
func ratioOf(a, b func() error) (float64, error) {
	var ratios []float64
	for range 10 * rounds {
		var ms [2]float64
		for i, f := range []func() error{a, b} {
			if err := f(); err != nil {
				return 0, err
			}
			var err error
			if ms[i], err = milliseconds(f); err != nil {
				return 0, err
			}
		}
		ratios = append(ratios, ms[0]/ms[1])
	}
	return *median(ratios), nil
}

func find(w *weights.Weights, name string) (*weights.Tensor, error) {
	i, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	return w.At(i)
}

var modelName = regexp.MustCompile(`model name\s*: (.*)`)

func cpuName(cpuinfo string) string {
	if m := modelName.FindStringSubmatch(cpuinfo); m != nil {
		return m[1]
	}
	return runtime.GOARCH
}
