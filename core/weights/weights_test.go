package weights

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights/weightstest"
)

func TestDeclareSetFreeze(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	shape := tensor.Shape{2, 2}
	require.NoError(t, w.Declare("a", tensor.Type{DType: tensor.F32, Shape: shape}))
	require.NoError(t, w.Declare("b", weightstest.F32()))
	shape[0] = 99
	require.Equal(t, 2, w.Len())
	a := weightstest.TensorOf(t, w, "a")
	require.Equal(t, "f32[2, 2]", a.Type.String(), "the caller's shape is copied")

	_, err := a.Freeze()
	weightstest.RequireError(t, err, status.InvalidState, `"a"`, "f32[2, 2]", "no data")

	data := []byte("0123456789abcdef")
	require.NoError(t, w.Set("a", data))
	copy(data, "overwritten")
	require.NoError(t, w.Set("a", []byte("ABCDEFGHIJKLMNOP")), "again before it is frozen")
	require.NoError(t, w.Set("b", []byte("1234")))

	got, err := a.Freeze()
	require.NoError(t, err)
	require.Equal(t, "ABCDEFGHIJKLMNOP", string(got))
	require.True(t, weightstest.Aligned(got))
	weightstest.RequireError(t, w.Set("a", data), status.InvalidState, `"a"`)
	again, err := a.Freeze()
	require.NoError(t, err)
	require.Equal(t, "ABCDEFGHIJKLMNOP", string(again))
}

func TestWrongCallsNameWhatIsWrong(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("blk.0.attn_q.weight", weightstest.F32(4, 8)))
	require.NoError(t, w.Declare("blk.0.attn_k.weight", weightstest.F32(4, 8)))

	weightstest.RequireError(t, w.Declare("blk.0.attn_q.weight", weightstest.F32(1)), status.AlreadyExists, "blk.0.attn_q.weight", "f32[4, 8]")
	weightstest.RequireError(t, w.Declare("x", weightstest.F32(4, 0)), status.InvalidArgument, `"x"`, "dimension 1")
	weightstest.RequireError(t, w.Declare("x", weightstest.F32(1, 1, 1, 1, 1)), status.InvalidArgument, "5 dimensions")
	weightstest.RequireError(t, w.Declare("x", weightstest.F32(1<<32, 1<<32)), status.InvalidArgument, "overflows")
	weightstest.RequireError(t, w.Declare("x", tensor.Type{DType: 77}), status.InvalidArgument, "77")
	weightstest.RequireError(t, w.Declare("x", tensor.Type{DType: tensor.Q8_0, Shape: tensor.Shape{4, 33}}), status.InvalidArgument, "33", "32")
	for _, name := range []string{"", "a\x00b", "\xff"} {
		weightstest.RequireError(t, w.Declare(name, weightstest.F32(1)), status.InvalidArgument, fmt.Sprintf("%q", name))
	}
	require.Equal(t, 2, w.Len())

	weightstest.RequireError(t, w.Set("blk.0.attn_q.weight", make([]byte, 127)), status.ShapeMismatch, "blk.0.attn_q.weight", "128", "127")
	weightstest.RequireError(t, w.Set("blk.0.attn_q.weight", nil), status.ShapeMismatch, "128", "not 0")
	weightstest.RequireError(t, w.Set("blk.0.atn_q.weight", nil), status.NotFound, `did you mean "blk.0.attn_q.weight"?`)
	_, err := w.Find("output_norm")
	weightstest.RequireError(t, err, status.NotFound, "output_norm", "among 2")
	require.NotContains(t, err.Error(), "did you mean")
	_, err = w.Find(strings.Repeat("x", 10_000))
	weightstest.RequireError(t, err, status.NotFound)
	for _, i := range []int{-1, 2} {
		_, err = w.At(i)
		weightstest.RequireError(t, err, status.InvalidArgument, fmt.Sprint(i), "there are 2")
	}
	_, err = w.Metadata("general.name")
	weightstest.RequireError(t, err, status.NotFound, "general.name")

	require.NoError(t, w.Set("blk.0.attn_q.weight", make([]byte, 128)), "the next right call")
}

