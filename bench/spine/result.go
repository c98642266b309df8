package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// The contestants' names, as their files enter them.
const (
	ours    = "qtsaccel"
	rawGGML = "raw ggml"
	onnx    = "ONNX Runtime"
)

// nodes are the kinds of the one-node contest, which go behind the names.
var nodes = []string{" add", " linear"}

// result is dist/bench/spine.json. The first six are what the project is held to;
// they are null where their contest did not run. A ratio is our time over the peer's.
type result struct {
	OneNodeOverhead *float64 `json:"one_node_overhead_us"` // a run's time over raw ggml's, of the worse node
	AllocsPerRun    *float64 `json:"allocs_per_run"`       // heap allocations beyond raw ggml's, of the worse node
	StoryRatio      *float64 `json:"story_ratio"`          // over raw ggml
	VADRatio        *float64 `json:"vad_ratio"`            // over raw ggml
	VADOnnxruntime  *float64 `json:"vad_vs_onnxruntime"`   // over ONNX Runtime
	OpenMS          *float64 `json:"open_ms"`              // from nothing to a first result

	Machine machine   `json:"machine"`
	Skipped []string  `json:"skipped,omitempty"`
	OneNode contest   `json:"one_node"`
	Story   contest   `json:"story"`
	VAD     contest   `json:"vad"`
	Opens   []float64 `json:"opens_ms"`
}

// summarise computes the figures from the contests.
func (r *result) summarise() (err error) {
	open := median(r.Opens)
	r.OpenMS = &open
	for _, node := range nodes {
		if err := r.summariseNode(ours+node, rawGGML+node); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		contest contest
		peer    string
		to      **float64
	}{
		{r.Story, rawGGML, &r.StoryRatio},
		{r.VAD, rawGGML, &r.VADRatio},
		{r.VAD, onnx, &r.VADOnnxruntime},
	} {
		if c.contest == nil {
			continue
		}
		v, err := c.contest.compare(ours, c.peer, ratio)
		if err != nil {
			return err
		}
		*c.to = &v
	}
	return nil
}

func (r *result) summariseNode(ours, raw string) error {
	overhead, err := r.OneNode.compare(ours, raw, difference)
	if err != nil {
		return err
	}
	a, err := r.OneNode.find(ours)
	if err != nil {
		return err
	}
	b, err := r.OneNode.find(raw)
	if err != nil {
		return err
	}
	r.OneNodeOverhead = larger(r.OneNodeOverhead, overhead)
	r.AllocsPerRun = larger(r.AllocsPerRun, a.Allocations-b.Allocations)
	return nil
}

func larger(a *float64, b float64) *float64 {
	if a != nil && *a > b {
		return a
	}
	return &b
}

// print writes the result as a table.
func (r *result) print(out io.Writer) {
	fmt.Fprintln(out, r.Machine)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nmedians\tµs\tper\tallocations\terror\n")
	for _, c := range []struct {
		contest   contest
		job, unit string
	}{{r.OneNode, "one node", "run"}, {r.Story, "stories260K", "token"}, {r.VAD, "Silero VAD", "window"}} {
		for _, l := range c.contest {
			fmt.Fprintf(t, "%s, %s\t%.4g\t%s\t%g\t%.1e\n", c.job, l.Name, median(l.Micros), c.unit, l.Allocations, l.Error)
		}
	}
	fmt.Fprint(t, "\nheld to\tmeasured\tbar\n")
	for _, f := range []struct {
		what  string
		value *float64
		bar   string
	}{
		{"one-node run over raw ggml, µs", r.OneNodeOverhead, "≤ 1"},
		{"allocations of ours a run", r.AllocsPerRun, "0"},
		{"stories260K, ratio to raw ggml", r.StoryRatio, "≤ 1.05"},
		{"Silero VAD, ratio to raw ggml", r.VADRatio, "≤ 1.05"},
		{"Silero VAD, ratio to ONNX Runtime", r.VADOnnxruntime, "< 1"},
		{"open, backend, first run, ms", r.OpenMS, "≤ 30"},
	} {
		value := "skipped"
		if f.value != nil {
			value = strconv.FormatFloat(*f.value, 'f', 3, 64)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.what, value, f.bar)
	}
	_ = t.Flush() // out is stdout: nothing to be done about it
	for _, s := range r.Skipped {
		fmt.Fprintln(out, "skipped", s)
	}
}
