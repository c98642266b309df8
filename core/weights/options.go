package weights

import (
	"math"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Placement is where the data of a file's tensors lies in host memory. The values
// are the header's QTSA_PLACEMENT_*.
type Placement int32

const (
	// Auto copies small files (up to 64 MiB) and those of file systems whose reads
	// may fail later, such as network ones, and maps the others, but for f32 and
	// bf16 tensors that do not begin at a multiple of 64: products with them would be
	// slower. If memory does not suffice for a copy, it maps like Mapped.
	Auto Placement = 0
	// Copied reads the data into memory of its own.
	Copied Placement = 1
	// Mapped maps the file: nothing is read until it is used, and memory that the
	// system needs can be taken back. Tensors that do not begin at a multiple of
	// [Alignment] are copied.
	//
	// The file must stay as it is. It may be removed, or replaced by renaming
	// another one over it. If it is cut short, plans built from then on fail with
	// IO; one that was built before reads beyond the end, for which the system ends
	// the process (SIGBUS). If it is written to, tensors change.
	Mapped Placement = 2
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

// Options say how a file is opened. The zero value is every default.
type Options struct {
	Placement Placement
	// Budget is how many bytes of memory the tensors may take, mapped ones left
	// out; 0: what the machine and the container have.
	Budget int64
	// Progress is told how many bytes of the file's tensors were read or mapped, of
	// how many, from the goroutine that called Open. If it gives false, Open ends
	// with CANCELLED.
	Progress func(done, total int64) bool
	// Rules say in which types tensors are stored, and what they are called.
	Rules []Rule
	// Importance says, by names in the file, how much the columns of tensors matter
	// that rules store in blocks: a number per column, such as the mean square of
	// what they are multiplied with.
	Importance map[string][]float32
	// Encode stores values in types that package quant only reads, and by importance
	// in any; nil: rules with such types, and importance, are UNSUPPORTED.
	Encode Encoder
}

// Encoder stores values in a type, in whole blocks; dst has the bytes that they
// take. With importance they are whole rows of as many elements. It is called from
// several goroutines at once.
type Encoder func(d tensor.DType, dst []byte, src, importance []float32) error

func (o *Options) check() error {
	if o.Placement < Auto || o.Placement > Mapped {
		return status.Errorf(status.InvalidArgument, "placement is %d, want 0 (auto), 1 (copied) or 2 (mapped)", int32(o.Placement))
	}
	if o.Budget < 0 {
		return status.Errorf(status.InvalidArgument, "the budget is %d bytes", o.Budget)
	}
	for i, r := range o.Rules {
		if err := r.check(o.Encode != nil); err != nil {
			return status.Wrapf(err, "rule %d", i)
		}
	}
	if len(o.Importance) > 0 && o.Encode == nil {
		return status.Errorf(status.Unsupported, "storing by importance takes ggml, which was not found")
	}
	for name, values := range o.Importance {
		if err := checkImportance(values); err != nil {
			return status.Wrapf(err, "the importance of %q", name)
		}
	}
	return nil
}

func checkImportance(values []float32) error {
	sum := float32(0)
	for i, v := range values {
		if !(v >= 0 && v <= math.MaxFloat32) {
			return status.Errorf(status.InvalidArgument, "column %d has %v, want 0 or more", i, v)
		}
		sum += v
	}
	if sum == 0 {
		return status.Errorf(status.InvalidArgument, "it is 0 in all %d columns", len(values))
	}
	return nil
}
