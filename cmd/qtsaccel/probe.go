package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"qtsaccel/backends/environment"
	"qtsaccel/backends/probe"
	"qtsaccel/core/status"
)

func probeCommand(args []string, out io.Writer) error {
	f := flag.NewFlagSet("probe", flag.ContinueOnError)
	api := f.String("api", "", "the `API` to probe: cuda or vulkan (default: both)")
	asJSON := f.Bool("json", false, "write JSON")
	clearing := f.Bool("clear", false, "forget what earlier probes found, and do nothing else")
	software := f.Bool("software", false, "prove software devices, too: that may take a minute")
	var p places
	p.register(f)
	// The rest is between the library and its child.
	fd := f.Int("lines-fd", -1, "be the child: write lines to this `descriptor`")
	limit := f.Duration("limit", 0, "the child ends itself after this `time`")
	skip := f.String("skip", "", "`indices` of devices that the child leaves alone")
	if err := parse(f, args); err != nil {
		return err
	}
	if *clearing {
		return probe.ClearCache(environment.Get)
	}
	apis := []string{"cuda", "vulkan"}
	if *api != "" {
		if *api != "cuda" && *api != "vulkan" {
			return status.Errorf(status.InvalidArgument, "unknown API %q; known: cuda, vulkan", *api)
		}
		apis = []string{*api}
	}
	if *fd >= 0 {
		indices, err := parseIndices(*skip)
		if err != nil {
			return err
		}
		task := probe.Task{API: apis[0], PluginDir: p.request.PluginDir, Software: *software, Skip: indices, Limit: *limit}
		return probe.Child(task, os.Stdin, os.NewFile(uintptr(*fd), "lines"))
	}
	set, request := p.open()
	var verdicts []*probe.Verdict
	for _, api := range apis {
		v, err := set.Probe(request, api, *software)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, v)
	}
	if *asJSON {
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
			fmt.Fprintf(out, "  %v (%s): proven\n", f, f.Name)
		case f.Reason != "":
			fmt.Fprintf(out, "  %v (%s): %s\n", f, f.Name, f.Reason)
		default:
			fmt.Fprintf(out, "  %v (%s): not proven\n", f, f.Name)
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
