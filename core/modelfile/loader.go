package modelfile

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"qtsaccel/core/guarded"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

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
			to = p.as.BytesOf(p.fileElements(n))
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
