package main

// #include "../../include/qtsaccel.h"
import "C"

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

func libraryVersion() string {
	return fmt.Sprintf("%d.%d.%d", C.QTSA_VERSION_MAJOR, C.QTSA_VERSION_MINOR, C.QTSA_VERSION_PATCH)
}

func version() *cobra.Command {
	var asJSON bool
	var p places
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the library and of ggml, and where ggml is",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return writeVersion(c.OutOrStdout(), &p, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	p.register(c.Flags())
	return c
}

func writeVersion(out io.Writer, p *places, asJSON bool) error {
	set, request := p.open()
	v := struct {
		Qtsaccel string `json:"qtsaccel"`
		GGML     string `json:"ggml,omitempty"`
		Plugins  string `json:"plugins,omitempty"`
		Problem  string `json:"problem,omitempty"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{
		Qtsaccel: libraryVersion(),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	library, err := set.Library(request)
	if err != nil {
		v.Problem = err.Error()
	} else {
		v.GGML, v.Plugins = library.Version, library.Dir
	}
	if asJSON {
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
