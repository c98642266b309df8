package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"qtsaccel/core/guarded"
	"qtsaccel/core/mem"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// Open opens a GGUF or safetensors file, told apart by content, with all the files
// that it belongs with: the first part of a split GGUF file opens the others, and
// so does the index of safetensors files, model.safetensors.index.json. Only
// regular files are opened, never a pipe or a device that might block. The result
// has one reference.
//
// IO: a file cannot be opened or read, or becomes shorter meanwhile; CORRUPT: it is
// no such file, or a wrong one, or files do not belong together; UNSUPPORTED: it
// has what the library does not; OUT_OF_MEMORY, with the bytes wanted and free,
// before anything is read. Messages have the path of the file at fault.
func Open(path string) (*Weights, error) { return OpenWith(path, Options{}) }

// OpenWith is [Open] with options. As it reads, it may also end with CANCELLED, and
// with INVALID_ARGUMENT: wrong options, or a value that the type of a rule cannot
// hold; and with ALREADY_EXISTS: rules that give two tensors one name.
func OpenWith(path string, o Options) (*Weights, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	w := New()
	if err := w.load(s, o); err != nil {
		s.close()
		w.Release()
		return nil, status.Wrapf(err, "%q", path)
	}
	return w, nil
}

// load fills empty weights from a source, which it closes as far as it is not
// needed any more.
func (w *Weights) load(s *source, o Options) error {
	all, plan := s.place(o)
	if err := plan.checkMemory(o.Budget); err != nil {
		return err
	}
	memory, err := w.arena.Alloc(plan.MemoryBytes)
	if err != nil {
		return status.Wrapf(err, "%d tensors", plan.Tensors)
	}
	if err := checkColumns(all); err != nil {
		return err
	}
	w.metadata, w.keys = s.metadata, s.keys
	l := loader{options: o, total: plan.FileBytes, done: plan.MappedBytes}
	for i := range all {
		p := &all[i]
		stored := Stored{
			Name: p.name, FileName: p.Name, From: p.Type, FileDType: p.FileDType(), FileShape: p.FileShape(), FileBytes: p.Bytes,
			As: p.as, Placement: Copied, Note: p.note, Skipped: p.skipped,
		}
		if p.skipped {
			w.stored = append(w.stored, stored)
			continue
		}
		t, err := w.addPlaced(p)
		if err != nil {
			return err
		}
		p.tensor = t
		if why := p.why(); why != "" {
			t.refuse(&p.sourced, why)
			stored.Foreign, stored.Note = true, why
		} else if p.mapped {
			if err := p.file.mapAll(); err != nil {
				return err
			}
			t.data = p.file.mapping[p.Offset : p.Offset+p.Bytes : p.Offset+p.Bytes]
			t.inPlace, t.file, t.end = o.Placement == Mapped, p.file, p.Offset+p.Bytes
			stored.Placement = Mapped
		} else {
			end := p.at + p.typ().Bytes()
			t.own = memory[p.at:end:end]
			t.data = t.own
			l.add(p, t.own)
		}
		w.stored = append(w.stored, stored)
	}
	if err := l.run(); err != nil {
		return err
	}
	if err := w.keepUnheld(all, l.unheld, o); err != nil {
		return err
	}
	for _, f := range s.files {
		if f.mapping != nil || f.kept {
			w.files = append(w.files, f)
		} else {
			f.close()
		}
	}
	return nil
}

// keepUnheld takes tensors in as the file has them whose values are too small for the
// type that a rule gave them.
func (w *Weights) keepUnheld(all []placed, unheld map[*placed]error, o Options) error {
	if len(unheld) == 0 {
		return nil
	}
	// They are reported as read already: progress is told nothing more.
	l := loader{options: Options{}}
	var plan MemoryPlan
	plan.settle(all, func(p *placed) bool { return p.mapped })
	for i := range all {
		p := &all[i]
		why, ok := unheld[p]
		if !ok {
			continue
		}
		if u, ok := errors.AsType[*quant.Unheld](why); ok && p.Foreign != nil && p.Foreign.Rounded && u.DType == tensor.F32 {
			p.tensor.refuse(&p.sourced, fmt.Sprintf("of its f64 numbers, %v", u))
			w.stored[i].Foreign, w.stored[i].Note = true, p.tensor.foreign.Error()
			continue
		}
		plan.MemoryBytes += p.Type.Bytes()
		if err := plan.checkBudget(o.Budget); err != nil {
			return status.Wrapf(err, "tensor %.200q, which %v cannot hold", p.Name, p.as)
		}
		memory, err := w.arena.Alloc(p.Type.Bytes())
		if err != nil {
			return status.Wrapf(err, "tensor %.200q, %v", p.Name, p.Type)
		}
		t := p.tensor
		t.Type.DType, t.own, t.data = p.Type.DType, memory, memory
		w.stored[i].As, w.stored[i].Note = p.Type.DType, fmt.Sprintf("stays as it is: %v", why)
		p.as, p.importance = p.Type.DType, nil
		l.add(p, memory)
	}
	return l.run()
}

