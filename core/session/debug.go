package session

import (
	"fmt"
	"strings"

	"qtsaccel/core/backend"
)

// debugBuild tells what an instance of a plan is made of.
func (p *Plan) debugBuild(i *instance) {
	debug := p.session.backend.Debug()
	if debug == nil {
		return
	}
	own, place := p.session.backend.Impl().Info().Name, i.Placement()
	total, supported := 0, 0
	var elsewhere []string
	for _, n := range place.Nodes {
		total += n.Count
		if n.Device == own {
			supported += n.Count
		} else {
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%d) on %s", n.Op, n.Count, n.Device))
		}
	}
	line := fmt.Sprintf("graph %q%s: %d nodes, %d on %s", p.graph.Label(), p.graph.DimsText(i.dims), total, supported, own)
	if len(elsewhere) > 0 {
		line += fmt.Sprintf(", not supported there: %s; %d copies of %d bytes",
			strings.Join(elsewhere, ", "), place.Copies.Count, place.Copies.Bytes)
	}
	debug(line)
}

// debugRun tells how long the parts of a run took.
func (p *Plan) debugRun(t *backend.Timing) {
	p.session.backend.Debug()(fmt.Sprintf("graph %q: upload %v, compute %v, download %v",
		p.graph.Label(), t.Upload, t.Compute, t.Download))
}
