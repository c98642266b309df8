package weights

import "qtsaccel/core/abi"

// Placement is where the data of a file's tensors lies in host memory. The values
// are the header's QTSA_PLACEMENT_*.
type Placement int32

const (
	// Auto copies small files (up to 64 MiB) and those of file systems whose reads
	// may fail later, such as network ones, and maps the others, but for f32 and
	// bf16 tensors that do not begin at a multiple of 64: products with them would be
	// slower. If memory does not suffice for a copy, it maps like Mapped.
	Auto Placement = abi.PlacementAuto
	// Copied reads the data into memory of its own.
	Copied Placement = abi.PlacementCopied
	// Mapped maps the file: nothing is read until it is used, and memory that the
	// system needs can be taken back. Tensors that do not begin at a multiple of
	// [Alignment] are copied.
	//
	// The file must stay as it is. It may be removed, or replaced by renaming
	// another one over it. If it is cut short, plans built from then on fail with
	// IO; one that was built before reads beyond the end, for which the system ends
	// the process (SIGBUS). If it is written to, tensors change.
	Mapped Placement = abi.PlacementMapped
)

func (p Placement) String() string {
	switch p {
	case Auto:
		return "auto"
	case Copied:
		return "copied"
	case Mapped:
		return "mapped"
	default:
		return "invalid"
	}
}

// Alignment is what the data of every tensor is aligned to at least: what ggml's
// CPU backend asks for, and what the tensors of GGUF files are aligned to. What is
// copied is aligned to [mem.Alignment].
const Alignment = 32
