package reference

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/backendtest"
	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

func TestConformance(t *testing.T) {
	before := mem.Live()
	b := New()
	backendtest.Run(t, b)
	require.NoError(t, b.Close())
	require.Equal(t, before, mem.Live(), "bytes outside Go's heap")
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

// buildOne makes an executable of a graph with one operator.
func buildOne(t *testing.T, w *weights.Weights, op string, in func(g *graph.Graph) []ops.Ref, attrs ...ops.AttrArg) error {
	t.Helper()
	g := graph.New("test")
	defer g.Release()
	out, err := g.Op(op, in(g), attrs, 1)
	require.NoError(t, err)
	require.NoError(t, g.Output("y", out[0]))
	b := New()
	defer func() { require.NoError(t, b.Close()) }()
	p, err := g.Bind(nil, b.Supports)
	require.NoError(t, err)
	s, err := b.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	e, err := s.Build(p)
	if err == nil {
		require.NoError(t, e.Close())
	} else {
		require.True(t, e == nil, "what failed is nil, not an interface around nil")
	}
	w.Release()
	return err
}

func TestTooLargeIsAnError(t *testing.T) {
	before := mem.Live()
	err := buildOne(t, weights.New(), "arange", func(*graph.Graph) []ops.Ref { return nil }, ops.IntAttr("count", 1<<48))
	require.Equal(t, status.OutOfMemory, status.Of(err), "%v", err)
	require.ErrorContains(t, err, "arange")
	require.Equal(t, before, mem.Live())
}
