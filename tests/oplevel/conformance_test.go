// Package oplevel holds the operator-level calls to float64 on every backend, in every
// dtype of weights, around the borders of the tiles that kernels work in.
package oplevel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/tensor"
)

// calls are those of a backend, which keeps so many bits of the factors of products.
type calls struct {
	*oplevel.Calls
	productBits int
}

// onEach runs a test with the calls of each backend that is here.
func onEach(t *testing.T, test func(t *testing.T, c calls)) {
	t.Helper()
	before := mem.Live()
	on := func(name string, open func(t *testing.T) backend.Backend) {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			c := calls{oplevel.New(b, oplevel.Around{Getenv: os.Getenv}), b.Info().ProductBits}
			test(t, c)
			c.Close()
			require.NoError(t, b.Close())
			require.Equal(t, before, mem.Live(), "memory is left")
		})
	}
	on("reference", func(*testing.T) backend.Backend { return reference.New() })
	on("cpu", func(t *testing.T) backend.Backend { return openGGML(t, "cpu") })
	on("vulkan", func(t *testing.T) backend.Backend {
		if os.Getenv("GGML_VK_VISIBLE_DEVICES") == "" {
			t.Skip("set GGML_VK_VISIBLE_DEVICES=0 to run on the first Vulkan device, also a software one")
		}
		// Otherwise its products of f32 matrices take their factors as f16.
		t.Setenv("GGML_VK_DISABLE_F16", "1")
		return openGGML(t, "vulkan")
	})
	on("cuda", func(t *testing.T) backend.Backend {
		if os.Getenv("QTSACCEL_TEST_CUDA") != "1" {
			t.Skip("set QTSACCEL_TEST_CUDA=1 to run on the first CUDA device")
		}
		return openGGML(t, "cuda")
	})
}

func openGGML(t *testing.T, device string) backend.Backend {
	dir := os.Getenv("QTSACCEL_PLUGIN_DIR")
	if dir == "" {
		var err error
		dir, err = filepath.Abs("../../dist/lib/qtsaccel")
		require.NoError(t, err)
	}
	l, err := ggml.Open([]string{dir})
	require.NoError(t, err)
	b, err := ggml.New(l, ggml.Options{Device: device, Threads: 1})
	require.NoError(t, err)
	return b
}

func normal(r *rand.Rand, n int64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func at(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// matrix makes a matrix of random numbers that its dtype has, and gives them.
func matrix(t *testing.T, c calls, r *rand.Rand, d tensor.DType, shape ...int64) (*oplevel.Matrix, []float64) {
	t.Helper()
	typ := tensor.Type{DType: d, Shape: shape}
	data := make([]byte, typ.Bytes())
	require.NoError(t, quant.Encode(d, data, normal(r, typ.Shape.Elements())))
	v := ops.NewValue(typ)
	require.NoError(t, v.Decode(data))
	m, err := c.NewMatrix(typ, data)
	require.NoError(t, err)
	return m, v.F
}

// tolerance is what the operator table allows to a product with weights of a dtype.
func tolerance(t *testing.T, c calls, d tensor.DType, rows, n int64) float64 {
	op, err := ops.Lookup("linear")
	require.NoError(t, err)
	call, err := op.NewCall([]tensor.Type{
		{DType: tensor.F32, Shape: tensor.Shape{rows, n}}, {DType: d, Shape: tensor.Shape{1, n}},
	}, nil)
	require.NoError(t, err)
	return call.Tolerance(c.productBits)
}

// requireNear compares, relative to the largest magnitude and at least to the one that
// is to be expected: of few values all may have come out near zero.
func requireNear(t *testing.T, want []float64, got []float32, expected, tolerance float64, what string) {
	t.Helper()
	top, worst, where := expected, 0.0, 0
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(v-float64(got[i])) / top; !(d <= worst) {
			worst, where = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Fatalf("%s: element %d is %v, want %v: off by %.2g, %.2g is allowed", what, where, got[where], want[where], worst, tolerance)
	}
}

var (
	plain   = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	of32    = []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1}
	borders = []int64{1, 31, 32, 33, 255, 256, 257}
)

func TestProducts(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, d := range plain {
			for i, nIn := range borders {
				for _, rows := range []int64{1, borders[(i+2)%len(borders)], borders[(i+5)%len(borders)]} {
					product(t, c, r, d, rows, nIn, borders[(i+3)%len(borders)])
				}
			}
			product(t, c, r, d, 1024, 33, 31)
		}
		for _, d := range of32 {
			for i, rows := range borders {
				product(t, c, r, d, rows, []int64{32, 64, 256, 288}[i%4], borders[(i+3)%len(borders)])
			}
			product(t, c, r, d, 1024, 64, 33)
		}
	})
}

