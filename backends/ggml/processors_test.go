package ggml

import (
	"testing"

	"qtsaccel/backends/kernels/kerneltest"
)

func TestMain(m *testing.M) { kerneltest.Main(m) }

// TestProcessors is skipped for each kind of processor that this one is not.
func TestProcessors(t *testing.T) { kerneltest.Processors(t) }
