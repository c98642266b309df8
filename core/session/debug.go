package session

import (
	"fmt"
	"strings"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
)

// debugChoice tells how a choice came about, a line at a time.
func debugChoice(debug func(string), report *choice.Report, err error) {
	if debug == nil {
		return
	}
	if err != nil {
		debug("no backend: " + err.Error())
		return
	}
	for line := range strings.Lines(report.Text()) {
		debug(strings.TrimRight(line, "\n"))
	}
}

// debugBuild tells what an instance of a plan is made of.
func (p *Plan) debugBuild(i *instance) {
	debug := p.session.backend.debug
	if debug == nil {
		return
	}
	own, place := p.session.backend.report.Backend.Name, i.exec.Placement()
	total, supported := 0, 0
	var beside []string
	for _, n := range place.Nodes {
		total += n.Count
		if n.Device == own {
			supported += n.Count
		} else {
			beside = append(beside, fmt.Sprintf("%s (%d) on %s", n.Op, n.Count, n.Device))
		}
	}
	line := fmt.Sprintf("graph %q%s: %d nodes, %d on %s", p.graph.Label(), p.dimsText(i.dims), total, supported, own)
	if len(beside) > 0 {
		line += fmt.Sprintf(", not supported there: %s; %d copies of %d bytes",
			strings.Join(beside, ", "), place.Copies.Count, place.Copies.Bytes)
	}
	debug(line)
}

// debugRun tells how long the parts of a run took.
func (p *Plan) debugRun(t *backend.Timing) {
	p.session.backend.debug(fmt.Sprintf("graph %q: upload %v, compute %v, download %v",
		p.graph.Label(), t.Upload, t.Compute, t.Download))
}

func (p *Plan) dimsText(dims []int64) string {
	var b strings.Builder
	for n, d := range p.graph.Dims() {
		fmt.Fprintf(&b, " %s=%d", d.Name, dims[n])
	}
	return b.String()
}
