package ggml

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// deviceBackend is that of TestConformanceOnDevice, alone.
func deviceBackend(t *testing.T, o Options) *Backend {
	if o.Device = os.Getenv("QTSACCEL_TEST_DEVICE"); o.Device == "" {
		t.Skip("QTSACCEL_TEST_DEVICE names no API to run on")
	}
	b, err := New(openLibrary(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// sizedFile is a GGUF file of f32 tensors "0", "1", … of so many floats each. No two of
// the values are alike.
func sizedFile(t *testing.T, floats ...int64) string {
	t.Helper()
	w := weights.New()
	defer w.Release()
	next := float32(1)
	for i, n := range floats {
		data := make([]byte, 0, 4*n)
		for range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(next))
			next++
		}
		name := fmt.Sprint(i)
		require.NoError(t, w.Declare(name, f32(n)))
		require.NoError(t, w.Set(name, data))
	}
	path := filepath.Join(t.TempDir(), "weights.gguf")
	require.NoError(t, modelfile.Save(w, path, nil, nil))
	return path
}

func opened(t *testing.T, path string, p weights.Placement) (*weights.Weights, []*weights.Tensor) {
	t.Helper()
	w, err := modelfile.Open(path, modelfile.Options{Placement: p})
	require.NoError(t, err)
	t.Cleanup(w.Release)
	all, err := w.Matching(nil)
	require.NoError(t, err)
	return w, all
}

// sumGraph adds a weight to zeros, so that its output is the weight's content.
func sumGraph(t *testing.T, w *weights.Weights, tensors []*weights.Tensor) *graph.Graph {
	t.Helper()
	g := graph.New("sum")
	t.Cleanup(g.Release)
	for _, a := range tensors {
		x, err := g.Input(a.Name, a.Type)
		require.NoError(t, err)
		r, err := g.Weight(w, a.Name)
		require.NoError(t, err)
		require.NoError(t, g.Output(a.Name, mustOp(t, g, "add", []ops.Ref{x, r})))
	}
	return g
}

// requireOnDevice finds that what the device has is not what sizedFile wrote.
func requireOnDevice(t *testing.T, b *Backend, w *weights.Weights, tensors []*weights.Tensor) {
	t.Helper()
	x := build(t, b, newStream(t, b), sumGraph(t, w, tensors))
	in, out := make([]backend.Buffer, len(tensors)), make([][]float32, len(tensors))
	for i, a := range tensors {
		in[i] = buffer(make([]float32, a.Type.Shape[0]))
		out[i] = make([]float32, a.Type.Shape[0])
	}
	require.NoError(t, x.Run(in, buffers(out...), options()))
	next := float32(1)
	for i := range out {
		for j, v := range out[i] {
			if v != next {
				t.Fatalf("tensor %d: element %d of %d is %v, want %v", i, j, len(out[i]), v, next)
			}
			next++
		}
	}
}

// Pieces of 4096 bytes: tensors smaller, of as many, of one float more and less, and of
// several; and enough of them that each piece is filled again and again.
var sizes = func() []int64 {
	s := []int64{1, 1023, 1024, 1025, 2047, 2048, 2049, 40_000, 7}
	for i := range int64(100) {
		s = append(s, 1+i*37%3000)
	}
	return s
}()

var small = Options{UploadPiece: 4096, UploadLeast: 1}

func totalBytes(tensors []*weights.Tensor) int64 {
	n := int64(0)
	for _, a := range tensors {
		n += a.Type.Bytes()
	}
	return n
}

func TestUploadOnDevice(t *testing.T) {
	path := sizedFile(t, sizes...)
	for _, p := range []weights.Placement{weights.Mapped, weights.Copied} {
		for _, lazy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, lazy %v", p, lazy), func(t *testing.T) {
				b := deviceBackend(t, small)
				w, all := opened(t, path, p)
				total := totalBytes(all)
				if !lazy {
					last := int64(-1)
					require.NoError(t, b.Upload(all[:5], nil))
					require.NoError(t, b.Upload(all, func(done int64) bool {
						require.GreaterOrEqual(t, done, last)
						if last < 0 {
							require.Equal(t, totalBytes(all[:5]), done, "what was there counts as done")
						}
						last = done
						return true
					}))
					require.Equal(t, total, last)
					require.Equal(t, total, b.WeightBytes(w))
				}
				requireOnDevice(t, b, w, all)
				require.Equal(t, total, b.WeightBytes(w), "once, whoever asks")
				require.True(t, b.device.Staged(), "through pinned memory")
			})
		}
	}
}

// Without pinned memory, and where it is not worth while.
func TestPlainUploadOnDevice(t *testing.T) {
	b := deviceBackend(t, Options{})
	w, all := opened(t, sizedFile(t, sizes...), weights.Mapped)
	require.NoError(t, b.Upload(all, nil))
	require.False(t, b.device.Staged())
	requireOnDevice(t, b, w, all)
}

func TestCancelledUploadOnDevice(t *testing.T) {
	for _, staged := range []bool{true, false} {
		o := Options{}
		if staged {
			o = small
		}
		b := deviceBackend(t, o)
		w, all := opened(t, sizedFile(t, sizes...), weights.Mapped)
		total := totalBytes(all)
		err := b.Upload(all, func(done int64) bool { return done < total/2 })
		require.Equal(t, status.Cancelled, status.Of(err))
		there := b.WeightBytes(w)
		require.Greater(t, there, total/8)
		require.Less(t, there, total)
		calls := 0
		require.NoError(t, b.Upload(all, func(done int64) bool {
			if calls++; calls == 1 {
				require.Equal(t, there, done, "what was complete has stayed")
			}
			return true
		}))
		require.Equal(t, total, b.WeightBytes(w))
		requireOnDevice(t, b, w, all)
	}
}

