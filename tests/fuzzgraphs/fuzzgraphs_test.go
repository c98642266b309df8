package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
)

const pluginDir = "../../dist/lib/qtsaccel"

// replay tries a case that failed once; see [Print].
func replay(t *testing.T, device string, c *Case) {
	t.Helper()
	dir, err := filepath.Abs(pluginDir)
	require.NoError(t, err)
	target, err := openTarget(device, dir, 1)
	require.NoError(t, err)
	if f := target.Count(c, newStats()); f != nil {
		t.Error(f)
	}
}

func TestEveryOperatorHasAMaker(t *testing.T) {
	for _, name := range ops.Names() {
		require.Contains(t, makers, name, "add operator %q to makers", name)
	}
	for name := range makers {
		_, err := ops.Lookup(name)
		require.NoError(t, err)
	}
}

// Every operator comes up, and cases do not depend on anything but their seed.
func TestGenerate(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(1500) {
		c := Generate(seed)
		for _, p := range c.Plans {
			for _, n := range p.Nodes {
				met[n.Op]++
			}
		}
		if seed%50 != 0 {
			continue
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		again, err := json.Marshal(Generate(seed))
		require.NoError(t, err)
		require.Equal(t, string(text), string(again), "seed %d", seed)
		back := &Case{}
		require.NoError(t, json.Unmarshal(text, back))
		again, err = json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again), "seed %d", seed)
	}
	for _, name := range ops.Names() {
		require.Greater(t, met[name], 10, "how often operator %q came up", name)
	}
}

// How long a case takes on the CPU.
func BenchmarkCases(b *testing.B) {
	dir, err := filepath.Abs(pluginDir)
	require.NoError(b, err)
	target, err := openTarget("cpu", dir, 1)
	require.NoError(b, err)
	stats, seed := newStats(), uint64(1)
	for b.Loop() {
		_ = target.Count(Generate(seed), stats) // what it finds, a benchmark does not tell
		seed++
	}
	b.ReportMetric(float64(stats.Graphs)/b.Elapsed().Seconds(), "graphs/s")
}
