package modelfile

import (
	"math"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Options say how a file is opened. The zero value is every default.
type Options struct {
	Placement weights.Placement
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
	if o.Placement < weights.Auto || o.Placement > weights.Mapped {
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
