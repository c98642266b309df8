package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"qtsaccel/core/tensor"
)

// ggmlNumbers are ggml's own numbers of the types, from its enum ggml_type.
var ggmlNumbers = map[tensor.DType]int32{
	tensor.F16: 1, tensor.Q4_0: 2, tensor.Q4_1: 3, tensor.Q5_0: 6, tensor.Q5_1: 7, tensor.Q8_0: 8,
	tensor.Q2_K: 10, tensor.Q3_K: 11, tensor.Q4_K: 12, tensor.Q5_K: 13, tensor.Q6_K: 14,
	tensor.IQ4NL: 20, tensor.BF16: 30, tensor.MXFP4: 39,
}

// ggmlTraits is the beginning of struct ggml_type_traits.
type ggmlTraits struct {
	_                 uintptr // its name
	block             int64
	_                 int64 // interleaving
	bytes             uintptr
	_                 bool // whether it is quantised
	decode, encodeRef uintptr
}

// ggml is the provisioned library, whose symbols bear our names.
type ggml struct {
	traits func(int32) *ggmlTraits
	chunk  func(typ int32, src *float32, dst *byte, start, rows, perRow int64, importance *float32) uintptr
}

// openGGML opens the library that `make ggml` provides; it stays open.
func openGGML(t *testing.T) ggml {
	t.Helper()
	name := "libqtsg-base.so"
	if runtime.GOOS == "darwin" {
		name = "libggml-base.dylib"
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "dist", "lib", "qtsaccel", name))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no ggml to compare with (make ggml): %v", err)
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	prefix, tize := "qtsg", "qts_tize"
	if runtime.GOOS == "darwin" {
		prefix, tize = "ggml", "quantize"
	}
	var g ggml
	purego.RegisterLibFunc(&g.traits, lib, prefix+"_get_type_traits")
	purego.RegisterLibFunc(&g.chunk, lib, prefix+"_"+tize+"_chunk")
	return g
}

func (g ggml) decode(d tensor.DType, src []byte, n int) []float32 {
	dst := make([]float32, n)
	purego.SyscallN(g.traits(ggmlNumbers[d]).decode, uintptr(unsafe.Pointer(&src[0])), uintptr(unsafe.Pointer(&dst[0])), uintptr(n))
	runtime.KeepAlive(src)
	return dst
}

func (g ggml) encode(d tensor.DType, src []float32) []byte {
	block, bytes := d.Block()
	dst := make([]byte, int64(len(src))/block*bytes)
	purego.SyscallN(g.traits(ggmlNumbers[d]).encodeRef, uintptr(unsafe.Pointer(&src[0])), uintptr(unsafe.Pointer(&dst[0])), uintptr(len(src)))
	runtime.KeepAlive(src)
	return dst
}

// requireSame fails unless both have the same bits, any NaN being like another.
// ggml's build for arm64 fuses products with sums, which rounds once less.
func requireSame(t *testing.T, want, got []float32, what string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := want[i], got[i]
		switch {
		case math.Float32bits(w) == math.Float32bits(g), w != w && g != g:
		case runtime.GOARCH == "arm64" && math.Abs(float64(w-g)) <= 1e-6*max(1, math.Abs(float64(w))):
		default:
			t.Fatalf("%s: element %d is %v (%#08x), ggml has %v (%#08x)", what, i, g, math.Float32bits(g), w, math.Float32bits(w))
		}
	}
}

// Every type reads random bytes, whatever they mean, as ggml does, and has its
// block sizes.
func TestDecodeAgreesWithGGML(t *testing.T) {
	g := openGGML(t)
	r := rand.New(rand.NewPCG(1, 2))
	for d, number := range ggmlNumbers {
		traits := g.traits(number)
		block, bytes := d.Block()
		require.Equal(t, traits.block, block, "%v", d)
		require.Equal(t, int64(traits.bytes), bytes, "%v", d)
		const blocks = 4096
		src := make([]byte, blocks*bytes)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		got := make([]float32, blocks*block)
		require.NoError(t, Decode(d, got, src))
		requireSame(t, g.decode(d, src, len(got)), got, d.String())
	}
}

// values are of the kinds that rules stumble over: ties, zeros of both signs,
// blocks of one value, denormals, powers of two and what lies beside them.
func values(r *rand.Rand, blocks int) map[string][]float32 {
	make32 := func(f func(i int) float32) []float32 {
		v := make([]float32, 256*blocks)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	scale := float32(1)
	return map[string][]float32{
		"normal": make32(func(int) float32 { return float32(r.NormFloat64()) }),
		"scaled": make32(func(i int) float32 {
			if i%32 == 0 {
				scale = float32(math.Exp(r.Float64()*16 - 10))
			}
			return float32(r.NormFloat64()) * scale
		}),
		"halves": make32(func(int) float32 { return float32(r.IntN(255)-127) / 2 }),
		"whole":  make32(func(i int) float32 { return float32(i % 128) }),
		"few":    make32(func(int) float32 { return []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5}[r.IntN(5)] }),
		"zero":   make32(func(i int) float32 { return float32(math.Copysign(0, float64(i%3)-1)) }),
		"one":    make32(func(i int) float32 { return float32(i/32) - 7.3 }),
		"powers": make32(func(i int) float32 {
			v := float32(math.Ldexp(1-2*float64(r.IntN(2)), i/32%40-24))
			return math.Nextafter32(v, float32(r.IntN(3)-1)*math.MaxFloat32)
		}),
	}
}

func TestEncodeAgreesWithGGML(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		t.Skip("ggml's build for arm64 fuses products with sums: levels may differ at ties")
	}
	g := openGGML(t)
	for name, src := range values(rand.New(rand.NewPCG(3, 4)), 64) {
		for d := range ggmlNumbers {
			if !CanEncode(d) {
				continue
			}
			what := fmt.Sprintf("%v of %s", d, name)
			block, bytes := d.Block()
			got := make([]byte, int64(len(src))/block*bytes)
			require.NoError(t, Encode(d, got, src), what)
			want := g.encode(d, src)
			if d == tensor.IQ4NL && (name == "zero" || name == "few") {
				// Of a block of zeros ggml stores whatever bits were there before.
				requireSame(t, abs32(g.decode(d, want, len(src))), abs32(g.decode(d, got, len(src))), what)
				continue
			}
			for i := range want {
				if want[i] != got[i] {
					at := int64(i) / bytes
					t.Fatalf("%s: block %d\n of %v\n is % x\nggml % x", what, at, src[at*block:(at+1)*block],
						got[at*bytes:(at+1)*bytes], want[at*bytes:(at+1)*bytes])
				}
			}
		}
	}
}

func abs32(v []float32) []float32 {
	for i := range v {
		v[i] = abs(v[i])
	}
	return v
}
