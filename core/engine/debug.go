package engine

import (
	"strings"

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
