package modelfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"qtsaccel/core/gguf"
	"qtsaccel/core/mem"
	"qtsaccel/core/metadata"
	"qtsaccel/core/osfile"
	"qtsaccel/core/safetensors"
	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// file is an opened file of tensors.
type file struct {
	path    string
	r       io.ReaderAt
	f       *osfile.File // nil in tests that read from elsewhere
	size    int64
	mapping []byte // of the whole file, where it is mapped
	kept    bool   // tensors that cannot be used are saved from it
}

// source is the file or files that make up a model.
type source struct {
	files    []*file
	tensors  []sourced
	metadata map[string]metadata.Value
	keys     []string // of metadata, in their order
}

// sourced is a tensor in a file.
type sourced struct {
	tensorfile.Entry
	file *file
}

// openFile opens a regular file. Every error begins with the path.
func openFile(path string) (*file, error) {
	f, err := osfile.Open(path)
	if err != nil {
		return nil, status.Wrapf(ioError(err), "%q", path)
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close()
		return nil, status.Wrapf(ioError(err), "%q", path)
	}
	return &file{path: path, r: f, f: f, size: size}, nil
}

// ioError makes an IO error without the path, which stands in front of it. Nil
// stays nil.
func ioError(err error) error {
	if err == nil {
		return nil
	}
	return status.Errorf(status.IO, "%w", withoutPath(err))
}

func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// close gives the mapping and the file back.
func (f *file) close() {
	// It fails only for a mapping that is not its own; the tests' counts would
	// show it.
	_ = mem.Free(f.mapping)
	f.mapping = nil
	if f.f != nil {
		_ = f.f.Close() // what was read is right whatever closing says
	}
}

func (s *source) close() {
	for _, f := range s.files {
		f.close()
	}
}

// Read fills dst with what lies at an offset. IO, with the path.
func (f *file) Read(dst []byte, offset int64) error {
	return status.Wrapf(tensorfile.ReadAt(f.r, dst, offset), "%q", f.path)
}

// mapAll maps the file unless it is mapped.
func (f *file) mapAll() (err error) {
	if f.mapping == nil {
		f.mapping, err = mem.MapFile(f.f, f.size)
	}
	return err
}

// CheckEnd finds that a file has become shorter than end bytes since it was opened.
func (f *file) CheckEnd(end int64) error {
	size, err := f.f.Size()
	if err != nil {
		return status.Wrapf(ioError(err), "%q", f.path)
	}
	if size < end {
		return status.Errorf(status.IO, "%q: the file has become shorter since it was opened: it has %d bytes, %d are needed", f.path, size, end)
	}
	return nil
}

// format is what a file holds, told by its beginning.
type format int

const (
	formatGGUF format = iota + 1
	formatSafetensors
	formatIndex
)

func (f format) String() string {
	return [...]string{formatGGUF: "a GGUF file", formatSafetensors: "a safetensors file", formatIndex: "an index of safetensors files"}[f]
}

// format tells the formats apart.
func (f *file) format() (format, error) {
	if f.size == 0 {
		return 0, tensorfile.Corruptf(0, "the file is empty")
	}
	begin := make([]byte, min(f.size, safetensors.LengthBytes+1))
	if err := tensorfile.ReadAt(f.r, begin, 0); err != nil {
		return 0, err
	}
	switch {
	case len(begin) >= len(gguf.Magic) && string(begin[:len(gguf.Magic)]) == gguf.Magic:
		return formatGGUF, nil
	case begin[0] == '{' && len(begin) > 1 && strings.IndexByte("\"} \t\r\n", begin[1]) >= 0 && !safetensors.HeaderFits(begin, f.size):
		// A JSON text: its first eight bytes as a length are beyond any file.
		return formatIndex, nil
	case len(begin) > safetensors.LengthBytes && begin[safetensors.LengthBytes] == '{':
		return formatSafetensors, nil
	}
	return 0, tensorfile.Corruptf(0, "this is neither a GGUF nor a safetensors file: its %d bytes begin with %q", f.size, begin)
}

// parse reads the header of a GGUF or safetensors file.
func (f *file) parse(is format) (*tensorfile.Table, error) {
	if is == formatGGUF {
		return gguf.Parse(f.r, f.size)
	}
	return safetensors.Parse(f.r, f.size)
}

// openSource opens a file, and the others that it belongs with.
func openSource(path string) (*source, error) {
	first, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := &source{files: []*file{first}}
	if err := s.readHeaders(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// readHeaders reads the header of the one file there is, and opens others.
func (s *source) readHeaders() error {
	first := s.files[0]
	is, err := first.format()
	if err != nil {
		return status.Wrapf(err, "%q", first.path)
	}
	if is == formatIndex {
		return s.readIndexed()
	}
	table, err := first.parse(is)
	if err != nil {
		return status.Wrapf(err, "%q", first.path)
	}
	s.metadata, s.keys = table.Metadata, table.Keys
	s.add(first, table)
	if is == formatGGUF {
		return s.readShards()
	}
	return nil
}

func (s *source) add(f *file, table *tensorfile.Table) {
	for _, e := range table.Entries {
		s.tensors = append(s.tensors, sourced{e, f})
	}
}
