package ggml

import (
	"fmt"
	"testing"

	"qtsaccel/backends/backendtest"
	"qtsaccel/backends/kernels/kerneltest"
)

// The kernels that are compiled for each processor, as this package calls them; by
// themselves they are held to the formulas in package kernels.
func TestOwnKernelsOnEachProcessor(t *testing.T) {
	for p := range kerneltest.EveryProcessor(t) {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%v, %d threads", p, threads), func(t *testing.T) {
				backendtest.RunOperators(t, cpuBackend(t, threads), "attention", "rope", "rms_norm", "layer_norm", "group_norm", "snake", "conv1d", "conv2d", "matmul")
			})
		}
	}
}
