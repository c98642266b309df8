// Command gen makes of the list of ggml's operators, ops.list, what the C++ and the Go of
// package ggml call them by. Run by `go generate ./backends/ggml`.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes the files for a list into a folder.
func generate(list, dir string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	ops, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	for name, content := range files(ops) {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
