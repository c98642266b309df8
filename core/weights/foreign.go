package weights

import (
	"fmt"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// refuse makes the tensor one that is listed and cannot be used. Saving to a file of
// the same format copies it.
func (t *Tensor) refuse(s *sourced, why string) {
	t.foreign = status.Errorf(status.Unsupported, "tensor %q cannot be used, %s in %q: %s", t.Name, s.InFile(), s.file.path, why)
	t.raw = s
	t.Type.DType, t.data, t.own = tensor.Foreign, nil, nil
	s.file.kept = s.file.kept || s.Foreign.Number != nil
}

// foreignNote says how a tensor is read that its file has otherwise.
func foreignNote(f *tensorfile.Foreign, as tensor.Shape) (note string) {
	if f.Rounded {
		note = "rounded to f32"
	}
	if len(f.Shape) != len(as) {
		note = joinNotes(note, fmt.Sprintf("is %v in the file", f.Shape))
	}
	return note
}

func joinNotes(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}
