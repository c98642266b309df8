package oplevel

import (
	"slices"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
)

// worker is a stream of the backend with the programs that were built on it. Whoever
// has leased it has it alone.
type worker struct {
	stream     backend.Stream
	cancelHome []byte // outside Go's heap, where backends look
	programs   map[string]*program
	ioBytes    int64  // of all programs' inputs and outputs
	swept      uint64 // how many released matrices it has looked for
	options    backend.RunOptions
}

// The bounds of what a worker keeps built.
const (
	maxPrograms = 64
	maxIOBytes  = 512 << 20
)

func (c *Calls) newWorker() (*worker, error) {
	home, err := mem.Alloc(int64(unsafe.Sizeof(backend.CancelFlag(0))))
	if err != nil {
		return nil, err
	}
	stream, err := c.impl.NewStream()
	if err != nil {
		_ = mem.Free(home)
		return nil, err
	}
	return &worker{
		stream:     stream,
		cancelHome: home,
		programs:   map[string]*program{},
		options:    backend.RunOptions{Cancel: (*backend.CancelFlag)(unsafe.Pointer(unsafe.SliceData(home)))},
	}, nil
}

// lease gives a worker, best one that has built the key's program already, and
// waits when all are out.
func (c *Calls) lease(key []byte) (*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for i, w := range slices.Backward(c.free) {
			if p := w.programs[string(key)]; p != nil {
				c.clock++
				p.used = c.clock
				return c.take(i), nil
			}
		}
		if n := len(c.free); n > 0 {
			return c.take(n - 1), nil
		}
		if c.opened < maxWorkers {
			return c.openWorker()
		}
		c.returned.Wait()
	}
}

func (c *Calls) take(i int) *worker {
	w := c.free[i]
	c.free = append(c.free[:i], c.free[i+1:]...)
	return w
}

// openWorker makes one more, without holding up the others meanwhile.
func (c *Calls) openWorker() (*worker, error) {
	c.opened++
	c.mu.Unlock()
	w, err := c.newWorker()
	c.mu.Lock()
	if err != nil {
		c.opened--
		c.returned.Signal() // who waits may try itself
	}
	return w, err
}

// giveBack takes a worker back after a call that ended with err. One whose stream a
// failed assertion has spoilt is no use to anybody: others take its place.
func (c *Calls) giveBack(w *worker, err error) {
	spoilt := status.Of(err) == status.Internal
	if spoilt {
		w.close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if spoilt {
		c.opened--
		c.returned.Signal()
		return
	}
	w.sweep(c.sweeps.Load())
	c.free = append(c.free, w)
	c.returned.Signal()
}

// forget drops the programs of matrices that were released: at once on workers that
// are free, on the others when they come back.
func (c *Calls) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.sweeps.Add(1)
	for _, w := range c.free {
		w.sweep(n)
	}
	if c.fallback != nil {
		c.fallback.forget()
	}
}

func (w *worker) sweep(n uint64) {
	if w.swept == n {
		return
	}
	w.swept = n
	for key, p := range w.programs {
		for _, m := range p.matrices {
			if m.dead.Load() {
				w.drop(key, p)
				break
			}
		}
	}
}

func (w *worker) drop(key string, p *program) {
	delete(w.programs, key)
	w.ioBytes -= p.ioBytes
	p.close()
}

// build makes the program of a call that was not met before, in the place of those
// used longest ago.
func (w *worker) build(c *Calls, r *request, write func(*sketch)) (*program, error) {
	p, err := newProgram(c.supports, w.stream, r, write)
	if err != nil {
		return nil, err
	}
	for len(w.programs) >= maxPrograms || len(w.programs) > 0 && w.ioBytes+p.ioBytes > maxIOBytes {
		var oldest string
		for key, q := range w.programs {
			if oldest == "" || q.used < w.programs[oldest].used {
				oldest = key
			}
		}
		w.drop(oldest, w.programs[oldest])
		c.stats.evictions.Add(1)
	}
	c.stats.builds.Add(1)
	c.mu.Lock()
	c.clock++
	p.used = c.clock
	c.mu.Unlock()
	w.programs[string(r.key)] = p
	w.ioBytes += p.ioBytes
	return p, nil
}

func (w *worker) close() {
	for key, p := range w.programs {
		w.drop(key, p)
	}
	_ = w.stream.Close()
	_ = mem.Free(w.cancelHome)
}

// checkFits says what is wrong with buffers before anything is touched; a mistake
// here would be one of this package.
func (p *program) checkFits(r *request) error {
	if len(r.in) != p.hostInputs || len(r.out) != len(p.outBytes) {
		return status.Errorf(status.Internal, "%s: %d inputs and %d outputs are given, the program has %d and %d",
			r.op, len(r.in), len(r.out), p.hostInputs, len(p.outBytes))
	}
	return nil
}
