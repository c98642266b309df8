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
	c.write(file, strings.Replace(string(text), before, insert+before, 1))
}

// add writes a file that is not there.
func (c *tree) add(file, text string) {
	c.t.Helper()
	path := filepath.Join(c.folder, file)
	require.NoFileExists(c.t, path)
	c.write(file, text)
}

func (c *tree) write(file, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.folder, file), []byte(text), 0o600))
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
	c.passes("core/ops", "run", "./gen", "../../docs/operators.md")
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

// addOperator adds an operator as a whole, but for what is generated.
func (c *tree) addOperator() {
	c.t.Helper()
	c.add("core/ops/throw_away.go", throwAway)
	c.edit("backends/backendtest/cases.go", "\t\t\"throw_away\": unary(x()),\n", "\t\t\"gelu\": ")
}

// A new operator is one file, and its cases.
func TestAnOperatorIsOneFileAndItsCases(t *testing.T) {
	t.Parallel()
	c := copied(t)
	c.addOperator()
	// The tree says what is missing.
	cases, err := os.ReadFile(filepath.Join(c.folder, "backends/backendtest/cases.go"))
	require.NoError(t, err)
	c.write("backends/backendtest/cases.go", string(c.before["backends/backendtest/cases.go"]))
	require.Contains(t, c.fails(".", "test", "-run", "TestEveryOperatorHasCases", "./backends/backendtest"), "throw_away")
	c.write("backends/backendtest/cases.go", string(cases))
	require.Contains(t, c.fails(".", "test", "-run", "TestCommittedFilesAreFresh", "./capi/gen"), "go generate ./capi")
	require.Contains(t, c.fails(".", "test", "-run", "TestOperatorsDocIsUpToDate", "./core/ops"), "go generate ./core/ops")
	c.generate()
	require.Equal(t, []string{"backends/backendtest/cases.go", "core/ops/throw_away.go"}, c.byHand())

	// With that it is everywhere: whatever computes, and in every binding.
	c.passes(".", "test", "./core/ops", "./core/oplevel", "./capi/gen", "./backends/backendtest")
	c.passes(".", "test", "-run", "^(TestConformance|TestDecomposition)$/(^op$|^throw_away$)/^throw_away$", "./backends/reference")
	for _, binding := range []string{"include/qtsaccel_ops.hpp", "bindings/python/qtsaccel/ops.py", "docs/operators.md"} {
		text, err := os.ReadFile(filepath.Join(c.folder, binding))
		require.NoError(t, err)
		require.Contains(t, string(text), "throw_away", binding)
	}
}

const kernel = `#include "kernel.h"

namespace kernels {

namespace {

void halve(const call *c, int32_t ith, int32_t nth) {
    const part all(c->in[0].ne[0] * rows_of(c->in[0]), ith, nth);
    for (int64_t i = all.begin; i < all.end; i++) static_cast<float *>(c->out.data)[i] = floats_of(c->in[0])[i] / 2;
}

const kernel entry("throw_away", halve, {KERNELS_DENSE, true, {}});

}  // namespace

}  // namespace kernels
`

// caller finds the kernel and runs it as a backend does.
const caller = `#include <cstring>

#include "kernels.h"

int main() {
    const int64_t ne[4] = {3, 1, 1, 1};
    const size_t nb[4] = {4, 12, 12, 12};
    const float x[3] = {1, -2, 5};
    float y[3];
    const kernels_type f32 = {0, 1, 4, nullptr};
    const kernels_tensor in = {&f32, ne, nb, const_cast<float *>(x)};
    const kernels_call call = {{&f32, ne, nb, y}, &in, 1, nullptr};
    for (const kernels_kernel *k = kernels_first(); k != nullptr; k = k->next) {
        if (std::strcmp(k->name, "throw_away") != 0 || k->as_operator.inputs != KERNELS_DENSE) continue;
        k->run(&call, 0, 2);
        k->run(&call, 1, 2);
        return y[0] == 0.5f && y[1] == -1 && y[2] == 2.5f ? 0 : 2;
    }
    return 1;
}
`

// With a kernel for the CPU it is three.
func TestAnOperatorWithAKernelIsThreeFiles(t *testing.T) {
	t.Parallel()
	c := copied(t)
	c.addOperator()
	c.add("backends/kernels/throw_away.cpp", kernel)
	c.generate()
	require.Equal(t, []string{"backends/backendtest/cases.go", "backends/kernels/throw_away.cpp", "core/ops/throw_away.go"}, c.byHand())

	// It enters itself; of all kernels, which take minutes to compile, no other is needed.
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "c++"
	}
	program, folder := filepath.Join(t.TempDir(), "caller"), filepath.Join(c.folder, "backends", "kernels")
	main := program + ".cpp"
	require.NoError(t, os.WriteFile(main, []byte(caller), 0o600))
	output, err := exec.Command(compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", folder, "-o", program,
		main, filepath.Join(folder, "kernel.cpp"), filepath.Join(folder, "throw_away.cpp")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, exec.Command(program).Run())

	if os.Getenv("QTSACCEL_TEST_SHAPE") == "" {
		return
	}
	dist, err := filepath.Abs(filepath.Join("..", "..", "dist"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(dist, filepath.Join(c.folder, "dist")))
	c.passes(".", "test", "-run", "^TestConformance$/(^op$|^special$)/^throw_away$", "./backends/ggml")
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
