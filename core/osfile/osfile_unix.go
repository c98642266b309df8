//go:build unix

package osfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// File is an open file. Its methods may be called from any goroutine, Close by one, at
// the end.
type File struct {
	fd   int
	name string
}

// most is what one system call is asked for: more is more than some systems take.
const most = 1 << 30

func open(name string) (*File, error) {
	return openWith(name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Create makes a file that is not there yet, to be written.
func Create(name string, mode fs.FileMode) (*File, error) {
	return openWith(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, uint32(mode.Perm()))
}

func openWith(name string, flags int, mode uint32) (*File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = syscall.Open(name, flags|syscall.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &File{fd, name}, nil
}

// again repeats a system call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (f *File) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// Fd gives the descriptor, which stays the file's.
func (f *File) Fd() int { return f.fd }

// ReadAt is [io.ReaderAt]'s.
func (f *File) ReadAt(p []byte, offset int64) (done int, err error) {
	for done < len(p) {
		var n int
		err := again(func() (err error) {
			n, err = syscall.Pread(f.fd, p[done:min(len(p), done+most)], offset+int64(done))
			return err
		})
		if err != nil {
			return done, f.failed("read", err)
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

// Write is [io.Writer]'s.
func (f *File) Write(p []byte) (done int, err error) {
	for done < len(p) {
		var n int
		err := again(func() (err error) {
			n, err = syscall.Write(f.fd, p[done:min(len(p), done+most)])
			return err
		})
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return done, f.failed("write", err)
		}
		done += n
	}
	return done, nil
}

func (f *File) stat() (s syscall.Stat_t, err error) {
	err = again(func() error { return syscall.Fstat(f.fd, &s) })
	return s, f.failed("stat", err)
}

// Size is what the file has now.
func (f *File) Size() (int64, error) {
	s, err := f.stat()
	return s.Size, err
}

// Stat tells what the path means now; it is there for [fs.File].
func (f *File) Stat() (fs.FileInfo, error) { return os.Stat(f.name) }

func (f *File) checkRegular() error {
	s, err := f.stat()
	if err == nil && s.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = ErrNotRegular
	}
	return err
}

// Sync waits until what was written is on the disk.
func (f *File) Sync() error {
	return f.failed("sync", again(func() error { return syscall.Fsync(f.fd) }))
}

// Close gives the descriptor back. After an interruption it is gone all the same.
func (f *File) Close() error {
	err := syscall.Close(f.fd)
	if errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return f.failed("close", err)
}

// Names lists a folder, sorted.
func Names(dir string) ([]string, error) {
	f, err := openWith(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	buffer := make([]byte, 32<<10)
	for {
		var n int
		if err := again(func() (err error) { n, err = syscall.ReadDirent(f.fd, buffer); return err }); err != nil {
			return nil, f.failed("readdir", err)
		}
		if n <= 0 {
			break
		}
		_, _, names = syscall.ParseDirent(buffer[:n], -1, names)
	}
	slices.SortFunc(names, strings.Compare)
	return names, nil
}
