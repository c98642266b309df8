//go:build unix

package modelfile

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/weights/weightstest"
)

func TestOpenDoesNotBlock(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := t.TempDir()
	pipe, socket := filepath.Join(folder, "pipe"), filepath.Join(folder, "socket")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	for path, words := range map[string]string{pipe: "is a pipe", socket: "not a regular file"} {
		var err error
		requireSoon(t, func() { _, err = Open(path, Options{}) })
		weightstest.RequireError(t, err, status.IO, path, words)
	}
}

// Even a pipe that takes the place of a regular file between looking and opening
// does not block.
func TestAPipeThatReplacesAFileDoesNotBlock(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := t.TempDir()
	path, pipe, file := filepath.Join(folder, "path"), filepath.Join(folder, "pipe"), filepath.Join(folder, "file")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("GGUF"), 0o600))
	opened := 0
	requireSoon(t, func() {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				next := filepath.Join(folder, "next")
				_ = os.Symlink([]string{pipe, file}[i%2], next)
				_ = os.Rename(next, path)
			}
		}()
		for range 2000 {
			if _, err := Open(path, Options{}); err == nil {
				opened++
			}
		}
		close(stop)
		<-stopped
	})
	require.Zero(t, opened, "neither is a model")
}

// requireSoon fails the test if f does not end.
func requireSoon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it blocks")
	}
}

// A real file cut short by another process while its header says otherwise.
func TestOpenWhileTheFileIsTruncated(t *testing.T) {
	weightstest.LeavesNothing(t)
	file, _ := mixed()
	path := write(t, file)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Truncate(path, int64(len(file)/3))
				_ = os.WriteFile(path, file, 0o600)
			}
		}
	}()
	codes := map[status.Code]int{}
	for range 200 {
		w, err := Open(path, Options{})
		if err == nil {
			w.Release()
		}
		codes[status.Of(err)]++
	}
	close(stop)
	<-stopped
	for code := range codes {
		require.Contains(t, []status.Code{status.OK, status.IO, status.Corrupt}, code)
	}
	t.Log(codes)
}