// A file that is cut short under its mapping, after the check of its length.
func TestUploadOfACutFileOnDevice(t *testing.T) {
	b := deviceBackend(t, small)
	path := sizedFile(t, sizes...)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	w, all := opened(t, path, weights.Mapped)
	calls := 0
	err = b.Upload(all, func(int64) bool {
		if calls++; calls == 1 { // the lengths were checked
			require.NoError(t, os.Truncate(path, int64(len(whole)/2)))
		}
		return true
	})
	require.Equal(t, status.IO, status.Of(err), "%v", err)
	require.ErrorContains(t, err, "shorter")
	require.Less(t, b.WeightBytes(w), totalBytes(all))
	require.Equal(t, status.IO, status.Of(b.Upload(all, nil)))
	require.NoError(t, os.WriteFile(path, whole, 0o644))
	require.NoError(t, b.Upload(all, nil))
	requireOnDevice(t, b, w, all)
}

func TestUploadBeyondTheBudgetOnDevice(t *testing.T) {
	o := small
	o.WeightsBudget = 100_000
	b := deviceBackend(t, o)
	w, all := opened(t, sizedFile(t, 20_000, 20_000), weights.Mapped)
	err := b.Upload(all, nil)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	require.ErrorContains(t, err, "2 tensors: 160000 bytes wanted, 100000 free")
	require.Zero(t, b.WeightBytes(w))
	require.NoError(t, b.Upload(all[:1], nil))
	require.EqualValues(t, 80_000, b.WeightBytes(w))
	requireOnDevice(t, b, w, all[:1])
	_, err = newStream(t, b).Build(bound(t, b, sumGraph(t, w, all)))
	require.Equal(t, status.OutOfMemory, status.Of(err), "a plan keeps to it, too")
	requireOnDevice(t, b, w, all[:1])
}

func bound(t *testing.T, b *Backend, g *graph.Graph) *graph.Program {
	t.Helper()
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	return p
}

// Uploads and plans of the same weights from several goroutines.
func TestUploadsAtOnceOnDevice(t *testing.T) {
	b := deviceBackend(t, small)
	w, all := opened(t, sizedFile(t, sizes...), weights.Mapped)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			if err := b.Upload(all[i*20:], nil); err != nil {
				t.Error(err)
			}
		})
	}
	requireOnDevice(t, b, w, all)
	group.Wait()
	require.Equal(t, totalBytes(all), b.WeightBytes(w))
}

// On the CPU nothing is copied.
func TestUploadOnTheCPU(t *testing.T) {
	b := cpuBackend(t, 1)
	w, all := opened(t, sizedFile(t, sizes...), weights.Mapped)
	before, last := mem.Live(), int64(0)
	require.NoError(t, b.Upload(all, func(done int64) bool { last = done; return true }))
	require.Equal(t, totalBytes(all), last)
	require.Equal(t, before, mem.Live())
	require.Zero(t, b.WeightBytes(w))
	requireOnDevice(t, b, w, all)
	err := b.Upload(all, func(done int64) bool { return done == 0 })
	require.Equal(t, status.Cancelled, status.Of(err))
}

// What a lowering takes as it is stored goes with all others through pinned memory: on
// devices other than the CPU every weight of a convolution and of a product.
func TestUploadAheadOfLoweringOnDevice(t *testing.T) {
	b := deviceBackend(t, small)
	const channels, outs, taps, length = 3, 5, 4, 33
	kernel, projection := normal(outs*channels*taps), normal(2*length)
	w := newWeights(t, map[string][]float32{"kernel": kernel, "projection": projection},
		map[string]tensor.Type{"kernel": f32(outs, channels, taps), "projection": f32(2, length)})
	g := newGraph(t)
	weight := func(name string) ops.Ref {
		r, err := g.Weight(w, name)
		require.NoError(t, err)
		return r
	}
	y := mustOp(t, g, "conv1d", []ops.Ref{input(t, g, "x", tensor.F32, 1, channels, length), weight("kernel")}, ops.IntsAttr("padding", 2, 1))
	require.NoError(t, g.Output("y", mustOp(t, g, "linear", []ops.Ref{y, weight("projection")})))
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	require.NoError(t, b.uploadWeightsOf(p))
	require.Equal(t, int64(4*(len(kernel)+len(projection))), b.WeightBytes(w))
	require.True(t, b.device.Staged(), "they went through pinned memory")

	x, got := normal(channels*length), make([]float32, outs*2)
	require.NoError(t, build(t, b, newStream(t, b), g).Run(buffers(x), buffers(got), options()))
	require.Equal(t, int64(4*(len(kernel)+len(projection))), b.WeightBytes(w), "lowering made no other copies")
	for i := range got {
		want := 0.0
		for at := range length {
			sum := 0.0
			for c := range channels {
				for tap := range taps {
					if from := at + tap - 2; from >= 0 && from < length {
						sum += float64(x[c*length+from]) * float64(kernel[(i/2*channels+c)*taps+tap])
					}
				}
			}
			want += sum * float64(projection[i%2*length+at])
		}
		require.InDelta(t, want, got[i], 0.2, "element %d", i) // products keep 11 bits
	}
}
