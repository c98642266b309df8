package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"qtsaccel/core/backend"
)

type placement struct {
	Graph     string              `json:"graph"`
	Cache     CacheStats          `json:"cache"`
	Instances []instancePlacement `json:"instances"`
}

type instancePlacement struct {
	Dims  map[string]int64 `json:"dims,omitempty"`
	FLOPs float64          `json:"flops"` // of a run, by the operators' formulas
	Bytes int64            `json:"bytes"` // that its operators read and write
	backend.Placement
}

// Placement tells what the plan is made of and where its nodes run.
func (p *Plan) Placement(f Format) (string, error) {
	p.session.turn.Lock()
	defer p.session.turn.Unlock()
	r := placement{Graph: p.graph.Label(), Cache: p.stats, Instances: []instancePlacement{}}
	for _, i := range p.instances {
		dims := map[string]int64{}
		for n, d := range p.graph.Dims() {
			dims[d.Name] = i.dims[n]
		}
		r.Instances = append(r.Instances, instancePlacement{dims, i.flops, i.bytes, i.exec.Placement()})
	}
	if f == JSON {
		text, err := json.MarshalIndent(r, "", "  ")
		return string(text), err
	}
	return r.text(p), nil
}

func (r *placement) text(p *Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q: %d instances, %d hits, %d builds, %d evictions\n",
		r.Graph, len(r.Instances), r.Cache.Hits, r.Cache.Builds, r.Cache.Evictions)
	for _, i := range r.Instances {
		total := 0
		for _, n := range i.Nodes {
			total += n.Count
		}
		for _, d := range p.graph.Dims() {
			fmt.Fprintf(&b, "  %s=%d", d.Name, i.Dims[d.Name])
		}
		fmt.Fprintf(&b, "  %d nodes, %d bytes of inputs and outputs, %d bytes of shared scratch\n", total, i.IOBytes, i.ScratchBytes)
		fmt.Fprintf(&b, "    a run computes %.3g operations on %.3g bytes\n", i.FLOPs, float64(i.Bytes))
		if i.Copies.Count > 0 {
			fmt.Fprintf(&b, "    %d copies between devices, %d bytes\n", i.Copies.Count, i.Copies.Bytes)
		}
		for _, n := range i.Nodes {
			fmt.Fprintf(&b, "    %4d × %s on %s\n", n.Count, n.Op, n.Device)
		}
		for _, w := range i.Repacked {
			fmt.Fprintf(&b, "    weight %q, %s, rearranged as %s: %d bytes\n", w.Weight, w.DType, w.Layout, w.Bytes)
		}
	}
	return b.String()
}
