package mem

import (
	"bytes"
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// leavesNothing fails the test if memory is left mapped at its end.
func leavesNothing(t *testing.T) {
	before := Live()
	t.Cleanup(func() { require.Equal(t, before, Live(), "bytes live at the test's end") })
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func TestAllocGivesZeroedAlignedWritableMemory(t *testing.T) {
	leavesNothing(t)
	for _, n := range []int64{1, 63, 4096, 4097, 3 << 20} {
		before := Live()
		b, err := Alloc(n)
		require.NoError(t, err)
		require.Len(t, b, int(n))
		require.Equal(t, before+n, Live())
		require.Zero(t, address(b)%Alignment)
		require.Equal(t, int(n), bytes.Count(b, []byte{0}))
		for i := range b {
			b[i] = 0xff
		}
		require.NoError(t, Free(b))
	}
}

func TestAllocOfNothing(t *testing.T) {
	leavesNothing(t)
	b, err := Alloc(0)
	require.NoError(t, err)
	require.NotNil(t, b)
	require.Empty(t, b)
	require.NoError(t, Free(b))
	require.NoError(t, Free(nil))
}

func TestAllocSaysWhatItCannotHave(t *testing.T) {
	leavesNothing(t)
	_, err := Alloc(math.MaxInt64)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	require.ErrorContains(t, err, "9223372036854775807 bytes wanted")
	_, err = Alloc(1 << 60)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	_, err = Alloc(-1)
	require.Equal(t, status.InvalidArgument, status.Of(err))

	b, err := Alloc(16)
	require.NoError(t, err, "the next right call")
	require.NoError(t, Free(b))
}

func TestFreeRefusesWhatAllocDidNotGive(t *testing.T) {
	leavesNothing(t)
	require.Equal(t, status.Internal, status.Of(Free(make([]byte, 4096))))
	b, err := Alloc(8192)
	require.NoError(t, err)
	require.Equal(t, status.Internal, status.Of(Free(b[4096:])))
	require.NoError(t, Free(b))
	require.Equal(t, status.Internal, status.Of(Free(b)), "freed twice")
}

func TestArenaPiecesAreAlignedZeroedAndApart(t *testing.T) {
	leavesNothing(t)
	var a Arena
	var pieces [][]byte
	for i := range 3000 { // several chunks, and mappings of their own between them
		n := int64(i * 7 % 1500)
		if i%500 == 0 {
			n = ownBytes + int64(i)
		}
		b, err := a.Alloc(n)
		require.NoError(t, err)
		require.Len(t, b, int(n))
		if n > 0 {
			require.Zero(t, address(b)%Alignment)
		}
		for j := range b {
			if b[j] != 0 {
				t.Fatalf("piece %d is not zero at %d", i, j)
			}
			b[j] = byte(i)
		}
		require.Equal(t, len(b), cap(b), "an append must not reach the next piece")
		pieces = append(pieces, b)
	}
	for i, b := range pieces {
		for j := range b {
			if b[j] != byte(i) {
				t.Fatalf("piece %d was overwritten at %d", i, j)
			}
		}
	}
	require.NoError(t, a.Free())
	require.NoError(t, a.Free())
	_, err := a.Alloc(1)
	require.Equal(t, status.InvalidState, status.Of(err))
}

func TestArenaLosesNoMoreThanAQuarterOfAChunk(t *testing.T) {
	leavesNothing(t)
	var a Arena
	defer func() { require.NoError(t, a.Free()) }()
	before, wanted := Live(), int64(0)
	for i := range 400 {
		n := int64(ownBytes - 1 - i)
		_, err := a.Alloc(n)
		require.NoError(t, err)
		wanted += n
	}
	require.Less(t, float64(Live()-before), 1.34*float64(wanted)+chunkBytes)
}

func TestArenaReportsWhatItCannotHaveAndGoesOn(t *testing.T) {
	leavesNothing(t)
	var a Arena
	defer func() { require.NoError(t, a.Free()) }()
	_, err := a.Alloc(1 << 60)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	_, err = a.Alloc(-5)
	require.Equal(t, status.InvalidArgument, status.Of(err))
	b, err := a.Alloc(8)
	require.NoError(t, err)
	require.Len(t, b, 8)
}

func TestArenaFromManyGoroutines(t *testing.T) {
	leavesNothing(t)
	var a Arena
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				b, err := a.Alloc(int64(1 + i*g%900))
				if err != nil {
					t.Error(err)
					return
				}
				for j := range b {
					b[j]++ // two owners of a byte would be found by -race, and here
					if b[j] != 1 {
						t.Error("a byte was given twice")
						return
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, a.Free())
}
