package main

import (
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed picture is the one that is drawn, but for rounding, which differs
// where the processor multiplies and adds in one.
func TestSampleIsDrawn(t *testing.T) {
	f, err := os.Open("../sample.png")
	require.NoError(t, err)
	defer f.Close()
	committed, err := png.Decode(f)
	require.NoError(t, err)

	drawn := draw()
	require.Equal(t, drawn.Bounds(), committed.Bounds())
	for y := range height {
		for x := range width {
			r0, g0, b0, _ := drawn.At(x, y).RGBA()
			r1, g1, b1, _ := committed.At(x, y).RGBA()
			for i, d := range []int{int(r0) - int(r1), int(g0) - int(g1), int(b0) - int(b1)} {
				require.LessOrEqual(t, max(d, -d), 0x101, "channel %d at %d, %d", i, x, y)
			}
		}
	}
}
