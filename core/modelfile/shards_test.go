package modelfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/gguf"
	"qtsaccel/core/metadata"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
	"qtsaccel/core/weights/weightstest"
)

// part is one file of a split model.
type part struct {
	name    string
	tensors []string
	number  metadata.Value // split.no
	count   metadata.Value
	total   *metadata.Value
}

func writeParts(t *testing.T, parts []part) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i, p := range parts {
		pairs := []metadata.Pair{{Key: "split.no", Value: p.number}, {Key: "split.count", Value: p.count}}
		if i == 0 {
			pairs = append([]metadata.Pair{{Key: "general.name", Value: metadata.Text("model")}}, pairs...)
		}
		if p.total != nil {
			pairs = append(pairs, metadata.Pair{Key: "split.tensors.count", Value: *p.total})
		}
		named := make([]gguf.Named, len(p.tensors))
		for j, name := range p.tensors {
			named[j] = gguf.Named{Name: name, Type: weightstest.F32(1)}
		}
		layout, err := gguf.NewLayout(pairs, named)
		require.NoError(t, err)
		content := make([]byte, layout.Size)
		copy(content, layout.Header)
		for j, name := range p.tensors {
			copy(content[layout.Offsets[j]:], name)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, p.name), content, 0o600))
	}
	return folder
}

func three() []part {
	total := metadata.U32(5)
	p := make([]part, 3)
	for i, tensors := range [][]string{{"t0", "t1"}, {"t2"}, {"t3", "t4"}} {
		p[i] = part{fmt.Sprintf("mödel x-%05d-of-00003.gguf", i+1), tensors, metadata.U32(uint32(i)), metadata.U32(3), &total}
	}
	return p
}

func TestSplitGGUF(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := writeParts(t, three())
	for _, placement := range []weights.Placement{weights.Copied, weights.Mapped} {
		w, err := Open(filepath.Join(folder, "mödel x-00001-of-00003.gguf"), Options{Placement: placement})
		require.NoError(t, err)
		require.Equal(t, 5, w.Len())
		for i := range 5 {
			data, err := weightstest.TensorOf(t, w, fmt.Sprintf("t%d", i)).Freeze()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("t%d\x00\x00", i), string(data))
		}
		name, err := w.Metadata("general.name")
		require.NoError(t, err)
		require.Equal(t, "model", name.String())
		require.Equal(t, []string{"general.name"}, w.MetadataKeys())
		whole := filepath.Join(t.TempDir(), "whole.gguf")
		require.NoError(t, Save(w, whole, nil, nil))
		back, err := Open(whole, Options{})
		require.NoError(t, err)
		requireSameTensors(t, w, back)
		back.Release()
		w.Release()
	}
}

func TestWrongSplits(t *testing.T) {
	weightstest.LeavesNothing(t)
	four := metadata.U32(4)
	for name, c := range map[string]struct {
		change func(p []part)
		open   int
		code   status.Code
		words  []string
	}{
		"a later part":       {func([]part) {}, 1, status.InvalidArgument, []string{"part 2 of 3", "first one"}},
		"a missing part":     {func(p []part) { p[1].name = "elsewhere" }, 0, status.IO, []string{"mödel x-00002-of-00003.gguf", "no such file", "a part of"}},
		"another name":       {func(p []part) { p[0].name = "model.gguf" }, 0, status.Corrupt, []string{"-00001-of-00003.gguf"}},
		"wrong number":       {func(p []part) { p[1].number = metadata.U32(2) }, 0, status.Corrupt, []string{"split.no must be 1", "00002-of", "it is 2"}},
		"wrong count":        {func(p []part) { p[2].count = metadata.U32(2) }, 0, status.Corrupt, []string{"split.count must be 3", "00003-of"}},
		"count of 0":         {func(p []part) { p[0].count = metadata.U32(0) }, 0, status.Corrupt, []string{"split.count is 0"}},
		"count of 2^32-1":    {func(p []part) { p[0].count = metadata.U32(1<<32 - 1) }, 0, status.Corrupt, []string{"split.count is 4294967295"}},
		"count is text":      {func(p []part) { p[0].count = metadata.Text("3") }, 0, status.Corrupt, []string{`split.count is "3"`}},
		"number is text":     {func(p []part) { p[1].number = metadata.Text("1") }, 0, status.Corrupt, []string{`split.no is "1"`}},
		"wrong sum":          {func(p []part) { p[0].total = &four }, 0, status.Corrupt, []string{"split.tensors.count is 4", "have 5"}},
		"a name in two":      {func(p []part) { p[2].tensors[1] = "t0" }, 0, status.Corrupt, []string{`"t0"`, "00003-of", "00001-of"}},
		"a part is no model": {func(p []part) { p[2].tensors[1] = "t3" }, 0, status.Corrupt, []string{`"t3" is there twice`, "00003-of"}},
	} {
		parts := three()
		c.change(parts)
		folder := writeParts(t, parts)
		_, err := Open(filepath.Join(folder, parts[c.open].name), Options{})
		weightstest.RequireError(t, err, c.code, c.words...)
		require.NotContains(t, err.Error(), "panic", name)
	}
}

func TestOnePartIsAWholeModel(t *testing.T) {
	weightstest.LeavesNothing(t)
	folder := writeParts(t, []part{{"any.gguf", []string{"a"}, metadata.U32(0), metadata.U32(1), nil}})
	w, err := Open(filepath.Join(folder, "any.gguf"), Options{})
	require.NoError(t, err)
	w.Release()
}

