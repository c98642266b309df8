package choice

import (
	"fmt"
	"strings"

	"qtsaccel/core/backend"
)

// Report is the story of a choice.
type Report struct {
	Requested string       `json:"requested"`
	Source    string       `json:"source"`
	Tried     []Attempt    `json:"tried"`
	Device    *Device      `json:"device,omitempty"` // of a GPU
	Backend   backend.Info `json:"backend"`
}

// Attempt is one backend that was tried.
type Attempt struct {
	Name   string `json:"name"`
	Taken  bool   `json:"taken"`
	Reason string `json:"reason,omitempty"` // why it was not
	Note   string `json:"note,omitempty"`   // on the self-test of the device
}

func (r *Report) skip(name, reason string) {
	r.Tried = append(r.Tried, Attempt{Name: name, Reason: reason})
}

func (r *Report) reasons() string {
	reasons := make([]string, len(r.Tried))
	for i, a := range r.Tried {
		reasons[i] = a.Name + ": " + a.Reason
	}
	return strings.Join(reasons, "; ")
}

// Text tells the report to a person.
func (r *Report) Text() string {
	var b strings.Builder
	i := r.Backend
	fmt.Fprintf(&b, "%s (%s)\nrequested: %s (%s)\n", i.Name, i.Description, r.Requested, r.Source)
	for _, a := range r.Tried {
		if a.Taken {
			fmt.Fprintf(&b, "  %s: taken", a.Name)
			if a.Note != "" {
				fmt.Fprintf(&b, " (%s)", a.Note)
			}
			b.WriteByte('\n')
		} else {
			fmt.Fprintf(&b, "  %s: %s\n", a.Name, a.Reason)
		}
	}
	if d := r.Device; d != nil {
		fmt.Fprintf(&b, "device:    %v (%s), %v", d, d.Name, d.Kind)
		for _, s := range []string{d.DriverVersion, d.PCI, d.UUID} {
			if s != "" {
				fmt.Fprintf(&b, ", %s", s)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "library:   %s\n", i.Library)
	if i.Plugin != "" {
		fmt.Fprintf(&b, "plugin:    %s\n", i.Plugin)
	}
	if len(i.Searched) > 0 {
		fmt.Fprintf(&b, "searched:  %s\n", strings.Join(i.Searched, ", "))
	}
	fmt.Fprintf(&b, "threads:   %d\n", i.Threads)
	for _, n := range i.Notes {
		fmt.Fprintf(&b, "note:      %s\n", n)
	}
	return b.String()
}
