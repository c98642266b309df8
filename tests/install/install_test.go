// Package install tests what `make install` and `make dist` give, as other projects
// use it: through pkg-config, through CMake, from a tarball, and linked statically.
package install

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the consumers print: the version, then numbers.
const right = "200: 2 4 6\n"

func TestMain(m *testing.M) {
	if os.Getenv("QTSACCEL_TEST_INSTALL") != "1" {
		println("the tests of installations are left out: make test-install runs them")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "tests", "install", "testdata", name)
}

// try runs a command in a folder with none of the tester's own settings but env.
func try(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "LD_") && !strings.HasPrefix(v, "MAKE") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(dir, env, name, args...)
	require.NoError(t, err, "%s %q\n%s", name, args, out)
	return out
}

func makeTarget(t *testing.T, args ...string) {
	t.Helper()
	run(t, root(t), nil, "make", append([]string{"-s"}, args...)...)
}

// TestInstall installs once and hands the folder, which may be moved and broken, from
// one test to the next.
func TestInstall(t *testing.T) {
	dest := t.TempDir()
	makeTarget(t, "install", "DESTDIR="+dest, "PREFIX=/opt/a b")
	prefix := filepath.Join(dest, "opt", "a b")
	moved := filepath.Join(t.TempDir(), "elsewhere") // pkg-config and a compiler dislike spaces
	require.NoError(t, os.Rename(prefix, moved))
	t.Run("pkg-config", func(t *testing.T) { testPkgConfig(t, moved) })
	require.NoError(t, os.Rename(moved, prefix))
	t.Run("cmake", func(t *testing.T) { testCMake(t, prefix) })
}

