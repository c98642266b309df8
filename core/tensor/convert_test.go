package tensor

import (
	"math"
	"testing"
)

// format describes a 16-bit floating-point format by the definition of IEEE 754,
// as the tests' independent source: values come from math.Ldexp, not from bits.
type format struct {
	name         string
	mantissaBits int
	bias         int
	to           func(uint16) float32
	from         func(float32) uint16
}

var formats = []format{
	{"f16", 10, 15, F16ToF32, F32ToF16},
	{"bf16", 7, 127, BF16ToF32, F32ToBF16},
}

func (f format) infinity() uint16 { return 0x7fff >> f.mantissaBits << f.mantissaBits }

// value is (-1)^s * 2^(e-bias) * 1.m, and 2^(1-bias) * 0.m where e is 0.
func (f format) value(h uint16) float64 {
	exponent := int(h&0x7fff) >> f.mantissaBits
	mantissa := int(h) & (1<<f.mantissaBits - 1)
	var v float64
	switch {
	case h&0x7fff > f.infinity():
		return math.NaN()
	case h&0x7fff == f.infinity():
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(float64(mantissa), 1-f.bias-f.mantissaBits)
	default:
		v = math.Ldexp(float64(mantissa|1<<f.mantissaBits), exponent-f.bias-f.mantissaBits)
	}
	return math.Copysign(v, 1-2*float64(h>>15))
}

func TestEveryPatternWidensToItsValue(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			h := uint16(i)
			got, want := float64(f.to(h)), f.value(h)
			if math.IsNaN(want) {
				quiet := uint16(1) << (f.mantissaBits - 1)
				if bits := math.Float32bits(f.to(h)); !math.IsNaN(got) || bits>>31 != uint32(h>>15) {
					t.Fatalf("%s %#04x gives %#08x, want a NaN of its sign", f.name, h, bits)
				}
				if back := f.from(f.to(h)); back != h|quiet {
					t.Fatalf("%s NaN %#04x comes back as %#04x, want %#04x", f.name, h, back, h|quiet)
				}
				continue
			}
			if got != want || math.Signbit(got) != math.Signbit(want) {
				t.Fatalf("%s %#04x gives %v, want %v", f.name, h, got, want)
			}
			if back := f.from(f.to(h)); back != h {
				t.Fatalf("%s %#04x comes back as %#04x", f.name, h, back)
			}
		}
	}
}

// Between any two neighbours the point halfway goes to the even one, and the f32
// values just beside it go to the nearer one. That settles every f32 between
// them, since rounding never falls as its argument rises.
func TestNarrowingRoundsToNearestEven(t *testing.T) {
	for _, f := range formats {
		for h := range f.infinity() {
			low := f.value(h)
			// Beyond the largest finite value the next one would be 2^(emax+1).
			high := f.value(h + 1)
			if h+1 == f.infinity() {
				high = math.Ldexp(1, f.bias+1)
			}
			even := h + h&1
			half := float32(low/2 + high/2)
			if float64(half) != low/2+high/2 {
				t.Fatalf("%s: halfway after %#04x is no f32", f.name, h)
			}
			for _, c := range []struct {
				in   float32
				want uint16
			}{
				{half, even},
				{math.Nextafter32(half, 0), h},
				{math.Nextafter32(half, math.MaxFloat32), h + 1},
			} {
				if got := f.from(c.in); got != c.want {
					t.Fatalf("%s of %v is %#04x, want %#04x", f.name, c.in, got, c.want)
				}
				if got := f.from(-c.in); got != c.want|0x8000 {
					t.Fatalf("%s of %v is %#04x, want %#04x", f.name, -c.in, got, c.want|0x8000)
				}
			}
		}
		for _, big := range []float32{math.MaxFloat32, float32(math.Inf(1))} {
			if got := f.from(big); got != f.infinity() {
				t.Fatalf("%s of %v is %#04x, want infinity", f.name, big, got)
			}
		}
		if got := f.from(math.SmallestNonzeroFloat32); got != 0 {
			t.Fatalf("%s of the smallest f32 is %#04x, want 0", f.name, got)
		}
	}
}

func TestSliceConversionsConvertTheShorterLength(t *testing.T) {
	wide := []float32{1, -2.5, 65504, 7}
	narrow := make([]uint16, 3)
	back := make([]float32, 5)
	for name, c := range map[string]struct {
		from func([]uint16, []float32) int
		to   func([]float32, []uint16) int
		want []float32
	}{
		"f16":  {F32SliceToF16, F16SliceToF32, []float32{1, -2.5, 65504, 0, 0}},
		"bf16": {F32SliceToBF16, BF16SliceToF32, []float32{1, -2.5, 65536, 0, 0}},
	} {
		clear(back)
		if n := c.from(narrow, wide); n != 3 {
			t.Fatalf("%s: narrowed %d, want 3", name, n)
		}
		if n := c.to(back, narrow); n != 3 {
			t.Fatalf("%s: widened %d, want 3", name, n)
		}
		for i, want := range c.want {
			if back[i] != want {
				t.Fatalf("%s: element %d is %v, want %v", name, i, back[i], want)
			}
		}
	}
}

func BenchmarkF16SliceToF32(b *testing.B) {
	src, dst := make([]uint16, 4096), make([]float32, 4096)
	for i := range src {
		src[i] = F32ToF16(float32(i) / 7)
	}
	b.SetBytes(4 * 4096)
	for b.Loop() {
		F16SliceToF32(dst, src)
	}
}

func BenchmarkF32SliceToF16(b *testing.B) {
	src, dst := make([]float32, 4096), make([]uint16, 4096)
	for i := range src {
		src[i] = float32(i) / 7
	}
	b.SetBytes(4 * 4096)
	for b.Loop() {
		F32SliceToF16(dst, src)
	}
}