// checkColumns finds an importance that has not as many columns as its tensor.
func checkColumns(all []placed) error {
	for i := range all {
		p := &all[i]
		if columns := p.Type.Shape.Dim(-1); p.importance != nil && int64(len(p.importance)) != columns {
			return status.Errorf(status.ShapeMismatch, "tensor %.200q, %v, has %d columns, its importance %d", p.Name, p.Type, columns, len(p.importance))
		}
	}
	return nil
}

func (w *Weights) addPlaced(p *placed) (*Tensor, error) {
	if p.name != p.Name {
		if err := checkName(p.name); err != nil {
			return nil, status.Wrapf(err, "renaming %.200q", p.Name)
		}
	}
	return w.add(p.name, p.typ())
}

// mapAll maps the file unless it is mapped.
func (f *file) mapAll() (err error) {
	if f.mapping == nil {
		f.mapping, err = mem.MapFile(f.f, f.size)
	}
	return err
}

// loader reads tensors into their memory, in pieces, on several threads.
type loader struct {
	options Options
	pieces  []piece
	done    int64
	total   int64
	next    atomic.Int64
	stopped atomic.Bool

	mu     sync.Mutex
	unheld map[*placed]error // tensors with values that are too small for their types
}

// piece is a part of a tensor, at most pieceBytes of the file.
type piece struct {
	tensor *placed
	from   int64 // bytes of the tensor in the file
	bytes  int64
	dst    []byte
}

const (
	// pieceBytes is read at a time: enough that a call does not count, little
	// enough that threads end together.
	pieceBytes = 4 << 20
	// pieceElements are converted at a time: whole blocks of every type.
	pieceElements = 1 << 18
	// readers is how many threads read at most: two were found to reach what
	// memory takes, more help where huge pages are not to be had.
	readers = 4
)

func (l *loader) add(p *placed, dst []byte) {
	step := int64(pieceBytes)
	if p.converted() {
		step = p.fileBytes(p.elementsAPiece())
	}
	for from := int64(0); from < p.Bytes; from += step {
		n := min(step, p.Bytes-from)
		to := n
		if p.converted() {
			to = bytesOf(p.as, p.fileElements(n))
		}
		l.pieces = append(l.pieces, piece{p, from, n, dst[:to]})
		dst = dst[to:]
	}
}

// elementsAPiece is how many elements are converted at a time: whole rows by importance,
// and where a row's values are judged together.
func (p *placed) elementsAPiece() int64 {
	if row := p.Type.Shape.Dim(-1); row > 0 && (p.importance != nil || p.as.Float()) {
		return max(1, pieceElements/row) * row
	}
	return pieceElements
}

// bytesOf is the size of whole blocks of a type.
func bytesOf(d tensor.DType, elements int64) int64 {
	block, bytes := d.Block()
	return elements / block * bytes
}

func elementsOf(d tensor.DType, size int64) int64 {
	block, bytes := d.Block()
	return size / bytes * block
}

// run reads all pieces and reports on the way; no reader is left when it returns.
func (l *loader) run() error {
	threads := min(runtime.GOMAXPROCS(0), len(l.pieces))
	if !slices.ContainsFunc(l.pieces, func(p piece) bool { return p.tensor.converted() }) {
		threads = min(threads, readers)
	}
	var group guarded.Group
	var reading atomic.Int64
	read := make(chan int64, threads)
	reading.Store(int64(threads))
	for range threads {
		group.Go(func() error {
			defer func() { // however it ends
				if reading.Add(-1) == 0 {
					close(read)
				}
			}()
			err := guarded.Call(func() error { return l.work(read) })
			if err != nil {
				l.stopped.Store(true)
			}
			return err
		})
	}
	if threads == 0 {
		close(read)
	}
	cancelled := !l.report()
	for n := range read {
		l.done += n
		cancelled = cancelled || !l.report()
	}
	if cancelled {
		return status.Errorf(status.Cancelled, "cancelled after %d of %d bytes", l.done, l.total)
	}
	return group.Wait()
}

