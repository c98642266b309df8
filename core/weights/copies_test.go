package weights

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// countedCopy says how often it was freed.
type countedCopy struct {
	data  []byte
	freed atomic.Int32
}

func (c *countedCopy) Free() {
	_ = c.data[0] // the host memory must outlive the copy: a fault here otherwise
	c.freed.Add(1)
}

func newCopy(data []byte) (Copy, error) { return &countedCopy{data: data}, nil }

func oneTensor(t *testing.T) (*Weights, *Tensor) {
	t.Helper()
	w := New()
	require.NoError(t, w.Declare("a", f32(4)))
	require.NoError(t, w.Set("a", []byte("0123456789abcdef")))
	return w, tensorOf(t, w, "a")
}

func TestCopyIsMadeOncePerLayout(t *testing.T) {
	leavesNothing(t)
	w, a := oneTensor(t)
	var c DeviceCopies
	var made atomic.Int32
	var wg sync.WaitGroup
	got := make([]Copy, 64)
	for i := range got {
		wg.Go(func() {
			var err error
			got[i], err = c.Get(a, i%2, func(data []byte) (Copy, error) {
				made.Add(1)
				return newCopy(data)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 2, made.Load())
	for i := range got {
		require.Same(t, got[i%2], got[i])
	}
	require.NotSame(t, got[0], got[1])
	require.Equal(t, "0123456789abcdef", string(got[0].(*countedCopy).data))
	requireError(t, w.Set("a", make([]byte, 16)), status.InvalidState)

	var other DeviceCopies // another backend
	third, err := other.Get(a, 0, newCopy)
	require.NoError(t, err)
	require.NotSame(t, got[0], third)

	w.Release()
	for _, copied := range []Copy{got[0], got[1], third} {
		require.EqualValues(t, 1, copied.(*countedCopy).freed.Load())
	}
	c.Close()
	other.Close()
	require.EqualValues(t, 1, third.(*countedCopy).freed.Load(), "closing frees nothing twice")
}

func TestCopiesGoWithTheirBackend(t *testing.T) {
	leavesNothing(t)
	w, a := oneTensor(t)
	var c, other DeviceCopies
	mine, err := c.Get(a, nil, newCopy)
	require.NoError(t, err)
	theirs, err := other.Get(a, nil, newCopy)
	require.NoError(t, err)
	c.Close()
	c.Close()
	require.EqualValues(t, 1, mine.(*countedCopy).freed.Load())
	require.Zero(t, theirs.(*countedCopy).freed.Load())
	_, err = c.Get(a, nil, newCopy)
	requireError(t, err, status.InvalidState, `"a"`, "closed")
	require.NotContains(t, w.copies, &c)
	other.Close()
	w.Release()
	require.EqualValues(t, 1, mine.(*countedCopy).freed.Load())
	require.EqualValues(t, 1, theirs.(*countedCopy).freed.Load())
}

func TestFailedCopyIsTriedAgain(t *testing.T) {
	leavesNothing(t)
	w, a := oneTensor(t)
	defer w.Release()
	var c DeviceCopies
	defer c.Close()
	full := status.Errorf(status.OutOfMemory, "16 bytes wanted, 3 free")
	_, err := c.Get(a, nil, func([]byte) (Copy, error) { return nil, full })
	requireError(t, err, status.OutOfMemory, `"a"`, "16 bytes wanted, 3 free")
	require.True(t, errors.Is(err, full))
	got, err := c.Get(a, nil, newCopy)
	require.NoError(t, err)
	require.NotNil(t, got)

	require.NoError(t, w.Declare("empty", f32(1)))
	_, err = c.Get(tensorOf(t, w, "empty"), nil, newCopy)
	requireError(t, err, status.InvalidState, `"empty"`, "no data")
}

func TestCopyOutlivesTheHandleWhileItIsUsed(t *testing.T) {
	leavesNothing(t)
	w, a := oneTensor(t)
	var c DeviceCopies
	defer c.Close()
	a.Retain() // as an executable does
	got, err := c.Get(a, nil, newCopy)
	require.NoError(t, err)
	w.Release()
	require.Zero(t, got.(*countedCopy).freed.Load())
	a.Release()
	require.EqualValues(t, 1, got.(*countedCopy).freed.Load())
	require.Empty(t, c.of)
}

// Weights and backends come and go against each other: every copy made is freed
// exactly once.
func TestCopiesUnderContention(t *testing.T) {
	leavesNothing(t)
	var made, freed atomic.Int32
	for range 200 {
		w, a := oneTensor(t)
		var c DeviceCopies
		var wg sync.WaitGroup
		for i := range 4 {
			w.Retain()
			wg.Go(func() {
				defer w.Release()
				_, err := c.Get(a, i/2, func([]byte) (Copy, error) {
					made.Add(1)
					return &hookedCopy{func() { freed.Add(1) }}, nil
				})
				if err != nil && status.Of(err) != status.InvalidState {
					t.Error(err)
				}
			})
		}
		wg.Go(c.Close)
		wg.Go(w.Release)
		wg.Wait()
	}
	require.Positive(t, made.Load())
	require.Equal(t, made.Load(), freed.Load())
}

type hookedCopy struct{ free func() }

func (h *hookedCopy) Free() { h.free() }
