// Command qtsaccel tells about the devices of a machine and about files of weights, and
// tests GPUs: the library runs "qtsaccel probe" in a child process before it loads a
// GPU's plugin.
//
// To add a command, write it in a file of its own and name it in tool.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"qtsaccel/core/status"
)

func main() {
	if err := dispatch(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "qtsaccel: %v\n", err)
		os.Exit(exitCode(err))
	}
}

// tool has all commands.
func tool() *cobra.Command {
	root := &cobra.Command{
		Use:     "qtsaccel",
		Short:   "List devices, test them, and look into weight files",
		Version: libraryVersion(),
		// Whoever gets an error wants that, and main prints it.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.AddCommand(devices(), inspect(), probeCommand(), version())
	return root
}

// dispatch runs a command line. Where it is wrong, no command has run.
func dispatch(args []string, out io.Writer) error {
	root, ran := tool(), false
	root.PersistentPreRun = func(*cobra.Command, []string) { ran = true }
	root.SetArgs(args)
	root.SetOut(out)
	err := root.Execute()
	if err != nil && !ran {
		return status.Errorf(status.InvalidArgument, "%s; see qtsaccel --help", onOneLine.Replace(err.Error()))
	}
	return err
}

// onOneLine makes a line of a wrong call's error and of what is suggested instead.
var onOneLine = strings.NewReplacer("\n\nDid you mean this?\n\t", "; did you mean ", "\n\t", ", ", "\n", "")

// exitCode is 2 for a wrong call, 1 for all else.
func exitCode(err error) int {
	if status.Of(err) == status.InvalidArgument {
		return 2
	}
	return 1
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
