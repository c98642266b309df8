// Package abi shows that programs go on working that were compiled against an earlier
// header, and that one compiled against a later header is told what the library lacks.
// first/qtsaccel.h is the header of the first version, 0.2, as it was, and is never changed
// once that is released;
// capi/gen holds the header of today to it and to include/qtsaccel.abi.
package abi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var lib = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("make", "-s", "-C", "../..", "lib").CombinedOutput()
})

// folder makes the library and gives the folder that it is in.
func folder(t *testing.T) string {
	t.Helper()
	out, err := lib()
	require.NoError(t, err, "make lib: %s", out)
	dir, err := filepath.Abs("../../dist/lib")
	require.NoError(t, err)
	// Seen by the test cache, which knows nothing of what programs load.
	_, err = os.Stat(filepath.Join(dir, "libqtsaccel.so"))
	require.NoError(t, err)
	return dir
}

// runs compiles a program against the header in a folder, and runs it on the library
// of today.
func runs(t *testing.T, name, include string, args ...string) {
	t.Helper()
	dir, program := folder(t), filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-I", include, "-o", program,
		filepath.Join("programs", name+".c"), "-L"+dir, "-lqtsaccel", "-Wl,-rpath,"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, backend := range []string{"cpu", "reference"} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "QTSACCEL_BACKEND="+backend)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s on %s: %s", name, backend, out)
		require.Equal(t, "ok\n", string(out))
	}
}

func TestAProgramOfTheFirstVersionRuns(t *testing.T) { runs(t, "first", "first") }

func TestSmallerStructsAreTaken(t *testing.T) {
	runs(t, "smaller", "../../include", filepath.Join(t.TempDir(), "weights.gguf"))
}

func TestANewerProgramIsTold(t *testing.T) {
	text, err := os.ReadFile("../../include/qtsaccel.h")
	require.NoError(t, err)
	newer := regexp.MustCompile(`(#define QTSA_VERSION_MINOR) \d+`).ReplaceAllString(string(text), "$1 77")
	newer = strings.Replace(newer, "} qtsa_plan_options;", "    const char *more;\n} qtsa_plan_options;", 1)
	require.NotContains(t, newer, "    int32_t strict;\n} qtsa_plan_options;")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "qtsaccel.h"), []byte(newer), 0o600))
	runs(t, "newer", dir)
}
