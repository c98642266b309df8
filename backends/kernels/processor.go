package kernels

// #include "kernels.h"
import "C"

// Processor is a kind of processor that there are variants of the kernels for.
type Processor int

// The kinds, the least first.
const (
	AnyProcessor   Processor = C.KERNELS_ANY_PROCESSOR
	WithAVX2       Processor = C.KERNELS_AVX2
	WithAVX512     Processor = C.KERNELS_AVX512
	WithAVX512BF16 Processor = C.KERNELS_AVX512_BF16
)

// Best is the last of them.
const Best = WithAVX512BF16

// InUse is what the kernels use of this one.
func InUse() Processor { return Processor(C.kernels_processor()) }

// Limit has the kernels use no more than a processor of a kind has, so that tests reach
// the variants for lesser ones, and says whether this one has that.
func Limit(p Processor) bool { return bool(C.kernels_limit(C.int32_t(p))) }

func (p Processor) String() string {
	return [...]string{"any processor", "AVX2, FMA and F16C", "AVX-512", "AVX-512 with bf16"}[p]
}
