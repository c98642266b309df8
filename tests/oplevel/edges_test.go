package oplevel

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/oplevel"
	"qtsaccel/core/tensor"
)

// shifted is a copy of x that begins a byte behind where a float may.
func shifted(x []float32) (unsafe.Pointer, []byte) {
	room := make([]byte, 4*len(x)+8)
	copy(room[1:], unsafe.Slice((*byte)(at(x)), 4*len(x)))
	return unsafe.Pointer(&room[1]), room
}

// floats are the n floats at an address of any alignment.
func floats(p unsafe.Pointer, n int) []float32 {
	x := make([]float32, n)
	copy(unsafe.Slice((*byte)(at(x)), 4*n), unsafe.Slice((*byte)(p), 4*n))
	return x
}

// Host memory of any alignment gives the same bits.
func TestUnalignedMemory(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(17, 18))
		g := oplevel.Geometry{H: 5, W: 4, CIn: 33, K: 3, Stride: 1, OH: 5, OW: 4}
		m, _ := matrix(t, c, r, tensor.F16, 7, 3, 3, 33)
		defer m.Release()
		x, gamma, bias := normal(r, 5*4*33), normal(r, 33), normal(r, 7)
		want := make([]float32, 5*4*7)
		xAt, _ := shifted(x)
		gammaAt, _ := shifted(gamma)
		biasAt, _ := shifted(bias)
		yAt, room := shifted(want)
		norm := oplevel.Norm{Kind: oplevel.LayerNorm, Eps: 1e-5, Gamma: at(gamma)}
		require.NoError(t, c.Conv2D(at(x), g, &norm, oplevel.Product{Weight: m, Bias: at(bias), Y: at(want), NOut: 7}, 0))
		norm.Gamma = gammaAt
		require.NoError(t, c.Conv2D(xAt, g, &norm, oplevel.Product{Weight: m, Bias: biasAt, Y: yAt, NOut: 7}, 0))
		require.Equal(t, want, floats(yAt, len(want)))
		require.Equal(t, make([]byte, 7), room[len(room)-7:], "what lies behind is left alone")

		h := oplevel.Heads{TQ: 3, TK: 9, Heads: 2, KVHeads: 1, Dim: 16, Causal: true}
		q, k, v := normal(r, 3*2*16), normal(r, 9*16), normal(r, 9*16)
		want = make([]float32, len(q))
		qAt, _ := shifted(q)
		kAt, _ := shifted(k)
		vAt, _ := shifted(v)
		outAt, _ := shifted(want)
		require.NoError(t, c.Attention(at(q), at(k), at(v), h, at(want), 0))
		require.NoError(t, c.Attention(qAt, kAt, vAt, h, outAt, 0))
		require.Equal(t, want, floats(outAt, len(want)))
	})
}

// A pixel that is no number, or too large for f16, shows in the windows that it is in and
// in no others, whatever the weight's dtype.
func TestNotNumbersInConvolutions(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		const side, channels, nOut = 6, 32, 3
		g := oplevel.Geometry{H: side, W: side, CIn: channels, K: 3, Stride: 1, OH: side, OW: side}
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0} {
			m, w := matrix(t, c, rand.New(rand.NewPCG(19, 20)), d, nOut, 3, 3, channels)
			x, y := make([]float32, side*side*channels), make([]float32, side*side*nOut)
			values := []float32{float32(math.NaN()), float32(math.Inf(1))}
			if c.productBits >= 24 { // f16 factors, which cards may take, end before
				values = append(values, 1e6)
			}
			for _, v := range values {
				x[(2*side+3)*channels+4] = v
				require.NoError(t, c.Conv2D(at(x), g, nil, oplevel.Product{Weight: m, Y: at(y), NOut: nOut}, 0))
				for i, got := range y {
					oy, ox, o := i/nOut/side, i/nOut%side, i%nOut
					ky, kx := 2-oy+1, 3-ox+1
					if ky < 0 || ky > 2 || kx < 0 || kx > 2 {
						require.Zero(t, got, "%v, %v at %d, %d", d, v, oy, ox)
						continue
					}
					want := float64(v) * w[((o*3+ky)*3+kx)*channels+4]
					switch {
					case math.IsNaN(want): // inf times a weight of 0, too
						require.True(t, math.IsNaN(float64(got)), "%v, %v at %d, %d: %v", d, v, oy, ox, got)
					case math.IsInf(want, 0):
						require.Equal(t, want, float64(got), "%v, %v at %d, %d", d, v, oy, ox)
					default:
						require.InDelta(t, want, got, 3e6*c.tolerance(t, d, channels), "%v, %v at %d, %d", d, v, oy, ox)
					}
				}
			}
			m.Release()
		}
	})
}
