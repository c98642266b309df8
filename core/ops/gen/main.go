// Command gen writes docs/operators.md from the operator table:
//
//	go run ./core/ops/gen
package main

import (
	"fmt"
	"os"

	"qtsaccel/core/ops"
)

func main() {
	if err := os.WriteFile("docs/operators.md", []byte(ops.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
