// Package oplevel holds the operator-level calls to float64 on every backend, in every
// dtype of weights, around the borders of the tiles that kernels work in.
package oplevel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/reference"
	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/ops"
	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// calls are those on a backend under test.
type calls struct {
	*oplevel.Calls
	productBits int  // see backend.Info
	software    bool // a device of Mesa's, which compiles each kernel for most of a second
}

// onEach runs a test with the calls of each backend that is here.
func onEach(t *testing.T, test func(t *testing.T, c calls)) {
	t.Helper()
	before := mem.Live()
	on := func(name string, open func(t *testing.T) backend.Backend) {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			c := oplevel.New(b, oplevel.Around{Getenv: os.Getenv})
			test(t, calls{c, b.Info().ProductBits, isSoftware(b)})
			c.Close()
			require.NoError(t, b.Close())
			require.Equal(t, before, mem.Live(), "memory is left")
		})
	}
	on("reference", func(*testing.T) backend.Backend { return reference.New() })
	on("cpu", func(t *testing.T) backend.Backend { return openGGML(t, "cpu") })
	on("vulkan", func(t *testing.T) backend.Backend {
		if os.Getenv("QTSACCEL_TEST_VULKAN") != "1" {
			t.Skip("set QTSACCEL_TEST_VULKAN=1 to run on the first Vulkan device, also a software one")
		}
		return openGGML(t, "vulkan")
	})
	on("cuda", func(t *testing.T) backend.Backend {
		if os.Getenv("QTSACCEL_TEST_CUDA") != "1" {
			t.Skip("set QTSACCEL_TEST_CUDA=1 to run on the first CUDA device")
		}
		return openGGML(t, "cuda")
	})
}

func isSoftware(b backend.Backend) bool { return strings.Contains(b.Info().Description, "llvmpipe") }

func openGGML(t *testing.T, device string) backend.Backend {
	t.Helper()
	if device == "vulkan" && os.Getenv("GGML_VK_VISIBLE_DEVICES") == "" {
		t.Setenv("GGML_VK_VISIBLE_DEVICES", "0") // else ggml leaves out software
	}
	return open(t, ggml.Options{Device: device, Threads: 1})
}

// openCPU opens the CPU with as many threads as a host's has.
func openCPU(t *testing.T) backend.Backend {
	t.Helper()
	return open(t, ggml.Options{Device: "cpu"})
}

func open(t *testing.T, o ggml.Options) backend.Backend {
	t.Helper()
	dir := os.Getenv("QTSACCEL_PLUGIN_DIR")
	if dir == "" {
		var err error
		dir, err = filepath.Abs("../../dist/lib/qtsaccel")
		require.NoError(t, err)
	}
	l, err := library.Open([]string{dir})
	require.NoError(t, err)
	b, err := ggml.New(l, o)
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
	if quant.CanEncode(d) {
		require.NoError(t, quant.Encode(d, data, normal(r, typ.Shape.Elements())))
	} else {
		data = backendtest.RandomBlocks(r, typ)
	}
	v := ops.NewValue(typ)
	require.NoError(t, v.Decode(data))
	m, err := c.NewMatrix(typ, data)
	require.NoError(t, err)
	return m, v.F
}

// tolerance is what the operator table allows to a product with weights of a dtype. The
// reference rounds nothing but what it puts out.
func (c calls) tolerance(t *testing.T, d tensor.DType, n int64) float64 {
	if c.productBits > 24 {
		return 1e-6
	}
	op, err := ops.Lookup("linear")
	require.NoError(t, err)
	call, err := op.NewCall([]tensor.Type{
		{DType: tensor.F32, Shape: tensor.Shape{1, n}}, {DType: d, Shape: tensor.Shape{1, n}},
	}, nil)
	require.NoError(t, err)
	return call.Tolerance(c.productBits)
}

// magnitude is what sums of n products of such factors have: more than a result where
// they cancel out.
func magnitude(x []float32, w []float64, n int64) float64 {
	var ofX, ofW float64
	for _, v := range x {
		ofX += float64(v) * float64(v)
	}
	for _, v := range w {
		ofW += v * v
	}
	return math.Sqrt(float64(n) * ofX / float64(len(x)) * ofW / float64(len(w)))
}

// requireNear compares, relative to the largest magnitude and at least to another.
func requireNear(t *testing.T, want []float64, got []float32, least, tolerance float64, what string) {
	t.Helper()
	top, worst, where := least, 0.0, 0
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(v-float64(got[i])) / top; !(d <= worst) {
			worst, where = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Fatalf("%s: element %d is %v, want %v: off by %.2g of %.3g, %.2g is allowed", what, where, got[where], want[where], worst, top, tolerance)
	}
}

