// Command table writes what the fuzzer of calls knows of the library: a line for each
// function of the header, for which the fuzzer must have a step of that name or does
// not compile, and the operator table.
//
// usage: table HEADER >FILE
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"

	"qtsaccel/core/ops"
)

var functionForm = regexp.MustCompile(`(?m)^QTSA_API [^(]*?(\w+)\(`)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: table HEADER >FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func write(header string) error {
	text, err := os.ReadFile(header)
	if err != nil {
		return err
	}
	functions := functionForm.FindAllStringSubmatch(string(text), -1)
	if len(functions) == 0 {
		return fmt.Errorf("%s declares no function", header)
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprint(w, "/* Made by tests/fuzzcalls/table from the header and the operator table. */\n#define FUNCTIONS(F)")
	for _, f := range functions {
		fmt.Fprintf(w, " \\\n    F(%s)", f[1])
	}
	fmt.Fprint(w, "\n\nstatic const Operator operators[] = {\n")
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "    {\"%s\", {", op.Name)
		for _, in := range op.Inputs {
			most := in.MaxRank
			if most == 0 {
				most = 4
			}
			fmt.Fprintf(w, "{%d, %d, %d, %t, %t}, ", in.DTypes, in.MinRank, most, in.Optional, in.Variadic)
		}
		fmt.Fprint(w, "}, {")
		for _, a := range op.Attrs {
			fmt.Fprintf(w, "{\"%s\", %d, %t}, ", a.Name, a.Type, a.Default.Type == 0)
		}
		fmt.Fprintf(w, "}, %d},\n", len(op.Outputs))
	}
	fmt.Fprint(w, "};\n")
	return w.Flush()
}
