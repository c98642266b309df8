package run

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// value counts those that are open.
type value struct {
	name string
	open map[string]bool
	err  error
}

func (v *value) Close() error {
	delete(v.open, v.name)
	return v.err
}

// cached is a cache with what is open.
type cached struct {
	*Cache[*value]
	t    *testing.T
	open map[string]bool
}

func (c cached) add(name string, bytes int64) (evicted int, err error) {
	c.open[name] = true
	return c.Add([]byte(name), &value{name, c.open, nil}, bytes)
}

// requireOrder checks what is kept, the one used last first.
func (c cached) requireOrder(want ...string) {
	c.t.Helper()
	var got []string
	for v := range c.All() {
		got = append(got, v.name)
		require.True(c.t, c.Has([]byte(v.name)))
		require.True(c.t, c.open[v.name])
	}
	require.Equal(c.t, want, got)
	require.Len(c.t, c.open, len(want))
}

func TestTheLeastRecentlyUsedGoes(t *testing.T) {
	c := cached{NewCache[*value](3, 0), t, map[string]bool{}}
	for _, name := range []string{"a", "b", "c"} {
		evicted, err := c.add(name, 1)
		require.NoError(t, err)
		require.Zero(t, evicted)
	}
	c.requireOrder("c", "b", "a")
	for _, use := range []string{"a", "c", "c", "b"} { // the last, the middle, the first
		v, ok := c.Get([]byte(use))
		require.True(t, ok)
		require.Equal(t, use, v.name)
	}
	c.requireOrder("b", "c", "a")
	_, ok := c.Get([]byte("d"))
	require.False(t, ok)
	require.True(t, c.Has([]byte("a")), "which is no use")
	evicted, err := c.add("d", 1)
	require.NoError(t, err)
	require.Equal(t, 1, evicted)
	c.requireOrder("d", "b", "c")
	require.NoError(t, c.Drop(func(v *value) bool { return v.name != "b" }))
	c.requireOrder("b")
	require.NoError(t, c.Close())
	c.requireOrder()
	_, err = c.add("e", 1)
	require.NoError(t, err)
	c.requireOrder("e")
}

func TestBytesAreBounded(t *testing.T) {
	c := cached{NewCache[*value](10, 100), t, map[string]bool{}}
	for _, name := range []string{"a", "b", "c"} {
		_, err := c.add(name, 30)
		require.NoError(t, err)
	}
	require.EqualValues(t, 90, c.Bytes())
	evicted, err := c.add("d", 50)
	require.NoError(t, err)
	require.Equal(t, 2, evicted)
	c.requireOrder("d", "c")
	require.EqualValues(t, 80, c.Bytes())
	evicted, err = c.add("more than all", 1000) // is kept, and nothing else
	require.NoError(t, err)
	require.Equal(t, 2, evicted)
	c.requireOrder("more than all")
}

func TestWhatCannotBeClosedIsToldAndGone(t *testing.T) {
	c := NewCache[*value](1, 0)
	stuck := errors.New("stuck")
	_, err := c.Add([]byte("a"), &value{err: stuck}, 0)
	require.NoError(t, err)
	evicted, err := c.Add([]byte("b"), &value{}, 0)
	require.ErrorIs(t, err, stuck)
	require.Equal(t, 1, evicted)
	require.Len(t, slices.Collect(c.All()), 1)
	require.True(t, c.Has([]byte("b")))
}

func TestLookingUpAllocatesNothing(t *testing.T) {
	c := NewCache[*value](3, 0)
	a, b := []byte("a"), []byte("b")
	for _, key := range [][]byte{a, b} {
		_, err := c.Add(key, &value{}, 0)
		require.NoError(t, err)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.Get(a)
		c.Get(b)
		c.Has(a)
	}))
}