var (
	plain   = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	of32    = []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1, tensor.IQ4NL, tensor.MXFP4}
	of256   = []tensor.DType{tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K}
	borders = []int64{1, 31, 32, 33, 255, 256, 257}
)

// Each border is met as the rows of x, as n_out and, where the dtype allows it, as n_in;
// on a software device not with all dtypes.
func TestProducts(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, d := range plain {
			for i, nIn := range borders {
				for _, rows := range []int64{1, borders[(i+2)%len(borders)], borders[(i+5)%len(borders)]} {
					if c.meetsAll(d) || i == 0 {
						product(t, c, r, d, rows, nIn, borders[(i+3)%len(borders)])
					}
				}
			}
			product(t, c, r, d, 1024, 33, 31)
		}
		for _, family := range []struct {
			dtypes []tensor.DType
			nIn    []int64
		}{{of32, []int64{32, 64, 256, 288}}, {of256, []int64{256, 512, 768}}} {
			for _, d := range family.dtypes {
				product(t, c, r, d, 1, family.nIn[0], 257)
				product(t, c, r, d, 1024, family.nIn[1], 33)
				for i, rows := range borders {
					if c.meetsAll(d) {
						product(t, c, r, d, rows, family.nIn[i%len(family.nIn)], borders[(i+3)%len(borders)])
					}
				}
			}
		}
	})
}

// meetsAll says whether a dtype meets every border: on a software device, which compiles
// the same kernels once more for each, only two do.
func (c calls) meetsAll(d tensor.DType) bool {
	return !c.software || d == tensor.F32 || d == tensor.Q8_0
}

// Rows that blocks do not divide are refused, and the message says by what.
func TestRowsThatBlocksDoNotDivide(t *testing.T) {
	c := oplevel.New(reference.New(), oplevel.Around{Getenv: os.Getenv})
	defer c.Close()
	for _, d := range append(append([]tensor.DType{}, of32...), of256...) {
		block, _ := d.Block()
		for _, nIn := range borders {
			if nIn%block == 0 {
				continue
			}
			_, err := c.NewMatrix(tensor.Type{DType: d, Shape: tensor.Shape{3, nIn}}, make([]byte, 1<<16))
			require.Equal(t, status.InvalidArgument, status.Of(err), "%v %d", d, nIn)
			require.ErrorContains(t, err, fmt.Sprintf("a row of %d elements cannot be stored as %v: rows must be a multiple of %d", nIn, d, block))
		}
	}
}

// The other activations and jobs of different dtypes over one input, which goes up once.
func TestJobs(t *testing.T) {
	activations := []func(x float64) float64{
		func(x float64) float64 { return x },
		func(x float64) float64 { return max(x, 0) },
		func(x float64) float64 { return x / (1 + math.Exp(-x)) },
		func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
		func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		},
		func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		math.Tanh,
	}
	onEach(t, func(t *testing.T, c calls) {
		const rows, nIn, nOut = 33, 256, 31
		r := rand.New(rand.NewPCG(9, 10))
		x, bias := normal(r, rows*nIn), normal(r, nOut)
		dtypes := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0, tensor.Q4_K, tensor.Q6_K}
		jobs := make([]oplevel.Product, len(activations))
		weights, outs := make([][]float64, len(jobs)), make([][]float32, len(jobs))
		for i := range jobs {
			m, w := matrix(t, c, r, dtypes[i], nOut, nIn)
			defer m.Release()
			weights[i], outs[i] = w, make([]float32, rows*nOut)
			jobs[i] = oplevel.Product{Weight: m, Bias: at(bias), Y: at(outs[i]), NOut: nOut, Activation: oplevel.Activation(i)}
		}
		require.NoError(t, c.Matmul(at(x), rows, nIn, jobs, 0))
		for i := range jobs {
			want := linear(x, weights[i], bias, rows, nIn, nOut)
			for j, v := range want {
				want[j] = activations[i](v)
			}
			// Activations steepen by little, so errors stay nearly what they are before.
			requireNear(t, want, outs[i], magnitude(x, weights[i], nIn), 1.5*c.tolerance(t, dtypes[i], nIn), fmt.Sprintf("job %d", i))
		}
		did := c.Stats().Operators
		require.Len(t, did, 1)
		require.EqualValues(t, 4*(rows*nIn+len(jobs)*nOut), did[0].BytesUp, "x goes up once")
		require.EqualValues(t, 4*len(jobs)*rows*nOut, did[0].BytesDown)
		require.Positive(t, did[0].GFLOPS)
		require.Positive(t, did[0].TotalNS)
		require.InEpsilon(t, did[0].TotalNS, did[0].MedianNS, 0.04)
	})
}

