package weights

import (
	"qtsaccel/core/metadata"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// Origin is what weights know of the model file that they came from.
type Origin struct {
	Metadata map[string]metadata.Value
	Keys     []string // of Metadata, in the file's order
	Tensors  []Stored // in the file's order
}

// SetOrigin says where weights came from that nobody else has yet.
func (w *Weights) SetOrigin(o Origin) { w.origin = o }

// Stored says of each tensor of the file what became of it, in the order of the
// file.
func (w *Weights) Stored() []Stored { return w.origin.Tensors }

// Stored is what became of a tensor when it was opened.
type Stored struct {
	Name     string
	FileName string // its name in the file
	// From is its type as it is read from the file; FileDType and FileShape are those that
	// the file has, FileBytes its size there.
	From      tensor.Type
	FileDType string
	FileShape tensor.Shape
	FileBytes int64
	As        tensor.DType // in memory
	// Placement is Copied or Mapped; what was converted is copied.
	Placement Placement
	// Foreign: it cannot be used, Note says why. Skipped: a rule left it out.
	Foreign, Skipped bool
	// Note says why a rule that matched was not followed to the letter.
	Note string
}

// File is a model file in which data of tensors lies. It is there until the weights'
// memory goes.
type File interface {
	// Read fills dst with what lies at an offset. IO; messages have the file's name.
	Read(dst []byte, offset int64) error
	// CheckEnd finds that the file has become shorter than end bytes: IO.
	CheckEnd(end int64) error
}

// FileTensor is a tensor of a model file as its reader adds it.
type FileTensor struct {
	Name string
	Type tensor.Type
	// Data lies in memory that [Weights.Alloc] gave; or in a file that is mapped, which
	// has it up to End.
	Data []byte
	File File
	End  int64
	// InPlace says that the caller wants the data used where it lies; see [Tensor.MayCopy].
	InPlace bool
	// Raw is set of a tensor that cannot be used: it has no data, and lies in File.
	Raw *Raw
}

// Raw is a tensor that is listed and cannot be used, as its file has it.
type Raw struct {
	tensorfile.Entry
	Why  error // UNSUPPORTED
	file File
}

// Read reads a part of the tensor's data.
func (r *Raw) Read(dst []byte, offset int64) error { return r.file.Read(dst, r.Offset+offset) }

// AddOfFile adds a tensor of a file, whose name and type were checked. ALREADY_EXISTS: the
// name is taken.
func (w *Weights) AddOfFile(f FileTensor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.append(f.Name, f.Type, nil)
	if err != nil {
		return err
	}
	switch {
	case f.Raw != nil:
		t.raw = f.Raw
		t.raw.file = f.File
	case f.File != nil:
		t.data, t.file, t.end, t.inPlace = f.Data, f.File, f.End, f.InPlace
	default:
		t.data, t.own = f.Data, f.Data
	}
	return nil
}

// Alloc gives memory for tensors' data, which goes with the weights. OUT_OF_MEMORY.
func (w *Weights) Alloc(bytes int64) ([]byte, error) { return w.arena.Alloc(bytes) }

// Borrow has release called when nothing uses the weights' memory any more.
func (w *Weights) Borrow(release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.borrowed = append(w.borrowed, release)
}
