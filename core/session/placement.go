package session

import (
	"fmt"
	"strings"

	"qtsaccel/core/backend"
)

// Placement tells what a plan is made of and where its nodes run.
type Placement struct {
	Graph     string              `json:"graph"`
	Cache     CacheStats          `json:"cache"`
	Instances []InstancePlacement `json:"instances"`
	dims      []string            // the names of the dynamic dimensions, in their order
}

// InstancePlacement is that of an instance of the plan.
type InstancePlacement struct {
	Dims  map[string]int64 `json:"dims,omitempty"`
	FLOPs float64          `json:"flops"` // of a run, by the operators' formulas
	Bytes int64            `json:"bytes"` // that its operators read and write
	backend.Placement
}

// Placement tells what the plan is made of and where its nodes run.
func (p *Plan) Placement() *Placement {
	p.session.turn.Lock()
	defer p.session.turn.Unlock()
	r := &Placement{Graph: p.graph.Label(), Cache: p.stats, Instances: []InstancePlacement{}}
	for _, d := range p.graph.Dims() {
		r.dims = append(r.dims, d.Name)
	}
	for i := range p.instances.All() {
		dims := map[string]int64{}
		for n, name := range r.dims {
			dims[name] = i.dims[n]
		}
		r.Instances = append(r.Instances, InstancePlacement{dims, i.flops, i.bytes, i.Placement()})
	}
	return r
}

// Text tells it to people.
func (r *Placement) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q: %d instances, %d hits, %d builds, %d evictions\n",
		r.Graph, len(r.Instances), r.Cache.Hits, r.Cache.Builds, r.Cache.Evictions)
	for _, i := range r.Instances {
		total := 0
		for _, n := range i.Nodes {
			total += n.Count
		}
		for _, name := range r.dims {
			fmt.Fprintf(&b, "  %s=%d", name, i.Dims[name])
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
			fmt.Fprintf(&b, "    weight %q, %s, repacked as %s: %d bytes\n", w.Weight, w.DType, w.Layout, w.Bytes)
		}
	}
	return b.String()
}
