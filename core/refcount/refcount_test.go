package refcount

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLastReleaseSaysSo(t *testing.T) {
	var c Counter
	require.True(t, c.Live(), "the maker's reference")
	require.True(t, c.Retain())
	require.False(t, c.Release())
	require.True(t, c.Live())
	require.True(t, c.Release())
	require.False(t, c.Live())
}

// What was freed stays so: nobody gets it back, nobody frees it again.
func TestNothingComesBack(t *testing.T) {
	var c Counter
	require.True(t, c.Release())
	for range 3 {
		require.False(t, c.Retain())
		require.False(t, c.Release())
		require.False(t, c.Live())
	}
}

// However many release at once, one of them is the last, and nobody retains after it.
func TestManyUsersAtOnce(t *testing.T) {
	for range 200 {
		var c Counter
		const users = 8
		for range users - 1 {
			require.True(t, c.Retain())
		}
		var last, late atomic.Int64
		var all sync.WaitGroup
		for range users {
			all.Go(func() {
				for range 50 {
					if c.Retain() {
						if c.Release() { // the user's own reference is still there
							late.Add(1)
						}
					} else {
						late.Add(1)
					}
				}
				if c.Release() {
					last.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, last.Load())
		require.Zero(t, late.Load())
		require.False(t, c.Live())
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	var c Counter
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.Retain()
		c.Release()
	}))
}