// report tells the host, and stops the readers if it says so.
func (l *loader) report() bool {
	if l.options.Progress == nil || l.options.Progress(l.done, l.total) {
		return true
	}
	l.stopped.Store(true)
	return false
}

// work reads pieces until none is left, or something stops it.
func (l *loader) work(read chan<- int64) error {
	var c converter
	for {
		i := int(l.next.Add(1)) - 1
		if i >= len(l.pieces) || l.stopped.Load() {
			return nil
		}
		p := &l.pieces[i]
		err := c.fill(p, l.options.Encode)
		if u, ok := errors.AsType[*quant.Unheld](err); ok && (u.Small || u.DType == tensor.F32) {
			l.note(p.tensor, err)
		} else if err != nil {
			return status.Wrapf(err, "tensor %.200q, %v", p.tensor.Name, p.tensor.Type)
		}
		read <- p.bytes
	}
}

// note keeps that a type cannot hold a tensor's values.
func (l *loader) note(p *placed, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unheld == nil {
		l.unheld = map[*placed]error{}
	}
	if l.unheld[p] == nil {
		l.unheld[p] = err
	}
}

// store converts values to a type, those of f16 and bf16 row by row.
func (p *placed) store(to tensor.DType, dst []byte, values []float32) error {
	row := int(p.Type.Shape.Dim(-1))
	if !to.Float() || row == 0 {
		return quant.Store(to, dst, values)
	}
	bytes := int(bytesOf(to, int64(row)))
	for i := 0; i < len(values); i += row {
		if err := quant.Store(to, dst[:bytes], values[i:i+row]); err != nil {
			return status.Wrapf(err, "row %d of these", i/row)
		}
		dst = dst[bytes:]
	}
	return nil
}

// converter is the memory that a thread converts in.
type converter struct {
	raw    []byte
	wide   []byte // what was widened
	values []float32
}

func (c *converter) fill(p *piece, encode Encoder) error {
	from, to := p.tensor.Type.DType, p.tensor.as
	if from == to && p.tensor.widen() == nil {
		return readPiece(p, p.dst)
	}
	if from == to {
		return c.widen(p, p.dst)
	}
	values, err := c.read(p)
	if err != nil {
		return err
	}
	if p.tensor.importance == nil && quant.CanEncode(to) {
		err = p.tensor.store(to, p.dst, values)
	} else if err = quant.CheckFinite(to, values); err == nil {
		if err = encode(to, p.dst, values, p.tensor.importance); err == nil {
			err = quant.CheckStored(to, p.dst, values, p.tensor.importance)
		}
	}
	return status.Wrapf(err, "from element %d on", p.tensor.fileElements(p.from))
}

// widen reads elements that the file has in a narrower type, or f64.
func (c *converter) widen(p *piece, dst []byte) error {
	c.raw = slices.Grow(c.raw[:0], int(p.bytes))
	raw := c.raw[:p.bytes]
	if err := readPiece(p, raw); err != nil {
		return err
	}
	p.tensor.widen()(dst, raw)
	if p.tensor.Foreign.Rounded {
		return status.Wrapf(quant.CheckF64(raw), "from element %d on", p.tensor.fileElements(p.from))
	}
	return nil
}

// read gives the values of a piece. Those that the file has as the host would have
// them are read where they are wanted.
func (c *converter) read(p *piece) ([]float32, error) {
	from := p.tensor.Type.DType
	n := int(p.tensor.fileElements(p.bytes))
	c.values = slices.Grow(c.values[:0], n)
	values := c.values[:n]
	if p.tensor.widen() != nil {
		size := int(bytesOf(from, int64(n)))
		c.wide = slices.Grow(c.wide[:0], size)
		if err := c.widen(p, c.wide[:size]); err != nil {
			return nil, err
		}
		return values, quant.Decode(from, values, c.wide[:size])
	}
	if from == tensor.F32 && littleEndian {
		return values, readPiece(p, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), p.bytes))
	}
	c.raw = slices.Grow(c.raw[:0], int(p.bytes))
	raw := c.raw[:p.bytes]
	if err := readPiece(p, raw); err != nil {
		return nil, err
	}
	return values, quant.Decode(from, values, raw)
}

// littleEndian says that the host keeps numbers as files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func readPiece(p *piece, dst []byte) error {
	return tensorfile.ReadAt(p.tensor.file.r, dst, p.tensor.Offset+p.from)
}