func TestOutOfMemoryNamesTheTensorAndTheBytes(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	defer w.Release()
	require.NoError(t, w.Declare("huge", weightstest.F32(1<<28, 1<<28)))
	// One element, repeated.
	err := w.SetArray("huge", Array{Type: weightstest.F32(1<<28, 1<<28), Strides: []int64{0, 0}, Data: make([]byte, 4)})
	weightstest.RequireError(t, err, status.OutOfMemory, `"huge"`, "288230376151711744 bytes wanted")
	require.NoError(t, w.Declare("small", weightstest.F32(1)))
	require.NoError(t, w.Set("small", make([]byte, 4)))
}

func TestLastUserLetsGo(t *testing.T) {
	weightstest.LeavesNothing(t)
	before := mem.Live()
	w := New()
	require.NoError(t, w.Declare("a", weightstest.F32(64)))
	require.NoError(t, w.Set("a", make([]byte, 256)))
	a := weightstest.TensorOf(t, w, "a")
	a.Retain()
	w.Release()
	data, err := a.Freeze()
	require.NoError(t, err)
	require.Zero(t, data[255])
	require.Greater(t, mem.Live(), before)
	a.Release()
	require.Equal(t, before, mem.Live())
}

func TestUseAfterTheLastReleaseDoesNoHarm(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	require.NoError(t, w.Declare("a", weightstest.F32(1)))
	require.NoError(t, w.Set("a", make([]byte, 4)))
	a := weightstest.TensorOf(t, w, "a")
	w.Release()

	w.Release()
	w.Retain()
	a.Retain()
	a.Release()
	weightstest.RequireError(t, w.Declare("b", weightstest.F32(1)), status.InvalidState, "released")
	weightstest.RequireError(t, w.Set("a", make([]byte, 4)), status.InvalidState)
	_, err := w.Find("a")
	weightstest.RequireError(t, err, status.InvalidState)
	_, err = w.At(0)
	weightstest.RequireError(t, err, status.InvalidState)
	_, err = w.Metadata("k")
	weightstest.RequireError(t, err, status.InvalidState)
	_, err = a.Freeze()
	weightstest.RequireError(t, err, status.InvalidState)
	var c DeviceCopies
	_, err = c.Get(a, nil, 4, func([]byte) (Copy, error) { panic("must not be called") })
	weightstest.RequireError(t, err, status.InvalidState)
}

func TestFromManyGoroutines(t *testing.T) {
	weightstest.LeavesNothing(t)
	w := New()
	var wg sync.WaitGroup
	for g := range 8 {
		w.Retain()
		wg.Go(func() {
			defer w.Release()
			for i := range 50 {
				own, shared := fmt.Sprintf("own.%d.%d", g, i), fmt.Sprintf("shared.%d", i)
				if err := w.Declare(own, weightstest.F32(8)); err != nil {
					t.Error(err)
				}
				if err := w.Declare(shared, weightstest.F32(8)); err != nil && status.Of(err) != status.AlreadyExists {
					t.Error(err)
				}
				data := []byte(strings.Repeat(string(rune('a'+g)), 32))
				if err := w.Set(own, data); err != nil {
					t.Error(err)
				}
				if err := w.Set(shared, data); err != nil && status.Of(err) != status.InvalidState {
					t.Error(err)
				}
				n, err := w.Find(shared)
				if err != nil {
					t.Error(err)
					return
				}
				s, err := w.At(n)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := s.Freeze()
				if err != nil || strings.Count(string(got), string(got[0])) != 32 {
					t.Errorf("a tensor is half of one Set and half of another: %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 8*50+50, w.Len())
	w.Release()
}
