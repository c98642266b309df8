package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// driver has children try cases until the time is over or enough graphs were tried.
type driver struct {
	options
	began time.Time

	mu       sync.Mutex
	next     uint64 // seed
	stats    *Stats
	failures []*Failure     // the first of each signature, shrunk
	seen     map[string]int // failures by signature
	tests    map[string]string
	err      error
}

// options are the command line's.
type options struct {
	devices   []string
	pluginDir string
	workers   int
	threads   int
	duration  time.Duration
	graphs    int
	seed      uint64
	batch     int
	shrinks   int // tries to shrink a failure, 0: none
	limit     time.Duration
	verbose   bool
	tame      bool
}

func newDriver(o options) *driver {
	return &driver{options: o, next: o.seed, stats: newStats(), seen: map[string]int{}, tests: map[string]string{}}
}

// run works until it is done, and gives the failures that are not alike.
func (d *driver) run() error {
	d.began = time.Now()
	dirs := map[string]string{}
	defer func() {
		for _, dir := range dirs {
			if dir != d.pluginDir {
				_ = os.RemoveAll(dir)
			}
		}
	}()
	for _, device := range d.devices {
		dir, _, err := variantDir(device, d.pluginDir)
		dirs[device] = dir
		if err != nil {
			return err
		}
	}
	var group sync.WaitGroup
	for i := range max(d.workers, len(d.devices)) {
		device := d.devices[i%len(d.devices)]
		group.Go(func() {
			if err := d.work(device, dirs[device]); err != nil {
				d.mu.Lock()
				d.err = errors.Join(d.err, fmt.Errorf("%s: %w", device, err))
				d.mu.Unlock()
			}
		})
	}
	group.Wait()
	return d.err
}

func (d *driver) childArgs(device, dir string) []string {
	return []string{"-child", "-devices", device, "-plugins", dir, "-threads", fmt.Sprint(d.threads)}
}

// work is one worker's: its child tries one batch of seeds after the other.
func (d *driver) work(device, dir string) error {
	p := &process{args: d.childArgs(device, dir), limit: d.limit}
	defer func() { p.end() }()
	for {
		seeds := d.take()
		for len(seeds) > 0 {
			stats, failures, rest, err := p.ask(request{Seeds: seeds})
			if err != nil {
				return err
			}
			if rest != nil || stats.Cases == 0 {
				stats.Cases = len(seeds) - len(rest) // those that a dead child had counted
			}
			seeds = rest
			d.mu.Lock()
			d.stats.add(stats)
			d.mu.Unlock()
			for _, f := range failures {
				f.Device = device
				d.report(f, p)
			}
			if d.over() {
				break
			}
		}
		if seeds == nil && d.over() {
			return nil
		}
	}
}

// take gives the next seeds to try, none when it is over.
func (d *driver) take() []uint64 {
	if d.over() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var seeds []uint64
	for ; len(seeds) < d.batch; d.next++ {
		if !d.tame || !Wildly(d.next) {
			seeds = append(seeds, d.next)
		}
	}
	return seeds
}

func (d *driver) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.duration > 0 && time.Since(d.began) > d.duration || d.graphs > 0 && d.stats.Graphs >= d.graphs || d.err != nil
}

// report takes down a failure; the first of its kind is shrunk and printed.
func (d *driver) report(f *Failure, p *process) {
	d.mu.Lock()
	d.seen[f.signature()]++
	first := d.seen[f.signature()] == 1
	d.mu.Unlock()
	if d.verbose && !first {
		fmt.Printf("failed: %s, seed %d: %s\n", f.Device, f.Seed, oneLine(f.Error(), 300))
	}
	if !first {
		return
	}
	c := Generate(f.Seed)
	found := f
	if d.shrinks > 0 {
		c, found = shrink(c, f, d.shrinks, func(c *Case) *Failure { return d.again(c, f, p) })
	}
	found.Seed, found.Device = f.Seed, f.Device
	test := Print(c, found)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures = append(d.failures, found)
	d.tests[found.signature()] = test
	fmt.Printf("FAILED: %s, seed %d: %s\n%s\n", f.Device, f.Seed, oneLine(f.Error(), 600), test)
}

// again tries a smaller case in a child.
func (d *driver) again(c *Case, like *Failure, p *process) *Failure {
	_, failures, _, err := p.ask(request{Case: c})
	if err != nil || len(failures) == 0 {
		return nil //nolint:nilerr // what cannot be tried is no smaller case of the failure
	}
	f := failures[0]
	f.Device = like.Device
	if f.Op != like.Op && like.Kind != WrongPlan && like.Kind != Crash {
		return nil
	}
	return f
}

// Report is what a search has found, for machines.
type Report struct {
	Devices  []string       `json:"devices"`
	Seed     uint64         `json:"seed"`
	Seconds  float64        `json:"seconds"`
	Stats    *Stats         `json:"stats"`
	Kinds    map[string]int `json:"failures_by_kind"` // by device, kind and operator
	Failures []*Failure     `json:"failures"`         // the first of each
}

func (d *driver) writeJSON(path string) error {
	text, err := json.MarshalIndent(Report{
		d.devices, d.seed, time.Since(d.began).Seconds(), d.stats, d.seen, d.failures,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