// product holds two jobs over one input to the sums: one with and one without a bias.
func product(t *testing.T, c calls, r *rand.Rand, d tensor.DType, rows, nIn, nOut int64) {
	t.Helper()
	x, bias := normal(r, rows*nIn), normal(r, nOut)
	m, w := matrix(t, c, r, d, nOut, nIn)
	defer m.Release()
	m2, w2 := matrix(t, c, r, tensor.F32, 3, nIn)
	defer m2.Release()
	y, y2 := make([]float32, rows*nOut), make([]float32, rows*3)
	jobs := []oplevel.Job{{Weight: m, Bias: at(bias), Y: at(y), NOut: nOut}, {Weight: m2, Y: at(y2), NOut: 3}}
	what := fmt.Sprintf("%v: %d rows of %d to %d", d, rows, nIn, nOut)
	require.NoError(t, c.Matmul(at(x), rows, nIn, jobs, 0), what)
	expected := math.Sqrt(float64(nIn)) // each summand has a variance of 1
	requireNear(t, linear(x, w, bias, rows, nIn, nOut), y, expected, tolerance(t, c, d, rows, nIn), what)
	requireNear(t, linear(x, w2, nil, rows, nIn, 3), y2, expected, tolerance(t, c, tensor.F32, rows, nIn), what+", second job")
}

func linear(x []float32, w []float64, bias []float32, rows, nIn, nOut int64) []float64 {
	y := make([]float64, rows*nOut)
	for i := range rows {
		for o := range nOut {
			sum := 0.0
			for k := range nIn {
				sum += float64(x[i*nIn+k]) * w[o*nIn+k]
			}
			if bias != nil {
				sum += float64(bias[o])
			}
			y[i*nOut+o] = sum
		}
	}
	return y
}

func TestConvolutions(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, d := range append(append([]tensor.DType{}, plain...), tensor.Q8_0, tensor.Q4_0) {
			for k := int64(1); k <= 4; k++ {
				convolution(t, c, r, d, oplevel.Geometry{H: 9, W: 7, CIn: 32, K: k, Stride: 1 + k%2}, 33, oplevel.NormKind(k%3), k%2 == 0)
			}
		}
		// In several tiles: of rows, of a part of a row, with the statistics in blocks.
		convolution(t, c, r, tensor.F32, oplevel.Geometry{H: 40, W: 300, CIn: 64, K: 3, Stride: 1}, 2, oplevel.GroupNorm, true)
		convolution(t, c, r, tensor.F32, oplevel.Geometry{H: 3, W: 2500, CIn: 300, K: 3, Stride: 2}, 1, oplevel.LayerNorm, false)
	})
}

func convolution(t *testing.T, c calls, r *rand.Rand, d tensor.DType, g oplevel.Geometry, nOut int64, kind oplevel.NormKind, silu bool) {
	t.Helper()
	pad := g.K / 2
	g.OH, g.OW = (g.H+2*pad-g.K)/g.Stride+1, (g.W+2*pad-g.K)/g.Stride+1
	x, gamma, beta, bias := normal(r, g.H*g.W*g.CIn), normal(r, g.CIn), normal(r, g.CIn), normal(r, nOut)
	m, w := matrix(t, c, r, d, nOut, g.K, g.K, g.CIn)
	defer m.Release()
	y := make([]float32, g.OH*g.OW*nOut)
	norm := oplevel.Norm{Kind: kind, SiLU: silu, Groups: 4, Eps: 1e-5}
	if kind != oplevel.NoNorm {
		norm.Gamma, norm.Beta = at(gamma), at(beta)
	}
	what := fmt.Sprintf("%v %+v to %d, norm %d", d, g, nOut, kind)
	require.NoError(t, c.Conv2D(at(x), g, &norm, oplevel.Job{Weight: m, Bias: at(bias), Y: at(y), NOut: nOut}, 0), what)

	in := loaded(t, x, g, kind, silu, gamma, beta)
	want := make([]float64, len(y))
	for p := range g.OH * g.OW {
		for o := range nOut {
			sum := float64(bias[o])
			for ky := range g.K {
				for kx := range g.K {
					iy, ix := p/g.OW*g.Stride+ky-pad, p%g.OW*g.Stride+kx-pad
					if iy < 0 || iy >= g.H || ix < 0 || ix >= g.W {
						continue
					}
					a, b := in[(iy*g.W+ix)*g.CIn:][:g.CIn], w[((o*g.K+ky)*g.K+kx)*g.CIn:][:g.CIn]
					for i := range a {
						sum += a[i] * b[i]
					}
				}
			}
			want[p*nOut+o] = sum
		}
	}
	requireNear(t, want, y, 1, 2*tolerance(t, c, d, g.OH*g.OW, g.K*g.K*g.CIn), what)
}

