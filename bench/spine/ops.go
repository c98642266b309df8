package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	opsFile = "dist/bench/ops.json"
	onednn  = "oneDNN"
	// overheadCase is a product so small that it is all overhead.
	overheadCase = "overhead"
)

// opsResult is dist/bench/ops.json. A ratio is our time over the fastest peer's.
type opsResult struct {
	CallOverhead   *float64 `json:"call_overhead_us"` // a call's time over raw ggml's
	MatmulF32x512  *float64 `json:"matmul_f32_512"`
	MatmulF16x512  *float64 `json:"matmul_f16_512"`
	MatmulBF16x512 *float64 `json:"matmul_bf16_512"`
	MatmulQ8x512   *float64 `json:"matmul_q8_0_512"`
	MatmulF32x1    *float64 `json:"matmul_f32_1"`
	Conv2D         *float64 `json:"conv2d"`
	Attention      *float64 `json:"attention"`

	Machine machine  `json:"machine"`
	Skipped []string `json:"skipped,omitempty"`
	Ops     contest  `json:"ops"`
}

// runOps runs the contest of single operators, prints a table and writes the result.
func runOps(out io.Writer) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	p := programs{
		folder: filepath.Join(root, "dist/bench"),
		// One thread for every contestant; oneDNN asks OpenMP.
		env: append(os.Environ(), "BENCH_LIB="+filepath.Join(root, "dist/lib"), "OMP_NUM_THREADS=1"),
	}
	r := &opsResult{Machine: thisMachine()}
	if r.Ops, err = p.contest("ops", 15); err != nil {
		return err
	}
	if err := r.summarise(); err != nil {
		return err
	}
	r.print(out)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(opsFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, "written to", opsFile)
	return nil
}

// ratios are the fields that are ratios, by their case.
func (r *opsResult) ratios() map[string]**float64 {
	return map[string]**float64{
		"matmul_f32_512": &r.MatmulF32x512, "matmul_f16_512": &r.MatmulF16x512, "matmul_bf16_512": &r.MatmulBF16x512,
		"matmul_q8_0_512": &r.MatmulQ8x512, "matmul_f32_1": &r.MatmulF32x1, "conv2d": &r.Conv2D, "attention": &r.Attention,
	}
}

func (r *opsResult) summarise() error {
	overhead, err := r.Ops.compare(ours+" "+overheadCase, rawGGML+" "+overheadCase, difference)
	if err != nil {
		return err
	}
	r.CallOverhead = &overhead
	for name, to := range r.ratios() {
		peer := r.Ops.fastestPeer(name)
		if peer == "" {
			return fmt.Errorf("%s has no peer", name)
		}
		v, err := r.Ops.compare(ours+" "+name, peer, ratio)
		if err != nil {
			return err
		}
		*to = &v
	}
	if _, err := r.Ops.find(onednn + " " + overheadCase); err != nil {
		r.Skipped = append(r.Skipped, onednn+": Debian's libdnnl-dev is not installed")
	}
	return nil
}

// fastestPeer is the contestant besides ours that does a case in the least time.
func (c contest) fastestPeer(name string) string {
	fastest, time := "", 0.0
	for _, l := range c {
		if !strings.HasSuffix(l.Name, " "+name) || strings.HasPrefix(l.Name, ours+" ") {
			continue
		}
		if t := median(l.Micros); fastest == "" || t < time {
			fastest, time = l.Name, t
		}
	}
	return fastest
}

func (r *opsResult) print(out io.Writer) {
	fmt.Fprintln(out, r.Machine)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nmedians, one thread\tµs a call\terror\n")
	for _, l := range r.Ops {
		fmt.Fprintf(t, "%s\t%.4g\t%.1e\n", l.Name, median(l.Micros), l.Error)
	}
	fmt.Fprint(t, "\nheld to\tmeasured\tbar\n")
	fmt.Fprintf(t, "a call over raw ggml, µs\t%.3f\t≤ 2\n", *r.CallOverhead)
	ratios := r.ratios()
	names := make([]string, 0, len(ratios))
	for name := range ratios {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(t, "%s, ratio to %s\t%.3f\t≤ 1.05\n", name, strings.TrimSuffix(r.Ops.fastestPeer(name), " "+name), **ratios[name])
	}
	_ = t.Flush() // out is stdout: nothing to be done about it
	for _, s := range r.Skipped {
		fmt.Fprintln(out, "skipped", s)
	}
}
