package weights

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/weights/weightstest"
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
	require.NoError(t, w.Declare("a", weightstest.F32(4)))
	require.NoError(t, w.Set("a", []byte("0123456789abcdef")))
	return w, weightstest.TensorOf(t, w, "a")
}

func TestCopyIsMadeOncePerLayout(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, a := oneTensor(t)
	var c DeviceCopies
	var made atomic.Int32
	var wg sync.WaitGroup
	got := make([]Copy, 64)
	for i := range got {
		wg.Go(func() {
			var err error
			got[i], err = c.Get(a, i%2, 16, func(data []byte) (Copy, error) {
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
	weightstest.RequireError(t, w.Set("a", make([]byte, 16)), status.InvalidState)

	var other DeviceCopies // another backend
	third, err := other.Get(a, 0, 16, newCopy)
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
	weightstest.LeavesNothing(t)
	w, a := oneTensor(t)
	var c, other DeviceCopies
	mine, err := c.Get(a, nil, 16, newCopy)
	require.NoError(t, err)
	theirs, err := other.Get(a, nil, 16, newCopy)
	require.NoError(t, err)
	c.Close()
	c.Close()
	require.EqualValues(t, 1, mine.(*countedCopy).freed.Load())
	require.Zero(t, theirs.(*countedCopy).freed.Load())
	_, err = c.Get(a, nil, 16, newCopy)
	weightstest.RequireError(t, err, status.InvalidState, `"a"`, "closed")
	require.NotContains(t, w.copies, &c)
	other.Close()
	w.Release()
	require.EqualValues(t, 1, mine.(*countedCopy).freed.Load())
	require.EqualValues(t, 1, theirs.(*countedCopy).freed.Load())
}

func TestFailedCopyIsTriedAgain(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, a := oneTensor(t)
	defer w.Release()
	var c DeviceCopies
	defer c.Close()
	full := status.Errorf(status.OutOfMemory, "16 bytes wanted, 3 free")
	_, err := c.Get(a, nil, 16, func([]byte) (Copy, error) { return nil, full })
	weightstest.RequireError(t, err, status.OutOfMemory, `"a"`, "16 bytes wanted, 3 free")
	require.True(t, errors.Is(err, full))
	got, err := c.Get(a, nil, 16, newCopy)
	require.NoError(t, err)
	require.NotNil(t, got)

	require.NoError(t, w.Declare("empty", weightstest.F32(1)))
	_, err = c.Get(weightstest.TensorOf(t, w, "empty"), nil, 4, newCopy)
	weightstest.RequireError(t, err, status.InvalidState, `"empty"`, "no data")
}

func TestCopyOutlivesTheHandleWhileItIsUsed(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, a := oneTensor(t)
	var c DeviceCopies
	defer c.Close()
	a.Retain() // as an executable does
	got, err := c.Get(a, nil, 16, newCopy)
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
	weightstest.LeavesNothing(t)
	var made, freed atomic.Int32
	for range 200 {
		w, a := oneTensor(t)
		var c DeviceCopies
		var wg sync.WaitGroup
		for i := range 4 {
			w.Retain()
			wg.Go(func() {
				defer w.Release()
				_, err := c.Get(a, i/2, 16, func([]byte) (Copy, error) {
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

// abc gives weights of three tensors of 16 bytes.
func abc(t *testing.T) (*Weights, []*Tensor) {
	t.Helper()
	w := New()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, w.Declare(name, weightstest.F32(4)))
		require.NoError(t, w.Set(name, []byte(name+"123456789abcdef")))
	}
	all, err := w.Matching(nil)
	require.NoError(t, err)
	return w, all
}

func sixteen(*Tensor) int64 { return 16 }

// makeAll makes every copy that is missing, in the opposite order.
func makeAll(missing []Missing, ready func(int, Copy)) error {
	for i := range missing {
		i = len(missing) - 1 - i
		data, err := missing[i].Tensor.Freeze()
		if err != nil {
			return err
		}
		made, err := newCopy(data)
		if err != nil {
			return err
		}
		ready(i, made)
	}
	return nil
}

func TestCopiesOfSeveralAtOnce(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, all := abc(t)
	var c DeviceCopies
	defer c.Close()
	b, err := c.Get(all[1], nil, 16, newCopy)
	require.NoError(t, err)
	require.EqualValues(t, 16, c.Bytes(w))

	// What fails in the middle leaves what was complete.
	broken := status.Errorf(status.IO, "the disk is gone")
	err = c.GetAll(all, nil, sixteen, func(missing []Missing, ready func(int, Copy)) error {
		require.Len(t, missing, 2)
		require.NoError(t, makeAll(missing[1:], func(_ int, made Copy) { ready(1, made) }))
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 32, c.Bytes(w))

	require.NoError(t, c.GetAll([]*Tensor{all[0], all[0], all[2]}, nil, sixteen, func(missing []Missing, ready func(int, Copy)) error {
		require.Len(t, missing, 1, "each once")
		require.Same(t, all[0], missing[0].Tensor)
		return makeAll(missing, ready)
	}))
	require.NoError(t, c.GetAll(all, nil, sixteen, func([]Missing, func(int, Copy)) error { panic("all are there") }))
	require.EqualValues(t, 48, c.Bytes(w))
	for i, tensor := range all {
		got, err := c.Get(tensor, nil, 16, func([]byte) (Copy, error) { panic("all are there") })
		require.NoError(t, err)
		require.Equal(t, string("abc"[i])+"123456789abcdef", string(got.(*countedCopy).data))
	}

	require.NoError(t, w.Declare("empty", weightstest.F32(1)))
	err = c.GetAll([]*Tensor{all[0], weightstest.TensorOf(t, w, "empty")}, nil, sixteen, makeAll)
	weightstest.RequireError(t, err, status.InvalidState, `"empty"`, "no data")
	w.Release()
	require.EqualValues(t, 1, b.(*countedCopy).freed.Load())
	require.Zero(t, c.used.Load())
	weightstest.RequireError(t, c.GetAll(all, nil, sixteen, makeAll), status.InvalidState, "released")
}

// How large the copies are is known while more are being made, also to the thread that
// makes them.
func TestSizesAreKnownWhileCopiesAreMade(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, all := abc(t)
	defer w.Release()
	var c DeviceCopies
	defer c.Close()
	require.NoError(t, c.GetAll(all, nil, sixteen, func(missing []Missing, ready func(int, Copy)) error {
		for i, m := range missing {
			require.EqualValues(t, 16*i, c.Bytes(w))
			made, err := newCopy(m.Tensor.data)
			require.NoError(t, err)
			ready(i, made)
		}
		return nil
	}))
	_, err := c.Get(all[0], "another", 8, func(data []byte) (Copy, error) {
		require.EqualValues(t, 16*len(all), c.Bytes(w))
		return newCopy(data)
	})
	require.NoError(t, err)
	require.EqualValues(t, 16*len(all)+8, c.Bytes(w))
}

func TestCopiesKeepToTheirBudget(t *testing.T) {
	weightstest.LeavesNothing(t)
	w, all := abc(t)
	c := DeviceCopies{Budget: 40}
	defer c.Close()
	weightstest.RequireError(t, c.GetAll(all, nil, sixteen, makeAll), status.OutOfMemory, "3 tensors", "48 bytes wanted", "40 free", "budget of 40")
	require.Zero(t, c.Bytes(w), "nothing was made")
	require.NoError(t, c.GetAll(all[:2], nil, sixteen, makeAll))
	_, err := c.Get(all[2], nil, 16, newCopy)
	weightstest.RequireError(t, err, status.OutOfMemory, `"c"`, "16 bytes wanted", "8 free", "budget of 40")
	_, err = c.Get(all[0], nil, 16, newCopy)
	require.NoError(t, err, "what was there can be used")

	full := status.Errorf(status.OutOfMemory, "the device is full")
	_, err = c.Get(all[2], nil, 8, func([]byte) (Copy, error) { return nil, full })
	require.ErrorIs(t, err, full)
	_, err = c.Get(all[2], nil, 8, newCopy)
	require.NoError(t, err, "a failure takes nothing of the budget")

	again, other := abc(t)
	weightstest.RequireError(t, c.GetAll(other[:1], nil, sixteen, makeAll), status.OutOfMemory, "0 free")
	w.Release()
	require.NoError(t, c.GetAll(other[:2], nil, sixteen, makeAll), "there is room again")
	again.Release()
}

// Batches, single copies, and their end against each other.
func TestCopiesOfSeveralUnderContention(t *testing.T) {
	weightstest.LeavesNothing(t)
	for range 200 {
		w, all := abc(t)
		var c DeviceCopies
		var wg sync.WaitGroup
		for i := range 4 {
			w.Retain()
			wg.Go(func() {
				defer w.Release()
				err := c.GetAll([]*Tensor{all[i%3], all[(i+1)%3]}, nil, sixteen, makeAll)
				if err == nil {
					_, err = c.Get(all[(i+2)%3], nil, 16, newCopy)
				}
				if err != nil && status.Of(err) != status.InvalidState {
					t.Error(err)
				}
				_ = c.Bytes(w)
			})
		}
		wg.Go(c.Close)
		wg.Go(w.Release)
		wg.Wait()
		require.Zero(t, c.used.Load())
	}
}

func TestMatchingTensors(t *testing.T) {
	w, all := abc(t)
	defer w.Release()
	found, err := w.Matching([]string{"?", "a"})
	require.NoError(t, err)
	require.Equal(t, all, found, "each once")
	found, err = w.Matching([]string{"c"})
	require.NoError(t, err)
	require.Equal(t, all[2:], found)
	_, err = w.Matching([]string{"a", "blk.*"})
	weightstest.RequireError(t, err, status.NotFound, `"blk.*"`, "among 3")
}
