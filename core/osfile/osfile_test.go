package osfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRootIsAFileSystem(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b", "c.json"), []byte("text"), 0o600))
	inside := filepath.ToSlash(dir)[1:]
	data, err := fs.ReadFile(Root{}, inside+"/a/b/c.json")
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	found, err := fs.Glob(Root{}, inside+"/*/b/*.json")
	require.NoError(t, err)
	require.Equal(t, []string{inside + "/a/b/c.json"}, found)
	_, err = fs.ReadFile(Root{}, inside+"/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fs.Stat(Root{}, "../etc")
	require.ErrorIs(t, err, fs.ErrInvalid)
	f, err := Root{}.Open(inside + "/a/b/c.json")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	read := make([]byte, 3)
	for _, want := range []string{"tex", "t"} {
		n, _ := f.Read(read)
		require.Equal(t, want, string(read[:n]))
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 100), 0o600))
	data, err := Read(path, 100)
	require.NoError(t, err)
	require.Len(t, data, 100)
	_, err = Read(path, 99)
	require.ErrorContains(t, err, "has more than 99 bytes")
	require.NoError(t, os.Truncate(path, 1<<40)) // 1 TiB of nothing
	_, err = Read(path, 1<<20)
	require.ErrorContains(t, err, "has more than")
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writing := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := w.Write([]byte(text))
			return err
		}
	}
	requireContent := func(want string) {
		t.Helper()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		names, err := Names(dir)
		require.NoError(t, err)
		require.Equal(t, []string{"f"}, names, "nothing temporary stays")
	}
	for _, text := range []string{"one", "two"} {
		require.NoError(t, Replace(path, 0o600, writing(text)))
		requireContent(text)
	}
	halfway := errors.New("halfway")
	err := Replace(path, 0o600, func(w io.Writer) error { return errors.Join(writing("thr")(w), halfway) })
	require.ErrorIs(t, err, halfway)
	requireContent("two")
	require.Error(t, Replace(filepath.Join(path, "below"), 0o600, writing("x")), "a file is no folder")
	require.ErrorIs(t, Replace(dir, 0o600, writing("x")), ErrNotRegular)
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 2000 { // more than one call of the system gives
		name := string([]byte{byte('a' + i/676), byte('a' + i/26%26), byte('a' + i%26)}) + " of a long name, to fill the buffer"
		want = append(want, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	got, err := Names(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = Names(filepath.Join(dir, want[0]))
	require.Error(t, err)
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Create(path, 0o640)
	require.NoError(t, err)
	n, err := f.Write([]byte("abc"))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, f.Sync())
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
	require.NoError(t, f.Close())
	require.Error(t, f.Close(), "closed")
	_, err = Create(path, 0o640)
	require.ErrorIs(t, err, fs.ErrExist)
}
