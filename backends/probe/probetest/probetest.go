// Package probetest builds what tests of the probe need: a folder like an
// installation's, with a plugin and a driver that misbehave as they are told.
package probetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
)

// Stage is a folder with the tool, ggml, and a stand-in for the CUDA plugin. A
// stand-in for CUDA's driver is on the path of libraries. How the two behave is
// said by the variables FAKE_PLUGIN and FAKE_CUDA: see their sources in testdata.
type Stage struct {
	Dir  string
	Tool string // the program "qtsaccel" in it
}

// built is what all stages are copies of.
var built struct {
	once    sync.Once
	dir     string
	problem string // "" if all could be built
}

// Run runs a package's tests, for its TestMain, and removes what stages were made of.
func Run(m *testing.M) int {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	return code
}

// NewStage makes a stage, with an empty cache, a driver with one device and a plugin
// that works. It skips the test where there is no compiler for the stand-ins.
func NewStage(t *testing.T) *Stage {
	t.Helper()
	built.once.Do(func() { build(t) })
	if built.problem != "" {
		t.Skip(built.problem)
	}
	require.NotEmpty(t, built.dir, "the stage could not be built for an earlier test")
	s := &Stage{Dir: t.TempDir()}
	s.Tool = filepath.Join(s.Dir, "qtsaccel")
	// Copies: links would lead back to where they point.
	require.NoError(t, os.CopyFS(s.Dir, os.DirFS(built.dir)))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(s.Dir, "driver"))
	t.Setenv("FAKE_CUDA", "1")
	t.Setenv("FAKE_PLUGIN", "")
	OwnCache(t)
	return s
}

// OwnCache has nothing remembered by the probe. Mesa's cache stays: it spares much
// of a minute's compiling.
func OwnCache(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if home, err := os.UserHomeDir(); err == nil {
		t.Setenv("MESA_SHADER_CACHE_DIR", filepath.Join(home, ".cache"))
	}
}

func build(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		built.problem = "the stand-ins for driver and plugin are made for Linux"
		return
	}
	if _, err := exec.LookPath("g++"); err != nil {
		built.problem = "no g++ to build stand-ins for driver and plugin with"
		return
	}
	plugins := Plugins(t)
	cpu, err := filepath.Glob(filepath.Join(plugins, library.PluginFile("cpu-*")))
	require.NoError(t, err)
	if len(cpu) == 0 {
		built.problem = "no CPU plugins in " + plugins + " (make ggml)"
		return
	}
	dir, err := os.MkdirTemp("", "qtsaccel-stage-") //nolint:usetesting // it outlives the test that makes it
	require.NoError(t, err)
	for _, name := range append(cpu, filepath.Join(plugins, library.PluginFile("base"))) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600))
	}
	sources := filepath.Join(root(t), "backends", "probe", "probetest", "testdata")
	base := strings.TrimSuffix(strings.TrimPrefix(library.PluginFile("base"), "lib"), ".so")
	command(t, "g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-I", filepath.Join(root(t), "dist", "ggml", "include"),
		// ggml's symbols as they are called in our copies.
		"-Dggml_graph_node=qtsg_graph_node", "-Dggml_nelements=qtsg_nelements", "-Dggml_abort=qtsg_abort",
		fmt.Sprintf("-DCPU_PLUGIN=%q", plainest(cpu)), "-o", filepath.Join(dir, library.PluginFile("cuda")),
		filepath.Join(sources, "plugin.cpp"), "-L"+dir, "-l"+base, "-Wl,-rpath,$ORIGIN")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "driver"), 0o700))
	Driver(t, filepath.Join(dir, "driver"))
	command(t, "go", "build", "-o", filepath.Join(dir, "qtsaccel"), filepath.Join(root(t), "cmd", "qtsaccel"))
	built.dir = dir
}

// Driver builds the stand-in for CUDA's driver in a folder and gives its path.
func Driver(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build a stand-in for libcuda with")
	}
	path := filepath.Join(dir, "libcuda.so.1")
	command(t, "gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", path,
		filepath.Join(root(t), "backends", "probe", "probetest", "testdata", "libcuda.c"))
	return path
}

// Plugins is the folder in dist with ggml's libraries.
func Plugins(t *testing.T) string {
	t.Helper()
	return filepath.Join(root(t), "dist", "lib", "qtsaccel")
}

// plainest is a CPU plugin that runs on every processor.
func plainest(paths []string) string {
	for _, p := range paths {
		if name := filepath.Base(p); name == library.PluginFile("cpu-x64") {
			return name
		}
	}
	return filepath.Base(paths[0])
}

// root is the repository's folder: the first above the test's with a go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test's folder")
		dir = filepath.Dir(dir)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
}
