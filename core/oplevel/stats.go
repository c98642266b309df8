package oplevel

import (
	"fmt"
	"math/bits"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stats counts what the calls did.
type stats struct {
	builds, evictions atomic.Uint64

	mu    sync.Mutex
	since time.Time
	ops   map[string]*opStats
}

// opStats counts one operator's calls.
type opStats struct {
	calls, declined uint64
	reason          string // of the last that was declined for another reason than its worth
	total           time.Duration
	times           histogram
	up, down        int64
	flops           float64
}

func (s *stats) of(op string) *opStats {
	o := s.ops[op]
	if o == nil {
		o = &opStats{}
		if s.ops == nil {
			s.ops = map[string]*opStats{}
		}
		s.ops[op] = o
	}
	return o
}

func (s *stats) ran(r *request, took time.Duration) {
	if r.silent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of(r.op)
	o.calls++
	o.total += took
	o.times.add(took)
	o.up += r.work.up
	o.down += r.work.down
	o.flops += r.work.flops
}

func (s *stats) declined(r *request, reason error) {
	if r.silent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of(r.op)
	o.declined++
	if reason != ErrDeclined { //nolint:errorlint // it is never wrapped
		o.reason = reason.Error()
	}
}

// histogram counts times by their magnitude, sixteen steps for each doubling, so
// that a median is right to 3 % without keeping the times.
type histogram [64 * 16]uint32

func (h *histogram) add(d time.Duration) { h[bucket(uint64(max(d, 0)))]++ }

func bucket(ns uint64) int {
	if ns < 16 {
		return int(ns)
	}
	e := bits.Len64(ns) - 5 // ns >> e is 16 to 31
	return e*16 + int(ns>>e)
}

// middle is the time in the middle of a bucket.
func middle(b int) time.Duration {
	if b < 32 {
		return time.Duration(b)
	}
	e := b/16 - 1
	return time.Duration(uint64(b%16+16)<<e + uint64(1)<<e/2)
}

func (h *histogram) median() time.Duration {
	total := uint64(0)
	for _, n := range h {
		total += uint64(n)
	}
	seen := uint64(0)
	for b, n := range h {
		seen += uint64(n)
		if n > 0 && 2*seen >= total {
			return middle(b)
		}
	}
	return 0
}

// OpReport is what the calls of one operator did.
type OpReport struct {
	Op        string  `json:"op"`
	Calls     uint64  `json:"calls"`
	Declined  uint64  `json:"declined"`
	TotalNS   int64   `json:"total_ns"`
	MedianNS  int64   `json:"median_ns"`
	BytesUp   int64   `json:"bytes_up"`
	BytesDown int64   `json:"bytes_down"`
	GFLOPS    float64 `json:"gflops"` // a second
	// Reason is why the device could not run the last of those declined; absent where
	// none of them was more than not worth its while.
	Reason string `json:"reason,omitempty"`
}

// Report is what the calls on a backend did since Since.
type Report struct {
	Backend   string     `json:"backend"`
	Since     time.Time  `json:"since"`
	Operators []OpReport `json:"operators"`
	Builds    uint64     `json:"builds"`
	Evictions uint64     `json:"evictions"`
	// Thresholds and where they come from; absent while nobody has needed them.
	Thresholds       map[string]Threshold `json:"thresholds,omitempty"`
	ThresholdsSource string               `json:"thresholds_source,omitempty"`
	// Fallback is what was declined and computed by the backend's fallback; absent where
	// nothing was yet.
	Fallback *Report `json:"fallback,omitempty"`
}

// Stats tells what the calls did since the start or the last [Calls.ResetStats].
func (c *Calls) Stats() Report {
	r := Report{Backend: c.info.Name, Operators: []OpReport{}, Builds: c.stats.builds.Load(), Evictions: c.stats.evictions.Load()}
	if t := c.wants.table.Load(); t != nil {
		r.Thresholds, r.ThresholdsSource = t.byClass(), t.source
	}
	if c.fallback != nil {
		if declined := c.fallback.Stats(); len(declined.Operators) > 0 || declined.Fallback != nil {
			r.Fallback = &declined
		}
	}
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	r.Since = c.stats.since
	for name, o := range c.stats.ops {
		line := OpReport{
			Op: name, Calls: o.calls, Declined: o.declined, TotalNS: int64(o.total), MedianNS: int64(o.times.median()),
			BytesUp: o.up, BytesDown: o.down, Reason: o.reason,
		}
		if o.total > 0 {
			line.GFLOPS = o.flops / float64(o.total) // per nanosecond
		}
		r.Operators = append(r.Operators, line)
	}
	sort.Slice(r.Operators, func(i, j int) bool { return r.Operators[i].Op < r.Operators[j].Op })
	return r
}

// ResetStats begins to count anew.
func (c *Calls) ResetStats() {
	if c.fallback != nil {
		c.fallback.ResetStats()
	}
	c.stats.builds.Store(0)
	c.stats.evictions.Store(0)
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	c.stats.ops, c.stats.since = nil, time.Now()
}

// Text tells the report to a person.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls on %s in %v; %d programs built, %d evicted\n", r.Backend, time.Since(r.Since).Round(time.Millisecond), r.Builds, r.Evictions)
	fmt.Fprintf(&b, "%-20s %8s %8s %12s %12s %12s %12s %9s\n", "operator", "calls", "declined", "total", "median", "bytes up", "bytes down", "GFLOP/s")
	for _, o := range r.Operators {
		fmt.Fprintf(&b, "%-20s %8d %8d %12v %12v %12d %12d %9.2f\n",
			o.Op, o.Calls, o.Declined, time.Duration(o.TotalNS), time.Duration(o.MedianNS), o.BytesUp, o.BytesDown, o.GFLOPS)
		if o.Reason != "" {
			fmt.Fprintf(&b, "  declined last: %s\n", o.Reason)
		}
	}
	if r.Thresholds != nil {
		fmt.Fprintf(&b, "worth the device's while (%s):\n", r.ThresholdsSource)
		for _, class := range classes {
			t := r.Thresholds[class.String()]
			fmt.Fprintf(&b, "  %-10s from %.3g operations + %.3g for each byte moved\n", class, t.MinFlops, t.FlopsPerByte)
		}
	}
	if r.Fallback != nil {
		b.WriteString("declined, and computed by the fallback: " + r.Fallback.Text())
	}
	return b.String()
}

// Memory is what the idle workers keep on the device: scratch memory, and the inputs
// and outputs of all programs.
func (c *Calls) Memory() (scratch, io int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.free {
		io += w.programs.Bytes()
		most := int64(0)
		for p := range w.programs.All() { // which share it
			most = max(most, p.Placement().ScratchBytes)
		}
		scratch += most
	}
	return scratch, io
}