func testPkgConfig(t *testing.T, prefix string) {
	dir := t.TempDir()
	env := []string{"PKG_CONFIG_PATH=" + filepath.Join(prefix, "lib", "pkgconfig")}
	require.Equal(t, "0.2.0\n", run(t, dir, env, "pkg-config", "--modversion", "qtsaccel"))
	program := filepath.Join(dir, "consumer")
	run(t, dir, env, "sh", "-c", `cc -Wall -Werror -o "$0" "$1" $(pkg-config --cflags --libs qtsaccel)`, program, testdata(t, "consumer.c"))
	require.Equal(t, right, run(t, "/", []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib")}, program))

	// Statically: the same header, the plugins by option or by environment.
	static := filepath.Join(dir, "static")
	run(t, dir, env, "sh", "-c",
		`cc -Wall -Werror -o "$0" "$1" $(pkg-config --static --cflags --libs qtsaccel | sed s/-lqtsaccel/-l:libqtsaccel.a/)`,
		static, testdata(t, "consumer.c"))
	plugins := strings.TrimSpace(run(t, dir, env, "pkg-config", "--variable=plugindir", "qtsaccel"))
	require.Equal(t, right, run(t, "/", nil, static, plugins))
	require.Equal(t, right, run(t, "/", []string{"QTSACCEL_PLUGIN_DIR=" + plugins}, static))
	out, err := try("/", nil, static)
	require.Error(t, err)
	require.Contains(t, out, "there is no "+filepath.Join(dir, "qtsaccel")) // where it looked
	require.NotContains(t, run(t, dir, nil, "ldd", static), "libqtsaccel")
}

func testCMake(t *testing.T, prefix string) {
	build := t.TempDir()
	configure := []string{"-S", testdata(t, "cmake"), "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix}
	run(t, build, nil, "cmake", configure...)
	run(t, build, nil, "cmake", "--build", build)
	for _, program := range []string{"consumer", "consumer_cpp"} {
		require.Equal(t, right, run(t, "/", nil, filepath.Join(build, program)))
	}
	plugins, err := os.ReadFile(filepath.Join(build, "plugins"))
	require.NoError(t, err)
	require.Equal(t, right, run(t, "/", nil, filepath.Join(build, "consumer_static"), string(plugins)))

	for _, version := range []string{"0.3", "1.0"} {
		out, err := try(build, nil, "cmake", append(configure, "-DWANTED="+version, "--fresh")...)
		require.Error(t, err)
		require.Contains(t, out, `compatible with requested version "`+version+`"`)
		require.Contains(t, out, "version: 0.2.0")
	}
	require.NoError(t, os.Remove(filepath.Join(prefix, "lib", "libqtsaccel.so.0")))
	out, err := try(build, nil, "cmake", append(configure, "--fresh")...)
	require.Error(t, err)
	require.Contains(t, strings.Join(strings.Fields(out), " "), "libqtsaccel.so.0 is missing from the installation")
}

// The tarball works wherever it is, in two places at once, and after a move.
func TestTarball(t *testing.T) {
	makeTarget(t, "dist")
	found, err := filepath.Glob(filepath.Join(root(t), "dist", "release", "*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	run(t, filepath.Dir(found[0]), nil, "sha256sum", "-c", filepath.Base(found[0])+".sha256")

	name := strings.TrimSuffix(filepath.Base(found[0]), ".tar.gz")
	var places []string
	for _, place := range []string{"one", "two places/ünder"} {
		dir := filepath.Join(t.TempDir(), place)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		run(t, dir, nil, "tar", "xzf", found[0])
		places = append(places, filepath.Join(dir, name))
	}
	verify(t, places[0])
	bill(t, places[0])

	program := filepath.Join(t.TempDir(), "consumer")
	for i, place := range places {
		run(t, "/", nil, "cc", "-Wall", "-Werror", "-I"+filepath.Join(place, "include"), "-o", program, testdata(t, "consumer.c"),
			"-L"+filepath.Join(place, "lib"), "-lqtsaccel")
		other := places[1-i]
		require.NoError(t, os.Rename(other, other+".away")) // nothing is found by luck
		env := []string{"LD_LIBRARY_PATH=" + filepath.Join(place, "lib")}
		require.Equal(t, right, run(t, "/", env, program))
		require.Contains(t, run(t, "/", nil, filepath.Join(place, "bin", "qtsaccel"), "version"), "ggml")
		require.NoError(t, os.Rename(other+".away", other))
	}
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(places[0], moved))
	require.NoError(t, os.RemoveAll(places[1]))
	require.Equal(t, right, run(t, "/", []string{"LD_LIBRARY_PATH=" + filepath.Join(moved, "lib")}, program))
}

// verify checks each file against the list of checksums, and that all are in it.
func verify(t *testing.T, folder string) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "SHA256SUMS"))
	require.NoError(t, err)
	defer f.Close()
	listed := 1 // the list itself
	for lines := bufio.NewScanner(f); lines.Scan(); listed++ {
		want, name, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok, lines.Text())
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		got := sha256.Sum256(data)
		require.Equal(t, want, hex.EncodeToString(got[:]), name)
	}
	there := 0
	require.NoError(t, filepath.WalkDir(folder, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			there++
		}
		return err
	}))
	require.Equal(t, there, listed)
}

// bill looks at the bill of materials: what is carried, with licences that are there.
func bill(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "sbom.spdx.json"))
	require.NoError(t, err)
	var doc struct {
		SPDXVersion string
		Packages    []struct{ Name, VersionInfo, LicenseDeclared string }
		Files       []struct{ FileName string }
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, "SPDX-2.3", doc.SPDXVersion)
	var names []string
	for _, p := range doc.Packages {
		names = append(names, p.Name)
		require.NotEmpty(t, p.VersionInfo, p.Name)
		require.NotEmpty(t, p.LicenseDeclared, p.Name)
		licence, err := os.ReadFile(filepath.Join(folder, "licenses", strings.ReplaceAll(p.Name, "/", "_")+".txt"))
		require.NoError(t, err)
		require.Greater(t, len(licence), 500, p.Name)
	}
	require.Subset(t, names, []string{"qtsaccel", "ggml", "go", "github.com/ebitengine/purego"})
	require.Greater(t, len(doc.Files), 10)
}
