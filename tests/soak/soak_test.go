// Package soak uses the library over and over, and holds it to taking no more of the
// process than after the first rounds.
package soak

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds are counted, so that a busy machine takes longer and does the same.
// QTSACCEL_SOAK_TIME=1h has it go on for at least so long: make soak.
const rounds = "10000"

func TestSoak(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	out, err := exec.Command("make", "-s", "-C", root, "test-lib").CombinedOutput()
	require.NoError(t, err, "make test-lib: %s", out)
	lib := filepath.Join(root, "dist", "test")
	_, err = os.Stat(filepath.Join(lib, "libqtsaccel.so")) // seen by the test cache
	require.NoError(t, err)

	dir := t.TempDir()
	program := filepath.Join(dir, "soak")
	out, err = exec.Command("gcc", "-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		"-I", filepath.Join(root, "include"), "-o", program, filepath.Join("programs", "soak.c"),
		"-L"+lib, "-lqtsaccel", "-Wl,-rpath,"+lib, "-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)

	seconds := "0"
	if s := os.Getenv("QTSACCEL_SOAK_TIME"); s != "" {
		d, err := time.ParseDuration(s)
		require.NoError(t, err, "QTSACCEL_SOAK_TIME")
		seconds = strconv.Itoa(int(d.Seconds()))
	}
	cmd := exec.Command(program, dir, rounds, seconds)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err = cmd.CombinedOutput()
	printed, _ := os.ReadFile(filepath.Join(dir, "printed")) // what a failed check says is there
	require.NoError(t, err, "%s%s", out, printed)
	t.Logf("%s", out)
}
