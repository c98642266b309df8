// Command weights measures how fast weights come from a file to a CPU plan, and
// how fast they are converted, and writes dist/bench/weights.json. `make
// bench-weights` runs it. It takes 2 GiB of disk, once, and 4 GiB of memory; with a
// card another 4 GiB of each.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// result is what is written. The first six are what the project is held to.
type result struct {
	MapMS          *float64 `json:"map_ms"`                // from a warm 1 GiB f16 GGUF file to a CPU plan, mapped
	CopyOverMemcpy *float64 `json:"copy_rate_over_memcpy"` // into new memory in huge pages, on as many threads
	QuantizeQ8GBs  *float64 `json:"quantize_q8_0_gbs"`     // f32 read a second, from a warm file, on all threads
	QuantizeQ4KGBs *float64 `json:"quantize_q4_K_gbs"`
	// Products of 512 rows: our time over raw ggml's with its repacked buffers.
	Q4Ratio  *float64 `json:"q4_0_ratio"`
	Q4KRatio *float64 `json:"q4_K_ratio"`

	CopiedPlanMS            *float64 `json:"copied_plan_ms"`             // as map_ms, copied
	FirstRunMappedMS        *float64 `json:"first_run_mapped_ms"`        // the run after it, which takes the page faults
	FirstRunCopiedMS        *float64 `json:"first_run_copied_ms"`        // likewise
	CopyGBs                 *float64 `json:"copy_gbs"`                   // from the file to the plan, copied
	MemcpyNewGBs            *float64 `json:"memcpy_new_gbs"`             // what copy_rate_over_memcpy compares with
	MemcpyTouchedGBs        *float64 `json:"memcpy_touched_gbs"`         // into memory touched before, on one thread
	CopyOverTouched         *float64 `json:"copy_rate_over_touched"`     // reading over that
	MemcpyTouchedThreadsGBs *float64 `json:"memcpy_touched_threads_gbs"` // on as many threads as reading
	// ggml's own routine on as many threads, from memory to memory.
	RawQuantizeQ8GBs  *float64 `json:"raw_quantize_q8_0_gbs"`
	RawQuantizeQ4KGBs *float64 `json:"raw_quantize_q4_K_gbs"`
	// Time of products of one row with weights at 32 beyond a multiple of 64,
	// over that at one.
	Align32Over64 map[string]float64 `json:"aligned_32_over_64"`

	Products map[string]product `json:"products"` // by type, size of the weight, and rows

	gpuResult

	Threads int    `json:"threads"`
	Rounds  int    `json:"rounds"`
	Machine string `json:"machine"`
	At      string `json:"at"`
}

const (
	rounds = 9
	size   = 1 << 30
)

func main() {
	plugins := flag.String("plugins", filepath.Join("dist", "lib", "qtsaccel"), "the folder with ggml's plugins")
	out := flag.String("out", filepath.Join("dist", "bench"), "the folder for the files and the result")
	api := flag.String("gpu", "cuda", "the API of the card that is measured")
	only := flag.Bool("gpu-only", false, "measure the card alone")
	flag.Parse()
	if err := run(*out, *plugins, *api, *only); err != nil {
		fmt.Fprintln(os.Stderr, "weights:", err)
		os.Exit(1)
	}
}

func run(out, plugins, api string, gpuOnly bool) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b, err := newBench(out, plugins)
	if err != nil {
		return err
	}
	defer b.close()
	r := result{Threads: runtime.GOMAXPROCS(0), Rounds: rounds, Machine: machine(), At: time.Now().UTC().Format(time.RFC3339)}
	measures := []func(*result) error{b.files, b.plans, b.quantise, b.products, b.alignment}
	gpu := func(r *result) error { return b.gpu(api, out, &r.gpuResult) }
	if gpuOnly {
		measures = nil
	}
	for _, measure := range append(measures, gpu) {
		if err := measure(&r); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return os.WriteFile(filepath.Join(out, "weights.json"), append(text, '\n'), 0o644)
}

// machine names the processor.
func machine() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	return cpuName(string(text))
}

func median(v []float64) *float64 {
	s := slices.Sorted(slices.Values(v))
	m := s[len(s)/2]
	return &m
}

// milliseconds is how long f takes.
func milliseconds(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return float64(time.Since(start)) / 1e6, err
}
