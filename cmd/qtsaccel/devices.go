package main

import (
	"encoding/json"
	"flag"
	"io"
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
	_, err = io.WriteString(out, list.Text())
	return err
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
