// Extract writes the blocks of Swift in the documentation as a package, for `make
// test-swift` to build and run:
//
//	extract FOLDER PAGE...
//
// A block with a note of a file is a program of that name, and what the block behind it
// shows goes to FOLDER/expected/NAME. Any other is a function's body, in front of which
// stands what the note "given" says.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"qtsaccel/tests/docs/markdown"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: extract FOLDER PAGE...")
		os.Exit(2)
	}
	if err := extract(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func extract(folder string, paths []string) error {
	pages, err := markdown.Read("", paths...)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	var targets, fragments []string
	var program string // the block before, where that is one
	for _, p := range pages {
		for i := range p.Blocks {
			b := &p.Blocks[i]
			switch {
			case b.Lang == "swift" && b.Has("file"):
				program = b.Notes["file"]
				targets = append(targets, program)
				if err := write(b.Text, folder, "Sources", program, "main.swift"); err != nil {
					return err
				}
				continue
			case b.Lang == "swift":
				fragments = append(fragments, fragment(b, len(fragments)))
			case program != "" && b.Has("prints"):
				if err := write(b.Text, folder, "expected", program); err != nil {
					return err
				}
			}
			program = ""
		}
	}
	if len(targets) == 0 || len(fragments) == 0 {
		return errors.New("there is no program, or no fragment, in Swift")
	}
	targets = append(targets, "fragments")
	fragments = append(fragments, "print(\"compiled\")\n")
	if err := write("import QtsAccel\n\n"+strings.Join(fragments, "\n"), folder, "Sources", "fragments", "main.swift"); err != nil {
		return err
	}
	return write(manifest(targets), folder, "Package.swift")
}

// fragment makes a function of a block.
func fragment(b *markdown.Block, number int) string {
	text := strings.ReplaceAll(b.Text, "import QtsAccel\n", "")
	return fmt.Sprintf("// %s\nfunc fragment%d() async throws {\n%s\n%s}\n", b.Where(), number, b.Notes["given"], text)
}

func manifest(targets []string) string {
	var b strings.Builder
	b.WriteString(`// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "docs",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../../bindings/swift")],
    targets: [
`)
	for _, t := range targets {
		fmt.Fprintf(&b, "        .executableTarget(name: %q, dependencies: [.product(name: \"QtsAccel\", package: \"swift\")]),\n", t)
	}
	b.WriteString("    ]\n)\n")
	return b.String()
}

func write(text string, elem ...string) error {
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
