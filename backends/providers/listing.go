package providers

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"qtsaccel/core/choice"
)

// Listing is what a machine has.
type Listing struct {
	Cards  []choice.Card `json:"devices"` // each card once, with every API that it is seen through
	Absent []Absence     `json:"absent"`
	Notes  []string      `json:"notes,omitempty"`
}

// Absence is an API without a device here.
type Absence struct {
	API    string `json:"api"`
	Reason string `json:"reason"`
}

// Text tells the listing to a person.
func (l *Listing) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DEVICE\tNAME\tKIND\tMEMORY\tFREE\tDRIVER\tPCI\tUUID")
	for _, c := range l.Cards {
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%s\t%s\t%s\t%s\n", apis(c), c.Name, c.Kind,
			bytes(c.MemoryTotal), bytes(c.MemoryFree), dash(c.DriverVersion), dash(c.PCI), dash(c.UUID))
	}
	_ = w.Flush() // into memory
	for _, c := range l.Cards {
		for _, d := range append([]choice.Device{c.Device}, c.Also...) {
			if d.Problem != "" {
				fmt.Fprintf(&b, "%v cannot be used: %s\n", d, d.Problem)
			}
		}
	}
	for _, a := range l.Absent {
		fmt.Fprintf(&b, "no %s: %s\n", a.API, a.Reason)
	}
	for _, n := range l.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// apis are the names of a card, one for each API.
func apis(c choice.Card) string {
	names := []string{c.String()}
	for _, d := range c.Also {
		names = append(names, d.String())
	}
	return strings.Join(names, " ")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// bytes writes a size for people; "-" where it is not known.
func bytes(n uint64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
