package handle

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// counted is an object that knows how often it was released.
type counted struct{ released atomic.Int32 }

func (c *counted) Release() { c.released.Add(1) }

func TestEachWrongHandleIsNamed(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*counted](table, Plan)
	graphs := NewSpace[*counted](table, Graph)
	plan, err := plans.Add(&counted{})
	require.NoError(t, err)
	graph, err := graphs.Add(&counted{})
	require.NoError(t, err)
	freed, err := plans.Add(&counted{})
	require.NoError(t, err)
	require.NoError(t, plans.Free(freed))
	freedGraph, err := graphs.Add(&counted{})
	require.NoError(t, err)
	require.NoError(t, graphs.Free(freedGraph))
	foreign, err := NewSpace[*counted](NewTable(), Plan).Add(&counted{})
	require.NoError(t, err)
	later := sealed(plan.index(), plan.generation()+1, Plan, table.salt)

	for name, c := range map[string]struct {
		h    Handle
		says string
	}{
		"null":               {0, "handle is null, want a qtsa_plan"},
		"of another kind":    {graph, "handle is a qtsa_graph, want a qtsa_plan"},
		"freed":              {freed, "handle is freed; it was a qtsa_plan"},
		"freed, other kind":  {freedGraph, "handle is a freed qtsa_graph, want a qtsa_plan"},
		"truncated":          {plan & 0xffffffff, "is truncated to 32 bits"},
		"truncated, negated": {plan | 0xffffffff_80000000, "is truncated to 32 bits"},
		"small number":       {7, "is truncated to 32 bits"},
		"an address":         {0x7ffd_1234_5678, "is none that this library gave out"},
		"one bit off":        {plan ^ 1<<30, "is none that this library gave out"},
		"of another process": {foreign, "is none that this library gave out"},
		"never issued":       {later, "is none that this library gave out"},
	} {
		_, err := plans.Acquire(c.h)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, status.InvalidHandle, status.Of(err), name)
		err = plans.Free(c.h)
		require.ErrorContains(t, err, c.says, name)
	}

	ref, err := plans.Acquire(plan)
	require.NoError(t, err)
	ref.Release()
	require.EqualValues(t, 1, table.Live(Plan))
	require.EqualValues(t, 1, table.Live(Graph))
}

func TestRandomValuesAreRefused(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*counted](table, Plan)
	good := map[Handle]bool{}
	for range 1000 {
		h, err := plans.Add(&counted{})
		require.NoError(t, err)
		good[h] = true
	}
	for range 1_000_000 {
		h := Handle(rand.Uint64())
		if ref, err := plans.Acquire(h); err == nil {
			require.True(t, good[h], "%#x was never given out", uint64(h))
			ref.Release()
		}
	}
}

func TestObjectIsReleasedByItsLastUser(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*counted](table, Plan)
	object := &counted{}
	h, err := plans.Add(object)
	require.NoError(t, err)

	first, err := plans.Acquire(h)
	require.NoError(t, err)
	second, err := plans.Acquire(h)
	require.NoError(t, err)
	require.NoError(t, plans.Free(h))
	_, err = plans.Acquire(h)
	require.ErrorContains(t, err, "freed")
	require.ErrorContains(t, plans.Free(h), "freed")

	first.Release()
	require.Zero(t, object.released.Load())
	require.EqualValues(t, 1, table.Live(Plan))
	second.Release()
	require.EqualValues(t, 1, object.released.Load())
	require.Zero(t, table.Live(Plan))
}

// A slot that has served every generation is left alone, so an old handle stays
// dead for ever.
func TestReuseNeverRevivesAHandle(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*counted](table, Plan)
	object := &counted{}
	first, err := plans.Add(object)
	require.NoError(t, err)
	require.NoError(t, plans.Free(first))

	reuse := func(times int) {
		for n := range times {
			h, err := plans.Add(object)
			if err != nil || h.index() != first.index() || plans.Free(h) != nil {
				t.Fatalf("reuse %d of the slot: handle %#x, %v", n, uint64(h), err)
			}
		}
	}
	const many = 1 << 20
	reuse(many)
	_, err = plans.Acquire(first)
	require.ErrorContains(t, err, "freed")

	// To the end in one step: as if it had been reused that often.
	table.at(first.index()).state.Store(idle(maxGeneration-2, Plan) &^ valid)
	reuse(2)
	h, err := plans.Add(object)
	require.NoError(t, err)
	require.NotEqual(t, first.index(), h.index(), "the slot is worn out")
	_, err = plans.Acquire(first)
	require.ErrorContains(t, err, "freed")
}

func TestFullTable(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*counted](table, Plan)
	object := &counted{}
	var h Handle
	for range maxSlots {
		var err error
		if h, err = plans.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	_, err := plans.Add(object)
	require.Equal(t, status.OutOfMemory, status.Of(err))
	require.ErrorContains(t, err, "all 1048576 handles are in use")
	require.NoError(t, plans.Free(h))
	_, err = plans.Add(object)
	require.NoError(t, err)
}

// guarded fails the test when it is used after its release.
type guarded struct {
	t        *testing.T
	released atomic.Bool
}

func (g *guarded) Release() {
	if g.released.Swap(true) {
		g.t.Error("released twice")
	}
}

func TestFreeInUseFromManyThreads(t *testing.T) {
	table := NewTable()
	plans := NewSpace[*guarded](table, Plan)
	const rounds, workers = 500, 4
	for range rounds {
		h, err := plans.Add(&guarded{t: t})
		require.NoError(t, err)
		var wg sync.WaitGroup
		var freed atomic.Int32
		for range workers {
			wg.Go(func() {
				for range 8 {
					ref, err := plans.Acquire(h)
					if err != nil {
						break
					}
					if ref.Object.released.Load() {
						t.Error("acquired after its release")
					}
					ref.Release()
				}
				if plans.Free(h) == nil {
					freed.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, freed.Load(), "one of the threads frees it")
	}
	require.Zero(t, table.Live(Plan))
}

func TestAcquireDoesNotAllocate(t *testing.T) {
	plans := NewSpace[*counted](NewTable(), Plan)
	h, err := plans.Add(&counted{})
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		ref, err := plans.Acquire(h)
		if err != nil {
			panic(err)
		}
		ref.Release()
	}))
}

func BenchmarkAcquire(b *testing.B) {
	plans := NewSpace[*counted](NewTable(), Plan)
	h, err := plans.Add(&counted{})
	require.NoError(b, err)
	for b.Loop() {
		ref, err := plans.Acquire(h)
		if err != nil {
			b.Fatal(err)
		}
		ref.Release()
	}
}
