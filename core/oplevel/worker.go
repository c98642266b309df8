package oplevel

import (
	"slices"

	"qtsaccel/core/run"
	"qtsaccel/core/status"
)

// worker is a stream of the backend with the programs that were built on it. Whoever
// has leased it has it alone.
type worker struct {
	stream   *run.Stream
	programs *run.Cache[*program]
	swept    uint64 // how many released matrices it has looked for
}

// The bounds of what a worker keeps built.
const (
	maxPrograms = 64
	maxIOBytes  = 512 << 20
)

func (c *Calls) newWorker() (*worker, error) {
	stream, err := run.Open(c.impl)
	if err != nil {
		return nil, err
	}
	return &worker{stream: stream, programs: run.NewCache[*program](maxPrograms, maxIOBytes)}, nil
}

// lease gives a worker, best one that has built the key's program already, and
// waits when all are out.
func (c *Calls) lease(key []byte) (*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for i, w := range slices.Backward(c.free) {
			if w.programs.Has(key) {
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
	_ = w.programs.Drop(func(p *program) bool { // there is nobody to tell
		return slices.ContainsFunc(p.matrices, func(m *Matrix) bool { return m.dead.Load() })
	})
}

// build makes the program of a call that was not met before, in the place of those
// used longest ago.
func (w *worker) build(c *Calls, r *request, write func(*builder)) (*program, error) {
	p, err := newProgram(c.supports, w.stream, r, write)
	if err != nil {
		return nil, err
	}
	evicted, _ := w.programs.Add(r.key, p, p.Placement().IOBytes) // memory goes back; nobody to tell
	c.stats.evictions.Add(uint64(evicted))
	c.stats.builds.Add(1)
	return p, nil
}

func (w *worker) close() {
	_ = w.programs.Close()
	_ = w.stream.Close()
}
