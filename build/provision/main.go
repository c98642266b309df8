// Command provision fetches what qtsaccel is built and tested with, at the
// versions that build/versions.mk pins, into dist/. It is run by the Makefile:
//
//	go run ./build/provision <what>
//
// Nothing is done twice: each result carries a stamp of what it was made from.
// A result is put in place by renaming, and its stamp written last, so an
// interrupted run is redone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// whats lists what can be provisioned, in the order of the help text.
var whats = []struct {
	name, help string
	run        func(context.Context, *project) error
}{
	{"ggml", "ggml's headers and libraries: prebuilt, or installed ones with GGML=system or GGML_DIR=<prefix>", provisionGGML},
	{"ggml-source", "what the prebuilt ggml lacks, built with CMake: GGML_CUDA=1 CUDA_ARCHS=90, GGML_VULKAN=1, or else a CPU backend for this machine", provisionGGMLSource},
	{"esrgan", "the weights of ESRGAN-slim", fetchWhat("ESRGAN", esrganFiles)},
	{"onnxruntime", "ONNX Runtime's library, for the benchmarks", fetchWhat("ONNXRUNTIME", onnxRuntimeFiles)},
	{"other-ggml", "ggml under its own names, of another version and of ours, for the tests with two copies", provisionOtherGGML},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "provision:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage())
	}
	p, err := openProject()
	if err != nil {
		return err
	}
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for _, arg := range args {
		if err := runOne(ctx, p, arg); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	return nil
}

func runOne(ctx context.Context, p *project, arg string) error {
	for _, w := range whats {
		if w.name == arg {
			return w.run(ctx, p)
		}
	}
	return errors.New("unknown; " + usage())
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: provision <what>..., where <what> is one of")
	for _, w := range whats {
		fmt.Fprintf(&b, "\n  %-12s %s", w.name, w.help)
	}
	return b.String()
}

// project is the repository that is provisioned, and where progress is told.
type project struct {
	root string
	pins pins
	env  func(string) string
	host platform
}

// openProject finds the repository around the working directory and reads its
// pins.
func openProject() (*project, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, pinFile)); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, fmt.Errorf("no %s above the working directory", pinFile)
		}
		dir = parent
	}
	text, err := os.ReadFile(filepath.Join(dir, pinFile))
	if err != nil {
		return nil, err
	}
	pins, err := parsePins(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pinFile, err)
	}
	return &project{root: dir, pins: pins, env: os.Getenv, host: hostPlatform()}, nil
}

// dist returns a path under dist/.
func (p *project) dist(elem ...string) string {
	return filepath.Join(append([]string{p.root, "dist"}, elem...)...)
}

// say tells what takes time.
func (p *project) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
