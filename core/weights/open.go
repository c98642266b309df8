package weights

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"qtsaccel/core/gguf"
	"qtsaccel/core/safetensors"
	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// readBytes is how much of small tensors is read at a time. Larger ones are read
// straight into their memory.
const readBytes = 1 << 20

// Open reads a GGUF or safetensors file whole, told apart by content, and closes
// it. Only a regular file is opened, never a pipe or a device that might block.
// The result has one reference.
//
// IO: it cannot be opened or read, or becomes shorter meanwhile; CORRUPT: it is
// no such file, or a wrong one; UNSUPPORTED: it has what the library does not;
// OUT_OF_MEMORY. Every message begins with the path.
func Open(path string) (*Weights, error) {
	w, err := open(path)
	return w, status.Wrapf(err, "%q", path)
}

func open(path string) (*Weights, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	// What was read is right whatever closing says.
	defer func() { _ = f.Close() }()
	table, err := parse(f, size)
	if err != nil {
		return nil, err
	}
	w := New()
	w.metadata = table.Metadata
	if err := w.read(f, table.Entries); err != nil {
		w.Release()
		return nil, err
	}
	return w, nil
}

// openRegular opens a regular file and gives its size. It looks before it opens,
// since opening alone does something to some devices, and again after, since the
// path may have come to mean something else; O_NONBLOCK, so that even then a
// pipe without a writer does not block.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, 0, ioError(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, ioError(err)
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, ioError(err)
	}
	return f, info.Size(), nil
}

func checkRegular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("is a directory")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("is a pipe, not a regular file")
	default:
		return errors.New("is not a regular file")
	}
}

// ioError makes an IO error without the path, which Open puts in front.
func ioError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return status.Errorf(status.IO, "%w", err)
}

// parse tells the formats apart and reads the header.
func parse(r io.ReaderAt, size int64) (*tensorfile.Table, error) {
	if size == 0 {
		return nil, tensorfile.Corruptf(0, "the file is empty")
	}
	begin := make([]byte, min(size, safetensors.LengthBytes+1))
	if err := tensorfile.ReadAt(r, begin, 0); err != nil {
		return nil, err
	}
	switch {
	case len(begin) >= len(gguf.Magic) && string(begin[:len(gguf.Magic)]) == gguf.Magic:
		return gguf.Parse(r, size)
	case len(begin) > safetensors.LengthBytes && begin[safetensors.LengthBytes] == '{':
		return safetensors.Parse(r, size)
	}
	return nil, tensorfile.Corruptf(0, "this is neither a GGUF nor a safetensors file: its %d bytes begin with %q", size, begin)
}

// read fills the tensors of an opened file with its data, from its beginning to
// its end.
func (w *Weights) read(f io.ReaderAt, entries []tensorfile.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	pos := entries[0].Offset
	last := entries[len(entries)-1]
	// It hands reads of at least its buffer's size through, once that is empty.
	r := bufio.NewReaderSize(io.NewSectionReader(f, pos, last.Offset+last.Bytes-pos), readBytes)
	for _, e := range entries {
		t, err := w.add(e.Name, e.Type)
		if err != nil {
			return err
		}
		if err := t.allocate(); err != nil {
			return err
		}
		skipped, err := r.Discard(int(e.Offset - pos)) // padding, less than 2^31
		pos += int64(skipped)
		if err != nil {
			return readError(t, err, pos)
		}
		n, err := io.ReadFull(r, t.data)
		pos += int64(n)
		if err != nil {
			return readError(t, err, pos)
		}
	}
	return nil
}

func readError(t *Tensor, err error, pos int64) error {
	return status.Wrapf(tensorfile.ReadError(err, pos), "tensor %.200q, %v", t.Name, t.Type)
}
