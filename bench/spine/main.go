// Command spine runs the spine's benchmarks, which bench/Makefile builds, prints a
// table and writes dist/bench/spine.json; with the arguments ops and a number of
// threads, those of single operators, and dist/bench/ops.json. It is run from the
// repository's root.
//
// Every figure is a median over rounds in which the contestants take turns in one
// process, and every ratio the median of the ratios within a round: what else the
// machine does then meets both sides alike.
//
// To add a contest, give it a program in bench/Makefile and a line in measure.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	resultFile = "dist/bench/spine.json"
	dataEnv    = "QTSACCEL_SHARED_DATA"
)

func main() {
	var err error
	if len(os.Args) == 3 && os.Args[1] == "ops" {
		err = runOps(os.Stdout, os.Args[2])
	} else {
		err = run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "spine:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	r, err := measure()
	if err != nil {
		return err
	}
	r.print(out)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(resultFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, "written to", resultFile)
	return nil
}

// measure runs everything that can run here.
func measure() (*result, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := programsIn(root)
	r := &result{Machine: thisMachine()}
	if r.Opens, err = p.opens(15, filepath.Join(root, "dist/lib/libqtsaccel.so")); err != nil {
		return nil, err
	}
	if r.OneNode, err = p.contest("one_node", 41); err != nil {
		return nil, err
	}
	if os.Getenv(dataEnv) == "" {
		r.Skipped = append(r.Skipped, "story and vad: "+dataEnv+" is not set")
	} else {
		if r.Story, err = p.contest("story", 21); err != nil {
			return nil, err
		}
		if r.VAD, err = p.contest("vad", 31); err != nil {
			return nil, err
		}
	}
	return r, r.summarise()
}

// programsIn are the built benchmarks, told where the libraries are.
func programsIn(root string) programs {
	return programs{
		folder: filepath.Join(root, "dist/bench"),
		env: append(
			os.Environ(),
			"BENCH_LIB="+filepath.Join(root, "dist/lib"),
			"BENCH_ONNXRUNTIME="+filepath.Join(root, "dist/onnxruntime/libonnxruntime.so.1"),
		),
	}
}
