package safetensors

import (
	"io"
	"strings"

	"qtsaccel/core/tensorfile"
)

// Index says which file of several holds a tensor, as model.safetensors.index.json
// does for a model in parts
// (https://huggingface.co/docs/safetensors, "Sharded weights"): an object whose
// "weight_map" has the tensors' names and their files' names, which lie in the
// same folder.
type Index struct {
	Files []string          // in the order of their first tensor
	Of    map[string]string // the file of each tensor
}

// ParseIndex reads an index of size bytes.
func ParseIndex(r io.ReaderAt, size int64) (*Index, error) {
	if size > tensorfile.MaxHeaderBytes {
		return nil, tensorfile.Unsupportedf(0, "an index of %d bytes, at most %d are supported", size, tensorfile.MaxHeaderBytes)
	}
	content := make([]byte, size)
	if err := tensorfile.ReadAt(r, content, 0); err != nil {
		return nil, err
	}
	p := indexParser{scanner: scanner{text: string(content)}, files: map[string]struct{}{}}
	if err := p.object("the index", p.member); err != nil {
		return nil, err
	}
	if p.peek(); p.pos < len(p.text) {
		return nil, p.unexpected("the index's end", "what follows its '}'")
	}
	if p.index.Of == nil {
		return nil, tensorfile.Corruptf(0, "the index has no weight_map")
	}
	return &p.index, nil
}

type indexParser struct {
	scanner
	index Index
	files map[string]struct{}
}

func (p *indexParser) member(key string, at int64) error {
	if key != "weight_map" {
		return p.skip("the index", 0)
	}
	if p.index.Of != nil {
		return tensorfile.Corruptf(at, "weight_map is there twice")
	}
	p.index.Of = map[string]string{}
	return p.object("weight_map", p.place)
}

// place reads the file of a tensor.
func (p *indexParser) place(name string, at int64) error {
	if _, ok := p.index.Of[name]; ok {
		return tensorfile.Corruptf(at, "tensor %.200q is in weight_map twice", name)
	}
	if len(p.index.Of) == tensorfile.MaxTensors {
		return tensorfile.Unsupportedf(at, "more than %d tensors are not supported", tensorfile.MaxTensors)
	}
	p.peek()
	fileAt := p.at()
	file, err := p.str("weight_map")
	if err != nil {
		return err
	}
	// Never a path: it could lead anywhere.
	if file == "" || file == "." || file == ".." || strings.ContainsAny(file, "/\\\x00") {
		return tensorfile.Corruptf(fileAt, "tensor %.200q: the file %.200q is no name of a file beside the index", name, file)
	}
	if _, ok := p.files[file]; !ok {
		if len(p.index.Files) == tensorfile.MaxShards {
			return tensorfile.Unsupportedf(fileAt, "more than %d files are not supported", tensorfile.MaxShards)
		}
		p.files[file] = struct{}{}
		p.index.Files = append(p.index.Files, file)
	}
	p.index.Of[name] = file
	return nil
}
