//go:build !unix

package osfile

import (
	"io/fs"
	"os"
)

// File is an open file.
type File struct{ *os.File }

func open(name string) (*File, error) { return wrap(os.Open(name)) }

// Create makes a file that is not there yet, to be written.
func Create(name string, mode fs.FileMode) (*File, error) {
	return wrap(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()))
}

func wrap(f *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Size is what the file has now.
func (f *File) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *File) checkRegular() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return CheckRegular(info)
}

// Names lists a folder, sorted.
func Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
