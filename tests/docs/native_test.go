package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/tests/docs/markdown"
)

var mainForm = regexp.MustCompile(`(?m)^int main\(`)

// compiler is how a language's blocks are compiled.
type compiler struct {
	command  string
	flags    []string
	includes string // what fragments find included
}

var compilers = map[string]compiler{
	"c":   {"gcc", []string{"-std=gnu11", "-Wstrict-prototypes"}, "#include <qtsaccel.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"},
	"cpp": {"g++", []string{"-std=c++17"}, "#include <qtsaccel.hpp>\n#include <iostream>\n"},
}

// native compiles a block in C or C++, and runs it where it is a whole program.
func native(t *testing.T, dir string, b *markdown.Block) (printed *string) {
	t.Helper()
	c := compilers[b.Lang]
	whole := mainForm.MatchString(b.Text)
	text := fmt.Sprintf("#line %d \"%s\"\n%s", b.Line, b.Page.Path, b.Text)
	switch given, fragment := b.Notes["given"]; {
	case whole:
	case fragment:
		text = c.includes + "void fragment(void);\nvoid fragment(void) {\n" + given + "\n" + text + "}\n"
	case b.Has("at file scope"):
		text = c.includes + text
	default:
		t.Fatalf("%s: neither a whole program nor a fragment with a note of what is given", b.Where())
	}
	source := filepath.Join(dir, fmt.Sprintf("line%d.%s", b.Line, b.Lang))
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	args := append([]string{"-O1", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root(t), "include"), source}, c.flags...)
	if !whole {
		// The values of what is given, and what becomes of the rest, lie outside.
		output(t, dir, os.Environ(), c.command, append(args, "-fsyntax-only", "-Wno-unused", "-Wno-uninitialized")...)
		return nil
	}
	lib := filepath.Join(root(t), "dist", "lib")
	program := strings.TrimSuffix(source, filepath.Ext(source))
	output(t, dir, os.Environ(), c.command, append(args, "-o", program, "-L"+lib, "-lqtsaccel", "-Wl,-rpath,"+lib, "-lpthread", "-lm")...)
	out := output(t, dir, environment(t), program)
	return &out
}
