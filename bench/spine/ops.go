package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

const (
	opsFile = "dist/bench/ops.json"
	onednn  = "oneDNN"
	// overheadCase is a product so small that it is all overhead.
	overheadCase = "overhead"
)

// opsResult is dist/bench/ops.json. A ratio is our time over that of the fastest peer,
// of ONNX Runtime and oneDNN; null where neither can do the case. With one thread it is
// the processor's time, else the clock's.
type opsResult struct {
	CallOverhead   *float64 `json:"call_overhead_us"` // a call's time over raw ggml's
	MatmulF32x512  *float64 `json:"matmul_f32_512"`
	MatmulF16x512  *float64 `json:"matmul_f16_512"`
	MatmulBF16x512 *float64 `json:"matmul_bf16_512"`
	MatmulQ8x512   *float64 `json:"matmul_q8_0_512"`
	MatmulQ4x512   *float64 `json:"matmul_q4_0_512"`
	MatmulF32x1    *float64 `json:"matmul_f32_1"`
	Conv2D         *float64 `json:"conv2d"`
	Attention      *float64 `json:"attention"`

	Machine machine   `json:"machine"`
	Threads int       `json:"threads"`
	Cases   []opsCase `json:"cases"`
}

// opsCase is what one field is from.
type opsCase struct {
	Name        string  `json:"name"`
	FastestPeer string  `json:"fastest_peer"`
	OverRawGGML float64 `json:"over_raw_ggml"` // our time over its
	Contest     contest `json:"contest"`
}

// fields are the cases, with the fields that are ratios.
func (r *opsResult) fields() []opsField {
	return []opsField{
		{overheadCase, nil},
		{"matmul_f32_512", &r.MatmulF32x512},
		{"matmul_f16_512", &r.MatmulF16x512},
		{"matmul_bf16_512", &r.MatmulBF16x512},
		{"matmul_q8_0_512", &r.MatmulQ8x512},
		{"matmul_q4_0_512", &r.MatmulQ4x512},
		{"matmul_f32_1", &r.MatmulF32x1},
		{"conv2d", &r.Conv2D},
		{"attention", &r.Attention},
	}
}

type opsField struct {
	name string
	to   **float64
}

// runOps runs the contests of single operators with a number of threads each, one
// after the other, prints a table and writes the result.
func runOps(out io.Writer, threads string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	r := &opsResult{Machine: thisMachine()}
	if r.Threads, err = strconv.Atoi(threads); err != nil || r.Threads < 1 {
		return fmt.Errorf("%q is no number of threads", threads)
	}
	for _, f := range r.fields() {
		p := programsIn(root)
		of := threads
		if f.name == overheadCase {
			of = "1" // what threads cost is no matter of calls
		}
		p.env = append(p.env, "BENCH_THREADS="+of, "OMP_NUM_THREADS="+of) // oneDNN asks OpenMP
		if err := r.measure(p, f); err != nil {
			return err
		}
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

// measure runs the contest of a case and computes its field.
func (r *opsResult) measure(p programs, f opsField) error {
	c, err := p.contest("ops", 15, f.name)
	if err != nil {
		return err
	}
	mine, raw := ours+" "+f.name, rawGGML+" "+f.name
	entry := opsCase{Name: f.name, Contest: c}
	c = r.timed(c)
	if entry.OverRawGGML, err = c.compare(mine, raw, ratio); err != nil {
		return err
	}
	if f.to == nil {
		overhead, err := c.compare(mine, raw, difference)
		if err != nil {
			return err
		}
		r.CallOverhead = &overhead
	} else if peer := c.fastest(onnx+" "+f.name, onednn+" "+f.name); peer != "" {
		v, err := c.compare(mine, peer, ratio)
		if err != nil {
			return err
		}
		entry.FastestPeer, *f.to = strings.TrimSuffix(peer, " "+f.name), &v
	}
	r.Cases = append(r.Cases, entry)
	return nil
}

// timed is a contest by the time that counts.
func (r *opsResult) timed(c contest) contest {
	if r.Threads == 1 {
		return c.onCPU()
	}
	return c
}

// fastest is the one of some contestants that takes the least time, "" if none can do
// the job.
func (c contest) fastest(names ...string) string {
	fastest, time := "", 0.0
	for _, name := range names {
		l, err := c.find(name)
		if err != nil || l.Cannot != "" {
			continue
		}
		if t := median(l.Micros); fastest == "" || t < time {
			fastest, time = name, t
		}
	}
	return fastest
}

func (r *opsResult) print(out io.Writer) {
	fmt.Fprintln(out, r.Machine)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nmedians, %d threads (%s: 1)\tµs a call\terror\n", r.Threads, overheadCase)
	for _, c := range r.Cases {
		for _, l := range r.timed(c.Contest) {
			if l.Cannot != "" {
				fmt.Fprintf(t, "%s\t-\tcannot: %s\n", l.Name, l.Cannot)
			} else {
				fmt.Fprintf(t, "%s\t%.4g\t%.1e\n", l.Name, median(l.Micros), l.Error)
			}
		}
	}
	fmt.Fprint(t, "\nheld to\tmeasured\tbar\tover raw ggml\n")
	fmt.Fprintf(t, "a call over raw ggml, µs\t%.3f\t≤ 2\n", *r.CallOverhead)
	for i, f := range r.fields() {
		switch c := r.Cases[i]; {
		case f.to == nil:
		case *f.to == nil:
			fmt.Fprintf(t, "%s\tno peer\t\t%.3f\n", f.name, c.OverRawGGML)
		default:
			fmt.Fprintf(t, "%s, ratio to %s\t%.3f\t≤ 1.05\t%.3f\n", f.name, c.FastestPeer, **f.to, c.OverRawGGML)
		}
	}
	_ = t.Flush() // out is stdout: nothing to be done about it
}
