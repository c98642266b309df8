package c

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSignalsStayTheHosts(t *testing.T) {
	if withASan() {
		t.Skip("the address sanitizer has handlers of its own for faults")
	}
	program := compile(t, "signals", nil)
	onEachBackend(t, func(t *testing.T, backend string) {
		run(t, "", backend, program, filepath.Join(product.in(t), "libqtsaccel.so"))
	})
}

// A process ends by the signal that would end it without the library, with not a word
// from it, and handlers from before it was loaded see their signals.
func TestAProcessEndsByItsOwnSignal(t *testing.T) {
	if withASan() {
		t.Skip("the address sanitizer has handlers of its own for faults")
	}
	program := compile(t, "last_signals", &product)
	for how, want := range map[string]syscall.Signal{
		"callback-null": syscall.SIGSEGV, "callback-far": syscall.SIGSEGV, "callback-raise": syscall.SIGSEGV,
		"callback-divide": syscall.SIGFPE, "callback-pipe": syscall.SIGPIPE,
		"sent": syscall.SIGSEGV, "map": syscall.SIGBUS,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), program, how, t.TempDir()).CombinedOutput()
			require.Empty(t, string(out))
			ended, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%v", err)
			status, ok := ended.Sys().(syscall.WaitStatus)
			require.True(t, ok)
			require.True(t, status.Signaled(), "%v", ended)
			require.Equal(t, want, status.Signal())
		})
	}
	for _, how := range []string{"handled-callback-null", "handled-callback-far", "handled-map", "callback-pipe-ignored"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), program, how, t.TempDir()).CombinedOutput()
			require.Empty(t, string(out))
			ended, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 42, ended.ExitCode(), "the host's handler was to see it: %v", ended)
		})
	}
	t.Run("urgent", func(t *testing.T) {
		require.Equal(t, "ok\n", run(t, "", "cpu", program, "urgent", t.TempDir()))
	})
}