// writeIndexed writes safetensors files with their tensors, and an index.
func writeIndexed(t *testing.T, files map[string][]string, index string) (path string) {
	t.Helper()
	folder := t.TempDir()
	for name, tensors := range files {
		header := map[string]any{"__metadata__": map[string]string{"of": name}}
		var data []byte
		for _, n := range tensors {
			header[n] = map[string]any{"dtype": "I8", "shape": []int{len(n)}, "data_offsets": []int{len(data), len(data) + len(n)}}
			data = append(data, n...)
		}
		text, err := json.Marshal(header)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), safetensorsFile(string(text), data), 0o600))
	}
	path = filepath.Join(folder, "model.safetensors.index.json")
	require.NoError(t, os.WriteFile(path, []byte(index), 0o600))
	return path
}

func TestShardedSafetensors(t *testing.T) {
	weightstest.LeavesNothing(t)
	path := writeIndexed(t, map[string][]string{"one.safetensors": {"a", "bb"}, "two.safetensors": {"ccc"}},
		`{"metadata": {"total_size": 6}, "weight_map": {"bb": "one.safetensors", "a": "one.safetensors", "ccc": "two.safetensors"}}`)
	w, err := Open(path, Options{})
	require.NoError(t, err)
	defer w.Release()
	require.Equal(t, 3, w.Len())
	for _, name := range []string{"a", "bb", "ccc"} {
		data, err := weightstest.TensorOf(t, w, name).Freeze()
		require.NoError(t, err)
		require.Equal(t, name, string(data))
	}
	of, err := w.Metadata("of")
	require.NoError(t, err)
	require.Equal(t, "one.safetensors", of.String())
}

func TestWrongIndexes(t *testing.T) {
	weightstest.LeavesNothing(t)
	files := map[string][]string{"one": {"a", "bb"}, "two": {"ccc"}, "three": {"a"}}
	for index, c := range map[string]struct {
		code  status.Code
		words []string
	}{
		`{"weight_map": {"a": "one", "bb": "one", "ccc": "none"}}`:                                                {status.IO, []string{"none", "no such file", "a part of"}},
		`{"weight_map": {"a": "one", "bb": "one", "x": "two"}}`:                                                   {status.Corrupt, []string{`"ccc"`, `"two"`, `is not in the index`}},
		`{"weight_map": {"a": "one", "bb": "two", "ccc": "two"}}`:                                                 {status.Corrupt, []string{`"bb"`, `"one"`, `by the index it is in "two"`}},
		`{"weight_map": {"a": "one", "bb": "one", "more": "one"}}`:                                                {status.Corrupt, []string{`"more" is not in "one"`}},
		`{"weight_map": {"a": "one", "bb": "one", "other": "three"}}`:                                             {status.Corrupt, []string{`"a" is in "one", too`}},
		`{"weight_map": {"a": "../one"}}`:                                                                         {status.Corrupt, []string{"byte 21", `"../one"`, "no name of a file"}},
		`{"weight_map": {"a": "/etc/passwd"}}`:                                                                    {status.Corrupt, []string{"/etc/passwd"}},
		`{"weight_map": {"a": ".."}}`:                                                                             {status.Corrupt, []string{`".."`}},
		`{"weight_map": {"a": "x\u0000"}}`:                                                                        {status.Corrupt, []string{"no name of a file"}},
		`{"weight_map": {"a": "..\\one"}}`:                                                                        {status.Corrupt, []string{"no name of a file"}},
		`{"weight_map": {"a": "model.safetensors.index.json"}}`:                                                   {status.Corrupt, nil},
		`{"weight_map": {"a": "one", "a": "two"}}`:                                                                {status.Corrupt, []string{`"a"`, "twice"}},
		`{"weight_map": {"a": 1}}`:                                                                                {status.Corrupt, []string{"byte 21", "a string"}},
		`{"weight_map": {}, "weight_map": {}}`:                                                                    {status.Corrupt, []string{"weight_map is there twice"}},
		`{"weight_maps": {"long enough to be": "told from a safetensors file"}}`:                                  {status.Corrupt, []string{"no weight_map"}},
		`{"weight_map": {"a": "one", "bb": "one"}`:                                                                {status.Corrupt, []string{"ends where"}},
		`{"weight_map": {"a": "one", "bb": "one"}} x`:                                                             {status.Corrupt, []string{`'x'`}},
		`{"deep": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `, "weight_map": {"a": "one"}}`: {status.Corrupt, []string{"nested deeper"}},
	} {
		_, err := Open(writeIndexed(t, files, index), Options{})
		weightstest.RequireError(t, err, c.code, append(c.words, t.Name())...) // a path
	}
}

// The parts of a model are of one format: an index names safetensors files, and a
// split GGUF file's parts are GGUF.
func TestPartsOfAnotherFormat(t *testing.T) {
	weightstest.LeavesNothing(t)
	model := ggufFile(t, weightstest.F32(4))
	index := writeIndexed(t, nil, `{"weight_map": {"0": "model.gguf"}}`)
	content, err := os.ReadFile(model)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(index), "model.gguf"), content, 0o600))
	_, err = Open(index, Options{})
	weightstest.RequireError(t, err, status.Corrupt, "model.gguf", "a GGUF file", "must be a safetensors file")

	parts := three()
	folder := writeParts(t, parts)
	safe := safetensorsFile(`{"t2":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, make([]byte, 4))
	require.NoError(t, os.WriteFile(filepath.Join(folder, parts[1].name), safe, 0o600))
	_, err = Open(filepath.Join(folder, parts[0].name), Options{})
	weightstest.RequireError(t, err, status.Corrupt, parts[1].name, "a safetensors file", "must be a GGUF file")
}

func TestAnEmptyIndexIsAnEmptyModel(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, err := Open(writeIndexed(t, nil, `{"weight_map": {}, "metadata": {}}`), Options{})
	require.NoError(t, err)
	require.Zero(t, w.Len())
	w.Release()
}
