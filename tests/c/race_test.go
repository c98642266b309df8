package c

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The programs with many threads, under Go's race detector, which exists for
// archives only. QTSACCEL_TEST_RACE=1 asks for it: make test-race.
func TestThreadsDoNotRace(t *testing.T) {
	if os.Getenv("QTSACCEL_TEST_RACE") != "1" {
		t.Skip("QTSACCEL_TEST_RACE is not 1")
	}
	archive := filepath.Join(t.TempDir(), "qtsaccel.a")
	build := exec.Command("go", "build", "-race", "-buildmode=c-archive", "-o", archive, "./capi")
	build.Dir = root(t)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	for name, prints := range map[string]string{"threads": `^ok\n`, "oplevel": `\nok\n`} {
		program := filepath.Join(t.TempDir(), name)
		gcc(t, "-std=c99", "-g", "-no-pie", "-I", filepath.Join(root(t), "include"), "-o", program,
			filepath.Join("programs", name+".c"), archive, "-lstdc++", "-lm", "-lresolv", "-ldl", "-lpthread")
		// Plugins are looked for beside the program.
		require.NoError(t, os.Symlink(filepath.Join(product.in(t), "qtsaccel"), filepath.Join(filepath.Dir(program), "qtsaccel")))
		onEachBackend(t, func(t *testing.T, backend string) {
			require.Regexp(t, prints+"$", run(t, "", backend, program))
		})
	}
}
