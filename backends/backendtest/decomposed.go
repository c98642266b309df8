package backendtest

import (
	"errors"
	"strings"
	"testing"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
)

// RunDecomposed tries the cases of every operator that has a decomposition on the
// backend that lack gives for it, one that has no kernel for it but computes in
// double precision: the decomposition is the formula in other words, and no more
// is allowed than the rounding of the results to f32.
func RunDecomposed(t *testing.T, lack func(*ops.Op) backend.Backend) {
	t.Helper()
	var tally tally
	cases, special := Cases(), Special(fewSpecial)
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if op.Decompose == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b, tried := lack(op), tally.run
			for i, c := range append(cases[name], special[name]...) {
				if c.CPU && c.Special == "" || hiddenShows(name, c) {
					continue
				}
				tally.add(t, name, c, tryCase(t, b, name, i, c, func(*ops.Call) float64 { return 1e-7 }))
			}
			if tally.run == tried {
				t.Errorf("no case of %s ran decomposed", name)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("decomposed: %v", &tally)
}

// hiddenShows says whether a case has numbers that are none, or infinite, where
// attention's positions hide them, or may have scores that are all minus infinity: only
// kernels of its own leave these out.
func hiddenShows(name string, c Case) bool {
	positions := len(c.In) > 4 || strings.HasSuffix(c.Special, "infinities")
	for _, a := range c.Attrs {
		positions = positions || a.Name == "causal"
	}
	return name == "attention" && c.Special != "" && positions
}

// Decomposes says whether a call can be taken apart.
func Decomposes(c *ops.Call) bool {
	if c.Op.Decompose == nil {
		return false
	}
	in := make([]ops.Ref, len(c.In))
	for i := range in {
		in[i] = ops.Ref(i)
		if !c.Has(i) {
			in[i] = ops.None
		}
	}
	_, err := c.Op.Decompose(&sketch{types: len(c.In)}, c, in)
	return !errors.Is(err, ops.ErrNoDecomposition)
}

// sketch is a graph that nothing is kept of.
type sketch struct{ types int }

func (s *sketch) Add(name string, _ []ops.Ref, _ ...ops.AttrArg) ([]ops.Ref, error) {
	op, err := ops.Lookup(name)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Ref, len(op.Outputs))
	for i := range out {
		out[i] = ops.Ref(s.types)
		s.types++
	}
	return out, nil
}
