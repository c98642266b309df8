package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{9, 1, 3, 2}), 0)
}

// A ratio is taken within each round, so that a slow round of both changes nothing.
func TestSummarise(t *testing.T) {
	r := result{
		OneNode: contest{
			{Name: "raw ggml add", Micros: []float64{1, 10, 1}, Allocations: 2},
			{Name: "qtsaccel add", Micros: []float64{1.5, 10.5, 1.5}, Allocations: 2},
			{Name: "raw ggml linear", Micros: []float64{1, 1, 1}, Allocations: 2},
			{Name: "qtsaccel linear", Micros: []float64{1.25, 1.25, 1.25}, Allocations: 3},
		},
		VAD: contest{
			{Name: "raw ggml", Micros: []float64{10, 100, 10}},
			{Name: "qtsaccel", Micros: []float64{11, 110, 11}},
			{Name: "ONNX Runtime", Micros: []float64{22, 220, 20}},
		},
		Opens: []float64{3, 1, 2},
	}
	require.NoError(t, r.summarise())
	require.InDelta(t, 0.5, *r.OneNodeOverhead, 1e-12)
	require.InDelta(t, 1, *r.AllocsPerRun, 0)
	require.Nil(t, r.StoryRatio)
	require.InDelta(t, 1.1, *r.VADRatio, 1e-12)
	require.InDelta(t, 0.5, *r.VADOnnxruntime, 1e-12)
	require.InDelta(t, 2, *r.OpenMS, 0)

	r.VAD = r.VAD[:2]
	require.ErrorContains(t, r.summarise(), "ONNX Runtime")
}
