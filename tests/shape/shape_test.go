// Package shape tests what a change costs: in a copy of the tree it adds an operator,
// counts the files that had to be touched by hand, and has the tree's own generators and
// tests say that nothing else is needed; and it adds to the header what nothing behind it
// knows, and has them say where it lacks.
package shape

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the folders that generators and the tests run here read. Without the
// libraries' code in C++ nothing takes long to compile.
var rooms = []string{"backends", "bindings", "build", "capi", "core", "docs", "include", "tests"}

// tree is a copy of the tree.
type tree struct {
	t      *testing.T
	folder string
	before map[string][]byte
}

func copied(t *testing.T) *tree {
	t.Helper()
	c := &tree{t, t.TempDir(), nil}
	root := filepath.Join("..", "..")
	for _, room := range rooms {
		require.NoError(t, os.CopyFS(filepath.Join(c.folder, room), os.DirFS(filepath.Join(root, room))))
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(c.folder, file), text, 0o600))
	}
	c.before = c.files()
	return c
}

// files are all files of the tree.
func (c *tree) files() map[string][]byte {
	c.t.Helper()
	files := map[string][]byte{}
	require.NoError(c.t, filepath.WalkDir(c.folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(c.folder, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	}))
	return files
}

// edit puts text in front of a text that is in a file once.
func (c *tree) edit(file, insert, before string) {
	c.t.Helper()
	path := filepath.Join(c.folder, file)
	text, err := os.ReadFile(path)
	require.NoError(c.t, err)
	require.Equal(c.t, 1, strings.Count(string(text), before), "%s: %q", file, before)
	require.NoError(c.t, os.WriteFile(path, []byte(strings.Replace(string(text), before, insert+before, 1)), 0o600))
}

// add writes a file that is not there.
func (c *tree) add(file, text string) {
	c.t.Helper()
	path := filepath.Join(c.folder, file)
	require.NoFileExists(c.t, path)
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs the go command in a folder of the tree. With -trimpath what is the same in
// the tree that is copied comes from Go's cache.
func (c *tree) run(folder string, args ...string) (output string, err error) {
	command := exec.Command("go", args...)
	command.Dir = filepath.Join(c.folder, folder)
	command.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	text, err := command.CombinedOutput()
	return string(text), err
}

// passes runs the go command, which must succeed.
func (c *tree) passes(folder string, args ...string) {
	c.t.Helper()
	output, err := c.run(folder, args...)
	require.NoError(c.t, err, "go %v: %s", args, output)
}

// fails runs the go command, which must fail, and gives what it says.
func (c *tree) fails(folder string, args ...string) string {
	c.t.Helper()
	output, err := c.run(folder, args...)
	require.Error(c.t, err, "go %v: %s", args, output)
	return output
}

// generate runs the tree's generators.
func (c *tree) generate() {
	c.t.Helper()
	c.passes("capi", "run", "./gen", "../include/qtsaccel.h", ".")
	c.passes(".", "run", "./core/ops/gen")
}

var generated = regexp.MustCompile(`(?i)\A(.*\n){0,2}.*(generated (by|from)|made by) .*; do not edit`)

// byHand are the files that were touched since the copy, but for those that generators
// write.
func (c *tree) byHand() []string {
	c.t.Helper()
	var names []string
	for name, text := range c.files() {
		if !bytes.Equal(text, c.before[name]) && !generated.Match(text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

const throwAway = `package ops

func init() {
	unary("throw_away", "x / 2, to see what it costs", exact, func(x float64) float64 { return x / 2 },
		func(s *chain, x Ref) Ref { return s.scale(x, 0.5, 0) })
}
`

// A new operator is one file, and its cases.
func TestAnOperatorIsOneFileAndItsCases(t *testing.T) {
	t.Parallel()
	c := copied(t)
	c.add("core/ops/throw_away.go", throwAway)
	// The tree says what is missing, before anything else fails.
	require.Contains(t, c.fails(".", "test", "-run", "TestEveryOperatorHasCases", "./backends/backendtest"), "throw_away")
	c.edit("backends/backendtest/cases.go", "\t\t\"throw_away\": unary(x()),\n", "\t\t\"gelu\": ")
	require.Contains(t, c.fails(".", "test", "-run", "TestCommittedFilesAreFresh", "./capi/gen"), "go generate ./capi")
	require.Contains(t, c.fails(".", "test", "-run", "TestOperatorsDocIsUpToDate", "./core/ops"), "go run ./core/ops/gen")
	c.generate()
	touched := c.byHand()
	require.Equal(t, []string{"backends/backendtest/cases.go", "core/ops/throw_away.go"}, touched)

	// With that it is everywhere: whatever computes, and in every binding.
	c.passes(".", "test", "./core/ops", "./core/oplevel", "./capi/gen", "./backends/backendtest")
	c.passes(".", "test", "-run", "^(TestConformance|TestDecomposition)$/(^op$|^throw_away$)/^throw_away$", "./backends/reference")
	for _, binding := range []string{"include/qtsaccel_ops.hpp", "bindings/python/qtsaccel/ops.py", "docs/operators.md"} {
		text, err := os.ReadFile(filepath.Join(c.folder, binding))
		require.NoError(t, err)
		require.Contains(t, string(text), "throw_away", binding)
	}
}

// A field that the header gets is missed wherever it is not read or given.
func TestAFieldOfOptionsIsMissedEverywhere(t *testing.T) {
	t.Parallel()
	c := copied(t)
	c.edit("include/qtsaccel.h", "    uint64_t throw_away_ns;\n", "} qtsa_run_options;")
	c.generate()
	output := c.fails(".", "test", "-run", "TestNothingIsMissing|TestInterfaceIsKept", "./capi/gen")
	for _, place := range []string{"capi", "C++", "Python", "Swift"} {
		require.Contains(t, output, place+" lacks qtsa_run_options.throw_away_ns")
	}
	require.Contains(t, output, "make abi")
}
