package quant

import (
	"fmt"
	"math"
	"strconv"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Unheld says that a type cannot hold values: their scale, or they themselves, are
// beyond what it has. It is the cause of an INVALID_ARGUMENT.
type Unheld struct {
	DType       tensor.DType
	First, Last int // which elements
	// Small: they would become 0, or coarser than the type is; else infinite.
	Small bool
	Most  float64 // the greatest magnitude among them
}

func (u *Unheld) Error() string {
	how := "large"
	if u.Small {
		how = "small"
	}
	most := strconv.FormatFloat(u.Most, 'g', -1, 32)
	if float64(float32(u.Most)) != u.Most {
		most = strconv.FormatFloat(u.Most, 'g', -1, 64)
	}
	where := fmt.Sprintf("elements %d to %d, up to %s, are", u.First, u.Last, most)
	if u.First == u.Last {
		where = fmt.Sprintf("element %d, %s, is", u.First, most)
	}
	why := ""
	if !u.Small && u.DType == tensor.F16 {
		why = ", which holds no more than 65504"
	}
	return fmt.Sprintf("%s too %s for %v%s", where, how, u.DType, why)
}

func unheld(d tensor.DType, first, last int, small bool, most float64) error {
	return status.Errorf(status.InvalidArgument, "%w", &Unheld{d, first, last, small, most})
}

// F16Error is how far an f16 may be off in proportion to what it stands for: half of
// the last of its 11 bits. That holds from 2^-14 to 65504; below, less is left.
const F16Error = 1.0 / 2048

// smallestF16 is the smallest f16 that has all its bits.
const smallestF16 = 1.0 / (1 << 14)

// Store is [Encode], and finds that what was written is not what the type promises,
// since numbers are too small for it: INVALID_ARGUMENT, with an [Unheld]. A block's
// values are off by no more than one and a half steps of its levels, which is what the
// reference rules leave, and a scale's rounding; f16 and bf16 values by no more than a
// rounding of the greatest among src. So src should be values that belong together,
// such as a row.
func Store(d tensor.DType, dst []byte, src []float32) error {
	if err := Encode(d, dst, src); err != nil {
		return err
	}
	switch d {
	case tensor.F32:
		return nil
	case tensor.F16:
		return checkFloats(d, dst, src, smallestF16, F16Error)
	case tensor.BF16:
		return checkFloats(d, dst, src, 0x1p-126, 1.0/256)
	default: // in blocks
	}
	block, bytes := d.Block()
	for first := 0; first < len(src); first, dst = first+int(block), dst[bytes:] {
		if coarse(d, dst) {
			if err := checkBlock(d, dst[:bytes], src[first:first+int(block)], first); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFloats finds that values which are all smaller than the type's smallest with all
// its bits have lost too much.
func checkFloats(d tensor.DType, dst []byte, src []float32, smallest, allowed float64) error {
	most := float64(magnitude(src))
	if most == 0 || !(most < smallest) {
		return nil
	}
	for i, v := range src {
		stored := tensor.BF16ToF32(le.Uint16(dst[2*i:]))
		if d == tensor.F16 {
			stored = f16(dst[2*i:])
		}
		if math.Abs(float64(stored)-float64(v)) > allowed*most {
			return unheld(d, 0, len(src)-1, true, most)
		}
	}
	return nil
}

// scales is where a type's blocks have their f16 scales.
var scales = map[tensor.DType][]int{
	tensor.Q8_0: {0}, tensor.Q4_0: {0}, tensor.Q4_1: {0, 2}, tensor.Q5_0: {0}, tensor.Q5_1: {0, 2}, tensor.IQ4NL: {0},
	tensor.Q2_K: {80, 82}, tensor.Q3_K: {108}, tensor.Q4_K: {0, 2}, tensor.Q5_K: {0, 2}, tensor.Q6_K: {208},
}

// coarse says whether one of a block's scales is so small that bits of it are lost.
func coarse(d tensor.DType, block []byte) bool {
	if d == tensor.MXFP4 {
		return block[0] == 0 // the least exponent
	}
	for _, at := range scales[d] {
		if le.Uint16(block[at:])&infF16 == 0 {
			return true
		}
	}
	return false
}

// steps are how many steps of its levels the greatest magnitude of a block has, or its
// span from the least to the greatest value.
var steps = map[tensor.DType]struct {
	n    float64
	span bool
}{
	tensor.Q8_0: {127, false}, tensor.Q4_0: {8, false}, tensor.Q5_0: {16, false},
	tensor.Q4_1: {15, true}, tensor.Q5_1: {31, true},
	tensor.IQ4NL: {127.0 / 24, false}, tensor.MXFP4: {4, false}, // their widest step
}

// checkBlock compares a block of 32 with its values.
func checkBlock(d tensor.DType, block []byte, src []float32, first int) error {
	var stored [32]float32
	formats[d].decode(stored[:], block)
	most := float64(magnitude(src))
	reach := most
	if steps[d].span {
		least, greatest := math.Inf(1), math.Inf(-1)
		for _, v := range src {
			least, greatest = min(least, float64(v)), max(greatest, float64(v))
		}
		reach = greatest - least
	}
	allowed := 1.5*reach/steps[d].n + 2*F16Error*most
	for i, v := range src {
		if math.Abs(float64(stored[i])-float64(v)) > allowed {
			return unheld(d, first, first+len(src)-1, true, most)
		}
	}
	return nil
}

// maxLost is the part of the sum of their squares, by importance, that the values of a
// block may lose when a search of another's stores them: the coarsest type, q2_K, loses
// a tenth.
const maxLost = 1.0 / 4

// CheckStored finds that blocks which a search of another's has made of values do not
// stand for them, since their scales are beyond f16: INVALID_ARGUMENT, with an [Unheld].
// With importance src are whole rows of as many elements.
func CheckStored(d tensor.DType, dst []byte, src, importance []float32) error {
	decode := formats[d].decode
	block, bytes := d.Block()
	if decode == nil {
		return nil
	}
	stored := make([]float32, block)
	for first := 0; first < len(src); first, dst = first+int(block), dst[bytes:] {
		values := src[first : first+int(block)]
		for _, at := range scales[d] {
			if le.Uint16(dst[at:])&infF16 == infF16 {
				return unheld(d, first, first+len(values)-1, false, float64(magnitude(values)))
			}
		}
		if !coarse(d, dst) {
			continue
		}
		decode(stored, dst[:bytes])
		lost, all := 0.0, 0.0
		for i, v := range values {
			weight := 1.0
			if importance != nil {
				weight = float64(importance[(first+i)%len(importance)])
			}
			off := float64(stored[i]) - float64(v)
			lost += weight * off * off
			all += weight * float64(v) * float64(v)
		}
		if lost > maxLost*all {
			return unheld(d, first, first+len(values)-1, true, float64(magnitude(values)))
		}
	}
	return nil
}

// CheckF64 finds that f64 numbers, as a file has them, are beyond f32: infinite as such,
// or all of them too small. INVALID_ARGUMENT, with an [Unheld].
func CheckF64(src []byte) error {
	most, first, n := 0.0, -1, len(src)/8
	for i := range n {
		v := math.Abs(math.Float64frombits(le.Uint64(src[8*i:])))
		if v > math.MaxFloat32 && !math.IsInf(v, 0) && math.IsInf(float64(float32(v)), 0) {
			return unheld(tensor.F32, i, i, false, v)
		}
		if v > 0 && first < 0 {
			first = i
		}
		most = max(most, v) // a NaN stays one, and is held
	}
	if first >= 0 && most < 0x1p-126 {
		for i := range n {
			v := math.Float64frombits(le.Uint64(src[8*i:]))
			if math.Abs(float64(float32(v))-v) > most/(1<<23) {
				return unheld(tensor.F32, 0, n-1, true, most)
			}
		}
	}
	return nil
}
