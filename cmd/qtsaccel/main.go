// Command qtsaccel tells about the devices of a machine, and proves them: the
// library runs "qtsaccel probe" in a child process before it loads a GPU's plugin.
//
// To add a command, write it in a file of its own and name it in the table below.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"qtsaccel/core/status"
)

// command is one thing that the tool does.
type command struct {
	name    string
	summary string
	run     func(args []string, out io.Writer) error
}

var commands = []command{
	{"devices", "list the devices of this machine, and why others are absent", devices},
	{"inspect", "list the tensors and the metadata of a file of weights", inspect},
	{"probe", "prove the GPUs with their plugins, or forget what was found (--clear)", probeCommand},
	{"version", "tell the versions of the library and of ggml", version},
}

func main() {
	if err := dispatch(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "qtsaccel: %v\n", err)
		}
		os.Exit(exitCode(err))
	}
}

func dispatch(args []string, out io.Writer) error {
	if len(args) == 0 {
		usage(os.Stderr)
		return flag.ErrHelp
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], out)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(out)
		return nil
	}
	return status.Errorf(status.InvalidArgument, "unknown command %q; \"qtsaccel help\" lists the known ones", args[0])
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: qtsaccel <command> [options]; \"qtsaccel <command> --help\" lists a command's options")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
}

// exitCode is 2 for a wrong call, 1 for all else.
func exitCode(err error) int {
	if errors.Is(err, flag.ErrHelp) || status.Of(err) == status.InvalidArgument {
		return 2
	}
	return 1
}

// parse reads a command's options; it takes no other arguments.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return status.Errorf(status.InvalidArgument, "%w", err)
	}
	if f.NArg() > 0 {
		return status.Errorf(status.InvalidArgument, "%s takes no argument %q", f.Name(), f.Arg(0))
	}
	return nil
}