// loaded gives the input as the convolution sees it, computed by the operators' own
// formulas in float64.
func loaded(t *testing.T, x []float32, g oplevel.Geometry, kind oplevel.NormKind, silu bool, gamma, beta []float32) []float64 {
	pixels := g.H * g.W
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	size := func(first, n, from, to int64) (mean, variance float64) {
		for p := first; p < first+n; p++ {
			for ch := from; ch < to; ch++ {
				mean += y[p*g.CIn+ch]
			}
		}
		mean /= float64(n * (to - from))
		for p := first; p < first+n; p++ {
			for ch := from; ch < to; ch++ {
				variance += (y[p*g.CIn+ch] - mean) * (y[p*g.CIn+ch] - mean)
			}
		}
		return mean, variance / float64(n*(to-from))
	}
	apply := func(first, n, from, to int64) {
		mean, variance := size(first, n, from, to)
		for p := first; p < first+n; p++ {
			for ch := from; ch < to; ch++ {
				y[p*g.CIn+ch] = (y[p*g.CIn+ch]-mean)/math.Sqrt(variance+1e-5)*float64(gamma[ch]) + float64(beta[ch])
			}
		}
	}
	switch kind {
	case oplevel.GroupNorm:
		for from := int64(0); from < g.CIn; from += g.CIn / 4 {
			apply(0, pixels, from, from+g.CIn/4)
		}
	case oplevel.LayerNorm:
		for p := range pixels {
			apply(p, 1, 0, g.CIn)
		}
	case oplevel.NoNorm:
	default:
		t.Fatalf("norm %d", kind)
	}
	if silu {
		for i, v := range y {
			y[i] = v / (1 + math.Exp(-v))
		}
	}
	return y
}

// A convolution's scratch memory stays below what the header promises.
func TestConvolutionsMemory(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		g := oplevel.Geometry{H: 256, W: 256, CIn: 64, K: 3, Stride: 1, OH: 256, OW: 256} // windows of 151 MB
		if c.Stats().Backend == "reference" || c.Stats().Backend == "vulkan:0" {
			t.Skip("the reference keeps float64 and is slow, a software device is slower")
		}
		m, _ := matrix(t, c, rand.New(rand.NewPCG(5, 6)), tensor.F32, 3, 3, 3, 64)
		defer m.Release()
		x, y := make([]float32, g.H*g.W*g.CIn), make([]float32, g.OH*g.OW*3)
		norm := oplevel.Norm{Kind: oplevel.GroupNorm, SiLU: true, Groups: 8, Eps: 1e-6}
		require.NoError(t, c.Conv2D(at(x), g, &norm, oplevel.Job{Weight: m, Y: at(y), NOut: 3}, 0))
		scratch, io := c.Memory()
		t.Logf("scratch %d, inputs and outputs %d", scratch, io)
		own := int64(4 * (len(x) + len(y)))
		require.Less(t, scratch+io-own, int64(64<<20))
	})
}

func TestAttentions(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, h := range []oplevel.Heads{
			{TQ: 1, TK: 257, Heads: 4, KVHeads: 2, Dim: 64},
			{TQ: 33, TK: 33, Heads: 2, KVHeads: 2, Dim: 32, Causal: true},
			{TQ: 31, TK: 256, Heads: 4, KVHeads: 1, Dim: 32, Causal: true, Window: 17},
			{TQ: 255, TK: 32, Heads: 1, KVHeads: 1, Dim: 40, Scale: 0.25},
			{TQ: 1024, TK: 31, Heads: 2, KVHeads: 1, Dim: 16},
		} {
			attention(t, c, r, h)
		}
	})
}

func attention(t *testing.T, c calls, r *rand.Rand, h oplevel.Heads) {
	t.Helper()
	q := normal(r, h.TQ*h.Heads*h.Dim)
	k, v := normal(r, h.TK*h.KVHeads*h.Dim), normal(r, h.TK*h.KVHeads*h.Dim)
	out := make([]float32, len(q))
	what := fmt.Sprintf("%+v", h)
	require.NoError(t, c.Attention(at(q), at(k), at(v), h, at(out), 0), what)
	want := make([]float64, len(q))
	scale := h.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(h.Dim))
	}
	for j := range h.TQ {
		from, to := int64(0), h.TK
		if h.Causal {
			to = h.TK - h.TQ + j + 1
		}
		if h.Window > 0 {
			from = max(0, to-h.Window)
		}
		for head := range h.Heads {
			row := (j*h.Heads + head) * h.Dim
			scores, top, sum := make([]float64, h.TK), math.Inf(-1), 0.0
			for i := from; i < to; i++ {
				key := (i*h.KVHeads + head/(h.Heads/h.KVHeads)) * h.Dim
				for d := range h.Dim {
					scores[i] += scale * float64(q[row+d]) * float64(k[key+d])
				}
				top = max(top, scores[i])
			}
			for i := from; i < to; i++ {
				scores[i] = math.Exp(scores[i] - top)
				sum += scores[i]
			}
			for i := from; i < to; i++ {
				key := (i*h.KVHeads + head/(h.Heads/h.KVHeads)) * h.Dim
				for d := range h.Dim {
					want[row+d] += scores[i] / sum * float64(v[key+d])
				}
			}
		}
	}
	requireNear(t, want, out, 1, max(2e-5, 8*math.Ldexp(1, -c.productBits)), what) // two products after one another
}
