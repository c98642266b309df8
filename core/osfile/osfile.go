// Package osfile opens, reads and writes files by system calls alone. Package os
// starts Go's network poller at the first file that it opens, which takes two
// descriptors, and where there are none to be had ends the process; here that is an
// error like any other. Only regular files are opened: a pipe, a socket or a device may
// wait for ever, or do something by being opened.
//
// Errors are *fs.PathError, as package os gives them.
package osfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNotRegular is what the errors of [CheckRegular] are.
var ErrNotRegular = errors.New("is not a regular file")

// irregular is what a file is that is not a regular one.
type irregular string

func (e irregular) Error() string { return string(e) }

func (irregular) Is(target error) bool { return target == ErrNotRegular }

// CheckRegular says what a file is that is none to read from.
func CheckRegular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return irregular("is a directory")
	case mode&fs.ModeNamedPipe != 0:
		return irregular("is a pipe, not a regular file")
	default:
		return ErrNotRegular
	}
}

// Open opens a regular file to be read. It looks before it opens, since opening alone
// does something to some devices, and again after, since the path may have come to mean
// something else; it never blocks on a pipe even then.
func Open(name string) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(info); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	if err := f.checkRegular(); err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// Read gives a regular file's content; an error where that is more than limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The size says nothing of what /proc and /sys have, and may change: the content is
	// taken as it comes, and one byte more than allowed is too much.
	data, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("has more than %d bytes", limit)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Replace writes a file by write, in place of one that is there, whose mode it takes;
// mode is for a new one. Readers see the old content or the whole new one, also after a
// power failure; where path is a link, the file behind it is replaced. Errors of write's
// come out as they are, and nothing is left behind then. [ErrNotRegular]: path is
// something other than a file.
func Replace(name string, mode fs.FileMode, write func(io.Writer) error) error {
	switch info, err := os.Stat(name); {
	case err == nil:
		if err := CheckRegular(info); err != nil {
			return &fs.PathError{Op: "replace", Path: name, Err: err}
		}
		mode = info.Mode().Perm()
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist): // such as a name that is too long: found before all is written
		return err
	}
	temporary := temporaryName(name)
	f, err := Create(temporary, mode)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err == nil {
		return nil
	}
	if removing := os.Remove(temporary); removing != nil && !errors.Is(removing, fs.ErrNotExist) {
		err = &fs.PathError{Op: "replace", Path: name, Err: fmt.Errorf("%q cannot be removed either: %w", temporary, err)}
	}
	return err
}

// temporaryName names a file beside another that no other is likely to have: by the
// other's own name, as far as it leaves the temporary one within what file systems allow
// (255 bytes, some 143).
func temporaryName(name string) string {
	const most = 64
	base := filepath.Base(name)
	if len(base) > most {
		base = strings.ToValidUTF8(base[:most], "") // whole characters, as some systems want
	}
	// crypto/rand would start a timer, and with it the poller.
	return filepath.Join(filepath.Dir(name), "."+base+"."+strconv.FormatUint(rand.Uint64(), 36))
}

// maxSystemFile bounds what [Root] reads of one file: those of /proc and /sys are
// small.
const maxSystemFile = 1 << 20

// Root is the machine's file system, for its small files: see [fs.FS].
type Root struct{}

func rooted(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return path.Join("/", name), nil
}

// Open opens a file.
func (Root) Open(name string) (fs.File, error) {
	full, err := rooted("open", name)
	if err != nil {
		return nil, err
	}
	f, err := Open(full)
	if err != nil {
		return nil, err
	}
	return &sequential{File: f, r: io.NewSectionReader(f, 0, maxSystemFile)}, nil
}

// ReadFile reads a small file.
func (Root) ReadFile(name string) ([]byte, error) {
	full, err := rooted("read", name)
	if err != nil {
		return nil, err
	}
	return Read(full, maxSystemFile)
}

// Stat tells what a file is, without opening it.
func (Root) Stat(name string) (fs.FileInfo, error) {
	full, err := rooted("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(full)
}

// ReadDir lists a folder by name.
func (Root) ReadDir(name string) ([]fs.DirEntry, error) {
	full, err := rooted("readdir", name)
	if err != nil {
		return nil, err
	}
	names, err := Names(full)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for _, n := range names {
		if info, err := os.Lstat(path.Join(full, n)); err == nil { // else it is gone again
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
	}
	return entries, nil
}

// sequential is a file that is read from its beginning to its end.
type sequential struct {
	*File
	r *io.SectionReader
}

func (s *sequential) Read(p []byte) (int, error) { return s.r.Read(p) }
