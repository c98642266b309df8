package hostile

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/probe/probetest"
)

func TestMain(m *testing.M) { os.Exit(probetest.Run(m)) }

// A device's plugin fails, hangs or loses its device in the middle of a run.
func TestDeviceFailsInARun(t *testing.T) {
	s := probetest.NewStage(t)
	lib := filepath.Dir(library(t))
	program := compile(t, t.TempDir(), "device", "-L"+lib, "-lqtsaccel", "-Wl,-rpath,"+lib, "-lpthread")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, t.TempDir())
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "QTSACCEL_PLUGIN_DIR="+s.Dir, "QTSACCEL_CALIBRATE=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "it hangs: %s", out)
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "ok\n")
}
