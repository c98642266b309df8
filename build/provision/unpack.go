package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// unpackTgz extracts files of a gzipped tarball; see unpackTar.
func unpackTgz(path, dir string, place func(name string) string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := unpackTar(z, dir, place); err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	return nil
}

// unpackTar extracts the regular files of an archive for which place returns a
// path inside dir; "" leaves a file out. It is an error if none was placed.
func unpackTar(r io.Reader, dir string, place func(name string) string) error {
	placed := 0
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := place(h.Name)
		if name == "" {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s would be written outside %s", h.Name, dir)
		}
		if err := writeFrom(filepath.Join(dir, name), t, h.FileInfo().Mode().Perm()|0o644); err != nil {
			return err
		}
		placed++
	}
	if placed == 0 {
		return errors.New("it holds none of the files looked for")
	}
	return nil
}

// writeFrom writes a new file, and the folders it lies in.
func writeFrom(path string, r io.Reader, mode os.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, r)
	return err
}
