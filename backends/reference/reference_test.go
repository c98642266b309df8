package reference

import (
	"testing"

	"qtsaccel/backends/backendtest"
	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
)

func TestConformance(t *testing.T) {
	b := New()
	backendtest.Run(t, b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Each operator is taken apart once, so that its own decomposition is what runs.
func TestDecomposition(t *testing.T) {
	backendtest.RunDecomposed(t, func(under *ops.Op) backend.Backend {
		return lacking{New(), func(c *ops.Call) bool { return c.Op == under }}
	})
}

// Everything that can be taken apart is, down to what has no decomposition.
func TestDecompositionToTheGround(t *testing.T) {
	backendtest.RunDecomposed(t, func(*ops.Op) backend.Backend {
		return lacking{New(), func(*ops.Call) bool { return true }}
	})
}

// lacking is a backend without the kernels of some operators, as far as the
// calls can be decomposed.
type lacking struct {
	backend.Backend
	lacks func(c *ops.Call) bool
}

func (l lacking) Supports(c *ops.Call) bool { return !l.lacks(c) || !backendtest.Decomposes(c) }
