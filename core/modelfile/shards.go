package modelfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"qtsaccel/core/metadata"
	"qtsaccel/core/safetensors"
	"qtsaccel/core/status"
	"qtsaccel/core/tensorfile"
)

// The metadata by which the shards of a GGUF model belong together. Source:
// llama.cpp, tools/gguf-split.
const (
	splitNumber  = "split.no"            // from 0
	splitCount   = "split.count"         // how many shards
	splitTensors = "split.tensors.count" // of all shards together
)

// readShards opens the other shards if the first file is one of several, whose names
// end in -00001-of-00003.gguf.
func (s *source) readShards() error {
	first := s.files[0]
	count, split, err := s.number(first, s.metadata, splitCount)
	if err != nil || !split || count == 1 {
		return err
	}
	number, _, err := s.number(first, s.metadata, splitNumber)
	if err != nil {
		return err
	}
	if count < 1 || count > tensorfile.MaxShards {
		return status.Errorf(status.Corrupt, "%q: %s is %d, want 1 to %d", first.path, splitCount, count, tensorfile.MaxShards)
	}
	if number != 0 {
		return status.Errorf(status.InvalidArgument, "%q is part %d of %d: the first one is to be opened", first.path, number+1, count)
	}
	stem, ok := strings.CutSuffix(first.path, shardSuffix(0, count))
	if !ok {
		return status.Errorf(status.Corrupt, "%q: its metadata says that it is the first of %d parts, then its name must end in %q",
			first.path, count, shardSuffix(0, count))
	}
	for i := int64(1); i < count; i++ {
		if err := s.readShard(stem+shardSuffix(i, count), i, count); err != nil {
			return err
		}
	}
	total, given, err := s.number(first, s.metadata, splitTensors)
	if err == nil && given && total != int64(len(s.tensors)) {
		err = status.Errorf(status.Corrupt, "%q: %s is %d, its %d parts have %d tensors", first.path, splitTensors, total, count, len(s.tensors))
	}
	if err != nil {
		return err
	}
	// What describes the shards is not the model's.
	of := func(key string) bool { return strings.HasPrefix(key, "split.") }
	s.metadata = maps.Clone(s.metadata)
	maps.DeleteFunc(s.metadata, func(key string, _ metadata.Value) bool { return of(key) })
	s.keys = slices.DeleteFunc(slices.Clone(s.keys), of)
	return s.checkNames()
}

func shardSuffix(i, count int64) string { return fmt.Sprintf("-%05d-of-%05d.gguf", i+1, count) }

// readShard opens a shard but the first.
func (s *source) readShard(path string, i, count int64) error {
	f, table, err := s.open(path, formatGGUF)
	if err != nil {
		return err
	}
	for key, want := range map[string]int64{splitNumber: i, splitCount: count} {
		switch got, given, err := s.number(f, table.Metadata, key); {
		case err != nil:
			return err
		case !given || got != want:
			return status.Errorf(status.Corrupt, "%q: its %s must be %d, as its name says: it is %v", path, key, want, table.Metadata[key])
		}
	}
	return nil
}

// open opens one more file of the model, which must be of the format of its others,
// and adds its tensors.
func (s *source) open(path string, want format) (*file, *tensorfile.Table, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, status.Wrapf(err, "a part of %q", s.files[0].path)
	}
	s.files = append(s.files, f)
	is, err := f.format()
	var table *tensorfile.Table
	if err == nil && is != want {
		err = tensorfile.Corruptf(0, "it is %v, as a part of %q it must be %v", is, filepath.Base(s.files[0].path), want)
	}
	if err == nil {
		table, err = f.parse(is)
	}
	if err != nil {
		return nil, nil, status.Wrapf(err, "%q", path)
	}
	s.add(f, table)
	return f, table, nil
}

// number reads a whole number of a file's metadata, if it is there.
func (s *source) number(f *file, of map[string]metadata.Value, key string) (n int64, given bool, err error) {
	v, given := of[key]
	if !given {
		return 0, false, nil
	}
	whole, ok := v.Int()
	if !ok {
		return 0, true, status.Errorf(status.Corrupt, "%q: %s is %.100q, no whole number", f.path, key, v)
	}
	return whole, true, nil
}

// readIndexed opens the files that an index of safetensors files names.
func (s *source) readIndexed() error {
	f := s.files[0]
	index, err := safetensors.ParseIndex(f.r, f.size)
	if err != nil {
		return status.Wrapf(err, "%q", f.path)
	}
	s.metadata = map[string]metadata.Value{}
	for i, name := range index.Files {
		_, table, err := s.open(filepath.Join(filepath.Dir(f.path), name), formatSafetensors)
		if err != nil {
			return err
		}
		if i == 0 {
			s.metadata, s.keys = table.Metadata, table.Keys
		}
	}
	if err := s.checkNames(); err != nil {
		return err
	}
	for _, t := range s.tensors {
		want, ok := index.Of[t.Name]
		if !ok {
			return status.Errorf(status.Corrupt, "%q: tensor %.200q of %q is not in the index", f.path, t.Name, filepath.Base(t.file.path))
		}
		if want != filepath.Base(t.file.path) {
			return status.Errorf(status.Corrupt, "%q: tensor %.200q is in %q; by the index it is in %q", f.path, t.Name, filepath.Base(t.file.path), want)
		}
		delete(index.Of, t.Name)
	}
	for name, file := range index.Of {
		return status.Errorf(status.Corrupt, "%q: tensor %.200q is not in %q, where the index has it", f.path, name, file)
	}
	return nil
}

// checkNames finds a name that two files have.
func (s *source) checkNames() error {
	first := make(map[string]*file, len(s.tensors))
	for _, t := range s.tensors {
		if f, ok := first[t.Name]; ok {
			return status.Errorf(status.Corrupt, "%q: tensor %.200q is in %q, too", t.file.path, t.Name, filepath.Base(f.path))
		}
		first[t.Name] = t.file
	}
	if len(s.tensors) > tensorfile.MaxTensors {
		return status.Errorf(status.Unsupported, "%q: %d tensors in its parts, at most %d are supported", s.files[0].path, len(s.tensors), tensorfile.MaxTensors)
	}
	return nil
}
