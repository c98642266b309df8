package modelfile

import (
	"fmt"

	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

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
