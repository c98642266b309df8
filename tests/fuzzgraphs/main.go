// Fuzzgraphs searches for graphs that a device computes wrong.
//
// It makes random graphs out of the whole operator table, several to a session, and
// runs them in random order, with dynamic dimensions, states, views and operator-level
// calls in between. Each operator's result is compared with its reference kernel applied
// to the very inputs that the device had, which plans give away whose tensors are all
// outputs (try.go); and results must not depend on which tensors are outputs, or on what
// ran before. Cases come from seeds (generate.go, makers.go), are tried in child
// processes, which may crash (process.go), and those that fail are made smaller
// (shrink.go) and printed as Go tests.
//
// To have a new operator in it, add it to makers.go. To repeat a seed:
//
//	fuzzgraphs -devices cpu -seed 1234 -n 1
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() { os.Exit(run()) }

func run() int {
	var o options
	var devices, jsonPath string
	var isChild bool
	flag.StringVar(&devices, "devices", "cpu", "what to try graphs on, separated by spaces: cpu, cpu:haswell (one of ggml's plugins), cpu@1 (kernels of ours for lesser processors), vulkan:0, cuda:0, reference; ,repack=off keeps weights as stored")
	flag.StringVar(&o.pluginDir, "plugins", "dist/lib/qtsaccel", "the folder of ggml's libraries")
	flag.IntVar(&o.workers, "j", runtime.GOMAXPROCS(0), "how many processes try graphs at a time, at least one for each device")
	flag.IntVar(&o.threads, "threads", 1, "threads of a run that sets none")
	flag.DurationVar(&o.duration, "time", 0, "how long to search; 0: until -n graphs were tried")
	flag.IntVar(&o.graphs, "n", 0, "how many graphs to try; 0: as many as the time allows")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()), "the first case's; the others follow")
	flag.IntVar(&o.batch, "batch", 100, "how many cases a process is given at a time")
	flag.IntVar(&o.shrinks, "shrink", 400, "how many smaller cases to try for the first failure of each kind; 0: none")
	flag.DurationVar(&o.limit, "hang", 5*time.Minute, "how long a case may take")
	flag.BoolVar(&o.verbose, "v", false, "print every failure, not the first of each kind only")
	flag.BoolVar(&o.tame, "tame", false, "leave out the seeds whose numbers may be NaN or infinite, every eighth")
	flag.StringVar(&jsonPath, "json", "", "the file that the result is written to, too")
	flag.BoolVar(&isChild, "child", false, "be one of those processes")
	flag.Parse()
	if isChild {
		return childMain(devices, o.pluginDir, o.threads)
	}
	var err error
	if o.pluginDir, err = filepath.Abs(o.pluginDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if o.duration == 0 && o.graphs == 0 {
		o.duration = time.Minute
	}
	if o.graphs > 0 {
		o.batch = max(1, min(o.batch, o.graphs))
	}
	o.devices = strings.Fields(devices)
	fmt.Printf("fuzzgraphs: seed %d, on %s\n", o.seed, strings.Join(o.devices, ", "))
	d := newDriver(o)
	err = d.run()
	seconds := time.Since(d.began).Seconds()
	fmt.Printf("%v%.0f s, %.0f graphs a second on %d processes, seed %d\n", d.stats, seconds, float64(d.stats.Graphs)/seconds, max(o.workers, len(o.devices)), o.seed)
	for signature, n := range d.seen {
		fmt.Printf("  %6d x %s\n", n, oneLine(signature, 200))
	}
	if jsonPath != "" && err == nil {
		err = d.writeJSON(jsonPath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if len(d.seen) > 0 {
		return 1
	}
	return 0
}
