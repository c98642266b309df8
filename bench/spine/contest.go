package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lane is what one contestant did, as contest.cpp writes it.
type lane struct {
	Name        string    `json:"name"`
	Units       int       `json:"units"`            // of work in a round
	Allocations float64   `json:"allocations"`      // on the heap, per unit
	Error       float64   `json:"error"`            // the largest against the golden
	Micros      []float64 `json:"micros"`           // per unit, of each round
	CPUMicros   []float64 `json:"cpu_micros"`       // of the processor, likewise
	Cannot      string    `json:"cannot,omitempty"` // why it cannot do the job; all else is zero then
}

// contest is what its contestants did; the rounds of all belong together.
type contest []lane

// find gives a contestant's lane.
func (c contest) find(name string) (lane, error) {
	for _, l := range c {
		if l.Name == name {
			return l, nil
		}
	}
	return lane{}, fmt.Errorf("no %q among the contestants", name)
}

// compare gives the median over the rounds of what of computes from the two
// contestants' times in a round.
func (c contest) compare(ours, peer string, of func(ours, peer float64) float64) (float64, error) {
	a, err := c.find(ours)
	if err != nil {
		return 0, err
	}
	b, err := c.find(peer)
	if err != nil {
		return 0, err
	}
	if len(a.Micros) != len(b.Micros) {
		return 0, fmt.Errorf("%q has %d rounds, %q %d", ours, len(a.Micros), peer, len(b.Micros))
	}
	each := make([]float64, len(a.Micros))
	for i := range each {
		each[i] = of(a.Micros[i], b.Micros[i])
	}
	return median(each), nil
}

// onCPU is the contest by the processor's time, which what else the machine does leaves
// nearly alone. Of one thread it is what the clock says on a quiet machine.
func (c contest) onCPU() contest {
	timed := slices.Clone(c)
	for i := range timed {
		timed[i].Micros = timed[i].CPUMicros
	}
	return timed
}

func ratio(ours, peer float64) float64      { return ours / peer }
func difference(ours, peer float64) float64 { return ours - peer }

// median is the middle value, of an even number the mean of the two middle ones.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n == 0 {
		return 0
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// programs are the built benchmarks.
type programs struct {
	folder string
	env    []string
}

// contest runs a contest; with a case, that of its contestants whose names end in it.
func (p programs) contest(name string, rounds int, ofCase ...string) (contest, error) {
	out, err := p.run(name, append([]string{strconv.Itoa(rounds)}, ofCase...)...)
	if err != nil {
		return nil, err
	}
	var c contest
	if err := json.Unmarshal(out, &c); err != nil {
		return nil, fmt.Errorf("%s wrote something else than a result: %w", name, err)
	}
	return c, nil
}

// opens gives the milliseconds from nothing to a first result, of a number of
// processes.
func (p programs) opens(processes int, library string) ([]float64, error) {
	times := make([]float64, processes)
	for i := range times {
		out, err := p.run("open_time", library)
		if err != nil {
			return nil, err
		}
		if times[i], err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64); err != nil {
			return nil, fmt.Errorf("open_time: %w", err)
		}
	}
	return times, nil
}

func (p programs) run(name string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	cmd := exec.Command(filepath.Join(p.folder, name), args...)
	cmd.Env, cmd.Stderr = p.env, &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}
