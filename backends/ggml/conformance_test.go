package ggml

import (
	"testing"

	"qtsaccel/backends/backendtest"
)

func TestConformance(t *testing.T) { backendtest.Run(t, cpuBackend(t, 1)) }
