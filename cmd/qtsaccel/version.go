package main

// #include "../../include/qtsaccel.h"
import "C"

import (
	"flag"
	"fmt"
	"io"
	"runtime"
)

func version(args []string, out io.Writer) error {
	f := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "write JSON")
	var p places
	p.register(f)
	if err := parse(f, args); err != nil {
		return err
	}
	set, request := p.open()
	v := struct {
		Qtsaccel string `json:"qtsaccel"`
		GGML     string `json:"ggml,omitempty"`
		Plugins  string `json:"plugins,omitempty"`
		Problem  string `json:"problem,omitempty"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{
		Qtsaccel: fmt.Sprintf("%d.%d.%d", C.QTSA_VERSION_MAJOR, C.QTSA_VERSION_MINOR, C.QTSA_VERSION_PATCH),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	library, err := set.Library(request)
	if err != nil {
		v.Problem = err.Error()
	} else {
		v.GGML, v.Plugins = library.Version, library.Dir
	}
	if *asJSON {
		return writeJSON(out, v)
	}
	fmt.Fprintf(out, "qtsaccel %s (%s, %s)\n", v.Qtsaccel, v.Go, v.Platform)
	if v.Problem != "" {
		fmt.Fprintf(out, "no ggml: %s\n", v.Problem)
	} else {
		fmt.Fprintf(out, "ggml %s in %s\n", v.GGML, v.Plugins)
	}
	return nil
}
