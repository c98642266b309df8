package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// product is a contest of bench/quantised_job.hpp: one thread each, turn by turn.
type product struct {
	Micros        float64 `json:"us"`
	OverRaw       float64 `json:"over_raw_ggml"`        // our time over that of ggml with its repacked buffers
	StoredOverRaw float64 `json:"stored_over_raw_ggml"` // ggml's time without them, over that with them
	MicrosRaw     float64 `json:"raw_ggml_us"`
}

// products measures products with quantised weights against raw ggml. The figure of a
// type is the worse of two sizes.
func (b *bench) products(r *result) error {
	r.Products = map[string]product{}
	for dtype, to := range map[string]**float64{"q4_0": &r.Q4Ratio, "q4_K": &r.Q4KRatio} {
		worst := 0.0
		for _, size := range []string{"2048", "4096"} {
			for _, rows := range []string{"1", "8", "64", "512"} {
				name := dtype + "_" + size + "_" + rows
				p, err := contest(name)
				if err != nil {
					return err
				}
				r.Products[name] = p
				if rows == "512" {
					worst = max(worst, p.OverRaw)
				}
			}
		}
		*to = &worst
	}
	return nil
}

// contest runs one case of the program that bench/Makefile has built.
func contest(name string) (product, error) {
	lib, err := filepath.Abs(filepath.Join("dist", "lib"))
	if err != nil {
		return product{}, err
	}
	var errs bytes.Buffer
	cmd := exec.Command(filepath.Join("dist", "bench", "quantised"), strconv.Itoa(3*rounds), name)
	cmd.Env, cmd.Stderr = append(os.Environ(), "BENCH_THREADS=1", "BENCH_LIB="+lib), &errs
	out, err := cmd.Output()
	if err != nil {
		return product{}, fmt.Errorf("%v: %w: %s", cmd, err, errs.Bytes())
	}
	var lanes []struct {
		Name   string
		Micros []float64
	}
	if err := json.Unmarshal(out, &lanes); err != nil {
		return product{}, fmt.Errorf("%v: %w", cmd, err)
	}
	micros := map[string][]float64{}
	for _, l := range lanes {
		micros[l.Name] = l.Micros
	}
	ours, raw, stored := micros["qtsaccel "+name], micros["raw ggml "+name], micros["raw ggml, as stored "+name]
	if len(ours) == 0 || len(raw) != len(ours) || len(stored) != len(ours) {
		return product{}, fmt.Errorf("%v has not all contestants: %s", cmd, out)
	}
	return product{*median(ours), *median(quotients(ours, raw)), *median(quotients(stored, raw)), *median(raw)}, nil
}

func quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range q {
		q[i] = a[i] / b[i]
	}
	return q
}
