package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qtsaccel/backends/environment"
	"qtsaccel/backends/probe"
	"qtsaccel/core/status"
)

// probeOptions are the command's, and those between the library and its child.
type probeOptions struct {
	places
	api                        string
	asJSON, clearing, software bool
	fd                         int
	limit                      time.Duration
	skip                       string
}

func probeCommand() *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "probe",
		Short: "Self-test GPUs with their plugins, or clear the cached results",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return o.run(c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringVar(&o.api, "api", "", "the `API` to probe: cuda or vulkan (default both)")
	f.BoolVar(&o.asJSON, "json", false, "write JSON")
	f.BoolVar(&o.clearing, "clear", false, "clear the cached results, and do nothing else")
	f.BoolVar(&o.software, "software", false, "test software devices, too, which may take a minute")
	o.register(f)
	f.IntVar(&o.fd, "lines-fd", -1, "be the child: write lines to this descriptor")
	f.DurationVar(&o.limit, "limit", 0, "the child ends itself after this time")
	f.StringVar(&o.skip, "skip", "", "indices of devices that the child leaves alone")
	for _, name := range []string{"lines-fd", "limit", "skip"} {
		f.Lookup(name).Hidden = true
	}
	return c
}

func (o *probeOptions) run(out io.Writer) error {
	if o.clearing {
		return probe.ClearCache(environment.Get)
	}
	apis := []string{"cuda", "vulkan"}
	if o.api != "" {
		if !slices.Contains(apis, o.api) {
			return status.Errorf(status.InvalidArgument, "unknown API %q; known: %s", o.api, strings.Join(apis, ", "))
		}
		apis = []string{o.api}
	}
	if o.fd >= 0 {
		indices, err := parseIndices(o.skip)
		if err != nil {
			return err
		}
		task := probe.Task{API: apis[0], PluginDir: o.request.PluginDir, Software: o.software, Skip: indices, Limit: o.limit}
		return probe.Child(task, os.Stdin, os.NewFile(uintptr(o.fd), "lines"))
	}
	set, request := o.open()
	var verdicts []*probe.Verdict
	for _, api := range apis {
		v, err := set.Probe(request, api, o.software)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, v)
	}
	if o.asJSON {
		return writeJSON(out, verdicts)
	}
	for _, v := range verdicts {
		writeVerdict(out, v)
	}
	return nil
}

func writeVerdict(out io.Writer, v *probe.Verdict) {
	fmt.Fprintf(out, "%s, %v:\n", v.API, v.At.Format(time.DateTime))
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case f.Proven:
			fmt.Fprintf(out, "  %v (%s): passed the self-test\n", f, f.Name)
		case f.Reason != "":
			fmt.Fprintf(out, "  %v (%s): %s\n", f, f.Name, f.Reason)
		default:
			fmt.Fprintf(out, "  %v (%s): not tested\n", f, f.Name)
		}
	}
	if v.Reason != "" {
		fmt.Fprintf(out, "  %s\n", v.Reason)
	}
}

func parseIndices(text string) ([]int, error) {
	var list []int
	if text == "" {
		return list, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(field)
		if err != nil {
			return nil, status.Errorf(status.InvalidArgument, "--skip %q: %w", text, err)
		}
		list = append(list, i)
	}
	return list, nil
}
