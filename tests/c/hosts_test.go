package c

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// With however few descriptors, each call is OK or says what is missing, and works when
// there are some again.
func TestFewDescriptors(t *testing.T) {
	program := compile(t, "few_descriptors", &product)
	folder := t.TempDir()
	run(t, folder, "cpu", program, "prepare", "0", folder)
	for _, call := range []string{"open", "save", "backend", "count"} {
		refused := false
		for free := range 9 {
			t.Run(fmt.Sprintf("%s/%d", call, free), func(t *testing.T) {
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
				if out := run(t, folder, "cpu", program, call, strconv.Itoa(free), folder); out != "OK\n" {
					require.Equal(t, "IO\n", out)
					refused = true
				}
			})
		}
		if call != "count" { // which lists a device that cannot be looked at with the reason
			require.True(t, refused, "%s was never short of descriptors", call)
		}
	}
}

func TestTheLimitOfDescriptorsStays(t *testing.T) {
	require.Equal(t, "ok\n", run(t, "", "cpu", compile(t, "limit", &product)))
}

// trap is a library that leaves a mark when it is loaded.
const trap = `
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void sprung(void) { close(open("%s", O_CREAT | O_WRONLY, 0666)); }
`

func TestASetUserIDHostTrustsNoEnvironment(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a program that runs as root for others")
	}
	const nobody = 65534
	compile(t, "set_user_id", &product) // with every warning
	// A folder that somebody else may go into.
	dir, err := os.MkdirTemp("/var/tmp", "qtsaccel-suid-") //nolint:usetesting // t.TempDir is closed to others
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // see above
	var file syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &file))
	if file.Flags&syscall.MS_NOSUID != 0 {
		t.Skip(dir + " lies on a file system without set-user-id")
	}
	library := filepath.Join(product.in(t), "libqtsaccel.so")
	copyFile := func(from, to string) string {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, data, 0o755)) //nolint:gosec // see above
		return to
	}
	lib := filepath.Join(dir, "lib")
	require.NoError(t, os.MkdirAll(lib, 0o755)) //nolint:gosec // see above
	copyFile(library, filepath.Join(lib, "libqtsaccel.so.0"))
	host := filepath.Join(dir, "host")
	gcc(t, "-std=c99", "-I", filepath.Join(root(t), "include"), "-o", host, "programs/set_user_id.c",
		library, "-Wl,-rpath,"+lib)
	require.NoError(t, os.Chmod(host, 0o755|os.ModeSetuid)) //nolint:gosec // the point of the test

	plugins := filepath.Join(dir, "plugins")
	require.NoError(t, os.Mkdir(plugins, 0o755)) //nolint:gosec // see above
	found, err := filepath.Glob(filepath.Join(root(t), "dist", "lib", "qtsaccel", "libqtsg-*.so"))
	require.NoError(t, err)
	for _, f := range found {
		if name := filepath.Base(f); name != "libqtsg-vulkan.so" && name != "libqtsg-cuda.so" {
			copyFile(f, filepath.Join(plugins, name))
		}
	}
	trapped, mark := filepath.Join(dir, "trap"), filepath.Join(dir, "mark")
	require.NoError(t, os.Mkdir(trapped, 0o777))
	require.NoError(t, os.Chmod(trapped, 0o777)) //nolint:gosec // see above
	source := filepath.Join(t.TempDir(), "trap.c")
	require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, trap, mark), 0o600))
	gcc(t, "-shared", "-fPIC", "-o", filepath.Join(trapped, "libqtsg-base.so"), source)

	cmd := exec.CommandContext(t.Context(), host, plugins)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = []string{
		"QTSACCEL_PLUGIN_DIR=" + trapped, "QTSACCEL_BACKEND=none", "QWEN3_TTS_BACKEND=none", "QTSACCEL_BACKEND_FALLBACK=none",
		"QTSACCEL_GPU_DEVICE=none", "QTSACCEL_PROBE=none", "QTSACCEL_PROBE_TIMEOUT=none", "QTSACCEL_CALIBRATE=none",
		"QTSACCEL_DEBUG_BACKEND=1", "XDG_CACHE_HOME=" + trapped, "HOME=" + trapped,
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "ok\n", string(out), "not even debug lines")
	_, err = os.Stat(mark)
	require.ErrorIs(t, err, os.ErrNotExist, "a library of a stranger's was loaded as root")
	left, err := os.ReadDir(trapped)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is kept in a stranger's folder")

	// The trap works: who is trusted steps into it.
	trusted := exec.CommandContext(t.Context(), compile(t, "active", &product))
	trusted.Env = []string{"QTSACCEL_PLUGIN_DIR=" + trapped, "QTSACCEL_BACKEND=cpu"}
	_ = trusted.Run() // it wants a backend, and gets none
	_, err = os.Stat(mark)
	require.NoError(t, err)
}
