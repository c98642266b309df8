package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"qtsaccel/core/modelfile"
)

func inspect() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "List the tensors and metadata of a GGUF or safetensors file, or of the index of several",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			contents, err := modelfile.Inspect(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), contents)
			}
			return writeContents(c.OutOrStdout(), contents)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON, with metadata whole")
	return c
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
