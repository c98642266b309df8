package ggml

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
)

func TestCrowdPolicy(t *testing.T) {
	const ms = time.Millisecond
	var p crowdPolicy
	require.True(t, p.free(0))
	require.False(t, p.report(20*ms, 20*ms, 2*ms), "a tenth of the time is no crowd")
	require.True(t, p.free(21*ms))

	require.True(t, p.report(40*ms, 20*ms, 3*ms))
	require.False(t, p.free(40*ms))
	require.False(t, p.free(239*ms))
	require.True(t, p.free(240*ms))

	// Crowded still, again and again: twice as long each time, up to a bound.
	now := 240 * ms
	for _, backoff := range []time.Duration{400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 6400 * ms} {
		now += 20 * ms
		require.True(t, p.report(now, 20*ms, 10*ms))
		require.False(t, p.free(now+backoff-1))
		now += backoff
		require.True(t, p.free(now))
	}

	// A quiet stretch begins from the start again.
	require.False(t, p.report(now+20*ms, 20*ms, 0))
	require.True(t, p.report(now+40*ms, 20*ms, 20*ms))
	require.True(t, p.free(now+40*ms+200*ms))
}

// TestCrowdedRuns keeps every CPU busy while runs on all of them go on.
func TestCrowdedRuns(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skipf("the system does not tell how long threads wait: %v", err)
	}
	if DefaultThreads() < 2 {
		t.Skip("there is one CPU: runs have one thread anyway")
	}
	b := cpuBackend(t, runtime.NumCPU())
	g := graph.New("work")
	t.Cleanup(g.Release)
	x, err := g.Input("x", f32(64, 256))
	require.NoError(t, err)
	y, err := g.Input("y", f32(256, 256))
	require.NoError(t, err)
	require.NoError(t, g.Output("xy", mustOp(t, g, "matmul", []ops.Ref{x, y})))
	plan := build(t, b, newStream(t, b), g)
	in := buffers(make([]float32, 64*256), make([]float32, 256*256))
	out, o := buffers(make([]float32, 64*256)), options()
	o.Threads = runtime.NumCPU()

	var stop atomic.Bool
	var busy sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		busy.Go(func() {
			runtime.LockOSThread()
			for i := 0; !stop.Load(); i++ {
				_ = i * i
			}
		})
	}
	defer busy.Wait()
	defer stop.Store(true)
	for begun := time.Now(); b.cuts.Load() == 0; {
		require.NoError(t, plan.Run(in, out, o))
		require.Less(t, time.Since(begun), 20*time.Second, "runs were never cut down")
	}
	require.Contains(t, b.Info().Notes[0], "cut down to one thread")
}
