package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"qtsaccel/core/modelfile"
	"qtsaccel/core/status"
)

func inspect(args []string, out io.Writer) error {
	f := flag.NewFlagSet("inspect", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "write JSON, with metadata whole")
	var path string
	if i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }); i >= 0 {
		path, args = args[i], slices.Delete(slices.Clone(args), i, i+1)
	}
	if err := parse(f, args); err != nil {
		return err
	}
	if path == "" {
		return status.Errorf(status.InvalidArgument, "inspect takes a GGUF or safetensors file, or the index of several")
	}
	c, err := modelfile.Inspect(path)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(out, c)
	}
	return writeContents(out, c)
}

// maxShown is how much of a metadata value the table shows.
const maxShown = 80

func writeContents(out io.Writer, c *modelfile.Contents) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range c.Files {
		fmt.Fprintf(w, "%s\t%d bytes\n", f.Path, f.Bytes)
	}
	if len(c.Metadata) > 0 {
		fmt.Fprintln(w, "\nMETADATA\tTYPE\tVALUE")
	}
	for _, m := range c.Metadata {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Key, m.Type, shown(m.Value))
	}
	fmt.Fprintln(w, "\nTENSOR\tDTYPE\tSHAPE\tBYTES")
	for _, t := range c.Tensors {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\n", shown(t.Name), t.DType, t.Shape, t.Bytes)
	}
	fmt.Fprintf(w, "\n%d tensors, %d elements, %d bytes\n", len(c.Tensors), c.Elements, c.Bytes)
	return w.Flush()
}

// shown is a text on one line, of bounded length, that no terminal obeys.
func shown(s string) string {
	quoted := fmt.Sprintf("%.*q", maxShown, s)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len([]rune(s)) > maxShown {
		quoted += fmt.Sprintf("… (%d bytes)", len(s))
	}
	return quoted
}
