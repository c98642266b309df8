//go:build unix

package osfile

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is no regular file is refused at once: none of these may be waited for.
func TestOpenTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("/dev/zero", link))
	for _, path := range []string{fifo, socket, dir, link, "/dev/null"} {
		_, err := Open(path)
		require.Error(t, err, path)
		_, err = Read(path, 1<<20)
		require.Error(t, err, path)
	}
	_, err = Open(fifo)
	require.ErrorContains(t, err, "is a pipe")
}

func TestNoDescriptors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.True(t, StartPoller())
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	none := old
	none.Cur = 3
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	_, err := Open(path)
	_, creating := Create(path+"2", 0o600)
	_, listing := Names(filepath.Dir(path))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	for _, e := range []error{err, creating, listing} {
		require.ErrorIs(t, e, syscall.EMFILE)
	}
}
