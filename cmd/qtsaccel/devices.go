package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
)

func devices(args []string, out io.Writer) error {
	f := flag.NewFlagSet("devices", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "write JSON")
	var p places
	p.register(f)
	f.StringVar(&p.request.Probe, "probe", "", "whether GPUs are proven: `mode` require, auto or off (default: $QTSACCEL_PROBE, or auto)")
	if err := parse(f, args); err != nil {
		return err
	}
	set, request := p.open()
	list, err := set.List(request)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(out, list)
	}
	return writeDevices(out, list)
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func writeDevices(out io.Writer, list *providers.Listing) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DEVICE\tNAME\tKIND\tMEMORY\tFREE\tDRIVER\tPCI\tUUID")
	for _, c := range list.Cards {
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%s\t%s\t%s\t%s\n", strings.Join(apis(c), " "), c.Name, c.Kind,
			bytes(c.MemoryTotal), bytes(c.MemoryFree), dash(c.DriverVersion), dash(c.PCI), dash(c.UUID))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range list.Cards {
		for _, d := range append([]choice.Device{c.Device}, c.Also...) {
			if d.Problem != "" {
				fmt.Fprintf(out, "%v cannot be used: %s\n", d, d.Problem)
			}
		}
	}
	for _, a := range list.Absent {
		fmt.Fprintf(out, "no %s: %s\n", a.API, a.Reason)
	}
	for _, n := range list.Notes {
		fmt.Fprintln(out, n)
	}
	return nil
}

// apis are the names of a card, one for each API.
func apis(c choice.Card) []string {
	names := []string{c.String()}
	for _, d := range c.Also {
		names = append(names, d.String())
	}
	return names
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
