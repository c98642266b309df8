// Command gen writes docs/operators.md, whose path it is given, from the operator table.
package main

import (
	"fmt"
	"os"

	"qtsaccel/core/ops"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(ops.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
