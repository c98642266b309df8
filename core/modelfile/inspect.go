package modelfile

import "qtsaccel/core/tensor"

// Contents is what a file of tensors holds, with the other files that belong to
// it; see [Inspect].
type Contents struct {
	Files    []FileInfo     `json:"files"`
	Metadata []MetadataInfo `json:"metadata"`
	Tensors  []TensorInfo   `json:"tensors"`
	Elements int64          `json:"elements"` // of all tensors
	Bytes    int64          `json:"bytes"`    // of all tensors
	DTypes   map[string]int `json:"dtypes"`   // how many tensors of each
}

// FileInfo is one of the files.
type FileInfo struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// MetadataInfo is a metadata value; an array is JSON.
type MetadataInfo struct {
	Key   string `json:"key"`
	Type  string `json:"type"` // "string", "u32", "array" and so on
	Value string `json:"value"`
}

// TensorInfo is a tensor and where its data lies.
type TensorInfo struct {
	Name   string       `json:"name"`
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Bytes  int64        `json:"bytes"`
	File   int          `json:"file"` // which of the files
	Offset int64        `json:"offset"`
}

// Inspect reads the headers of a file and of those that belong to it, and no
// tensor. Errors are those of [Open] but for memory.
func Inspect(path string) (*Contents, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := &Contents{Metadata: []MetadataInfo{}, Tensors: []TensorInfo{}, DTypes: map[string]int{}}
	number := map[*file]int{}
	for i, f := range s.files {
		c.Files = append(c.Files, FileInfo{f.path, f.size})
		number[f] = i
	}
	for _, key := range s.keys {
		v := s.metadata[key]
		c.Metadata = append(c.Metadata, MetadataInfo{key, v.Kind().String(), v.String()})
	}
	for _, t := range s.tensors {
		d := t.FileDType()
		c.Tensors = append(c.Tensors, TensorInfo{t.Name, d, t.FileShape(), t.Bytes, number[t.file], t.Offset})
		c.Elements += t.Type.Shape.Elements()
		c.Bytes += t.Bytes
		c.DTypes[d]++
	}
	return c, nil
}
