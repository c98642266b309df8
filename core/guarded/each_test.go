package guarded

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// Each row is worked on once, whether the work is worth threads or not.
func TestEach(t *testing.T) {
	for _, elements := range []int64{1, worthAThread} {
		for _, n := range []int64{0, 1, 7} {
			var rows [8]atomic.Int32
			require.NoError(t, Each(n, elements, func(from, to int64) error {
				for i := from; i < to; i++ {
					rows[i].Add(1)
				}
				return nil
			}))
			for i := range rows {
				want := int32(0)
				if int64(i) < n {
					want = 1
				}
				require.Equal(t, want, rows[i].Load(), "row %d of %d", i, n)
			}
		}
	}
}

func TestAPanicOfOneOfEachIsAnError(t *testing.T) {
	err := Each(4, worthAThread, func(from, _ int64) error {
		if from == 0 {
			panic("in the first part")
		}
		return nil
	})
	require.Equal(t, status.Internal, status.Of(err))
	require.ErrorContains(t, err, "in the first part")
	require.ErrorContains(t, err, "each_test.go:")
}