// A matrix from weights takes no memory of the host's beyond theirs.
func TestMatricesFromWeights(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		w := weights.New()
		typ := tensor.Type{DType: tensor.F32, Shape: tensor.Shape{64, 32}}
		values := normal(rand.New(rand.NewPCG(11, 12)), typ.Shape.Elements())
		require.NoError(t, w.Declare("here", typ))
		require.NoError(t, w.Set("here", unsafe.Slice((*byte)(at(values)), typ.Bytes())))
		before := mem.Live()
		m, err := c.MatrixOf(w, "here")
		w.Release()
		require.NoError(t, err)
		defer m.Release()
		require.Equal(t, before, mem.Live())
		require.Equal(t, typ.Bytes(), m.Bytes())
		x, y := make([]float32, 32), make([]float32, 64)
		x[5] = 1
		require.NoError(t, c.Matmul(at(x), 1, 32, []oplevel.Product{{Weight: m, Y: at(y), NOut: 64}}, 0))
		for i := range y {
			require.InDelta(t, values[i*32+5], y[i], 1e-5)
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
	jobs := []oplevel.Product{{Weight: m, Bias: at(bias), Y: at(y), NOut: nOut}, {Weight: m2, Y: at(y2), NOut: 3}}
	what := fmt.Sprintf("%v: %d rows of %d to %d", d, rows, nIn, nOut)
	require.NoError(t, c.Matmul(at(x), rows, nIn, jobs, 0), what)
	requireNear(t, linear(x, w, bias, rows, nIn, nOut), y, magnitude(x, w, nIn), c.tolerance(t, d, nIn), what)
	requireNear(t, linear(x, w2, nil, rows, nIn, 3), y2, magnitude(x, w2, nIn), c.tolerance(t, tensor.F32, nIn), what+", second job")
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
		for i, d := range append(of32[2:len(of32):len(of32)], of256...) {
			if c.software {
				break // its products were tried
			}
			convolution(t, c, r, d, oplevel.Geometry{H: 5, W: 6, CIn: 256, K: 2, Stride: 1}, borders[i%4], oplevel.NormKind(i%3), i%2 == 0)
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
	require.NoError(t, c.Conv2D(at(x), g, &norm, oplevel.Product{Weight: m, Bias: at(bias), Y: at(y), NOut: nOut}, 0), what)

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
	// What is loaded is off by roundings of its own where it is normalised.
	requireNear(t, want, y, magnitude(x, w, g.K*g.K*g.CIn), 2*c.tolerance(t, d, g.K*g.K*g.CIn), what)
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

// A convolution's memory stays below what the header promises: 64 MiB beyond x, weight
// and y, where all its windows at once would take 75 MB.
func TestConvolutionsMemory(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		if c.Stats().Backend == "reference" {
			t.Skip("the reference keeps float64, and is no device")
		}
		g := oplevel.Geometry{H: 256, W: 256, CIn: 32, K: 3, Stride: 1, OH: 256, OW: 256}
		m, _ := matrix(t, c, rand.New(rand.NewPCG(5, 6)), tensor.F32, 3, 3, 3, 32)
		defer m.Release()
		x, y := make([]float32, g.H*g.W*g.CIn), make([]float32, g.OH*g.OW*3)
		norm := oplevel.Norm{Kind: oplevel.GroupNorm, SiLU: true, Groups: 8, Eps: 1e-6}
		require.NoError(t, c.Conv2D(at(x), g, &norm, oplevel.Product{Weight: m, Y: at(y), NOut: 3}, 0))
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
	// Two products after each other.
	requireNear(t, want, out, 1, max(2e-5, 8*math.Ldexp(1, -c.productBits)), what)
}

// The operators by name that speech engines want, held to plain loops.
func TestOperatorsByName(t *testing.T) {
	onEach(t, func(t *testing.T, c calls) {
		r := rand.New(rand.NewPCG(13, 14))
		call := func(op string, tolerance float64, want []float64, shape tensor.Shape, attr ops.AttrArg, in ...oplevel.Operand) {
			t.Helper()
			got := make([]float32, len(want))
			require.NoError(t, c.OpRun(op, in, oplevel.Attributes{
				AppendKey: func(key []byte) []byte { return fmt.Append(key, attr) },
				Read:      func() ([]ops.AttrArg, error) { return []ops.AttrArg{attr}, nil },
			}, []oplevel.Operand{operand(got, shape...)}, 0))
			requireNear(t, want, got, 1, tolerance, op)
		}
		const cIn, cOut, n, k, stride = 3, 5, 33, 4, 2
		x, bias := normal(r, cIn*n), normal(r, cOut)

		m, w := matrix(t, c, r, tensor.F32, cOut, cIn, k)
		defer m.Release()
		const fewer = (n-k)/stride + 1
		want := make([]float64, cOut*fewer)
		for i := range want {
			o, p := i/fewer, i%fewer
			want[i] = float64(bias[o])
			for j := range cIn * k {
				want[i] += w[o*cIn*k+j] * float64(x[j/k*n+p*stride+j%k])
			}
		}
		call("conv1d", c.tolerance(t, tensor.F32, cIn*k), want, tensor.Shape{1, cOut, fewer}, ops.IntAttr("stride", stride),
			operand(x, 1, cIn, n), oplevel.Operand{Matrix: m}, operand(bias, cOut))

		m2, w := matrix(t, c, r, tensor.F16, cIn, cOut, k)
		defer m2.Release()
		const more = (n-1)*stride + k
		want = make([]float64, cOut*more)
		for i := range want {
			want[i] = float64(bias[i/more])
		}
		for i, v := range x {
			for j := range cOut * k {
				want[j/k*more+i%n*stride+j%k] += w[i/n*cOut*k+j] * float64(v)
			}
		}
		call("conv_transpose1d", c.tolerance(t, tensor.F16, cIn*k), want, tensor.Shape{1, cOut, more}, ops.IntAttr("stride", stride),
			operand(x, 1, cIn, n), oplevel.Operand{Matrix: m2}, operand(bias, cOut))

		gamma, g := matrix(t, c, r, tensor.F32, n)
		defer gamma.Release()
		want = make([]float64, len(x))
		for i, v := range x {
			sum := 0.0
			for _, u := range x[i/n*n:][:n] {
				sum += float64(u) * float64(u)
			}
			want[i] = float64(v) / math.Sqrt(sum/n+0.1) * g[i%n]
		}
		call("rms_norm", 1e-5, want, tensor.Shape{cIn, n}, ops.RealAttr("eps", 0.1), operand(x, cIn, n), oplevel.Operand{Matrix: gamma})
	})
}

func operand(x []float32, shape ...int64) oplevel.Operand {
	return oplevel.Operand{Type: tensor.Type{DType: tensor.F32, Shape: shape}, Data: at(x)}
}

// NaN goes where it is read and nowhere else; a key infinitely far below the others has
// no part in the result.
func TestNotNumbersInAttention(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	onEach(t, func(t *testing.T, c calls) {
		h := oplevel.Heads{TQ: 3, TK: 40, Heads: 2, KVHeads: 2, Dim: 32}
		width := h.Heads * h.Dim
		q, k, v := make([]float32, h.TQ*width), make([]float32, h.TK*width), make([]float32, h.TK*width)
		out := make([]float32, len(q))
		for _, x := range [][]float32{q, k, v} {
			for i := range x {
				x[i] = 1
			}
		}
		all := func(row, head int64, is func(float64) bool) {
			t.Helper()
			for i, y := range out[row*width+head*h.Dim:][:h.Dim] {
				require.True(t, is(float64(y)), "row %d, head %d, element %d is %v", row, head, i, y)
			}
		}
		one := func(y float64) bool { return math.Abs(y-1) < 1e-3 }
		attend := func() { t.Helper(); require.NoError(t, c.Attention(at(q), at(k), at(v), h, at(out), 0)) }

		q[width] = nan // the first head's of query 1
		attend()
		all(0, 0, one)
		all(1, 0, math.IsNaN)
		all(1, 1, one)
		all(2, 0, one)
		q[width] = 1

		for _, key := range []int64{0, 7, h.TK - 1} {
			k[key*width] = -inf
			v[key*width] = 100
			attend()
			all(0, 0, one)
			all(2, 1, one)
			k[key*width], v[key*width] = 1, 1
		}

		for _, key := range []int64{0, 7} { // inf - inf is NaN
			k[key*width] = inf
			attend()
			all(0, 0, math.IsNaN)
			all(2, 1, one)
			k[key*width] = 1
		}

		v[5*width+h.Dim] = inf // in the second head's first column
		attend()
		all(1, 0, one)
		require.Equal(t, math.Inf(1), float64(out[h.Dim]))
		require.True(t, one(float64(out[h.Dim+1])))
	})
}
