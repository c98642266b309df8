package backendtest

import (
	"math"
	"testing"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

func TestEveryOperatorHasCases(t *testing.T) {
	cases := Cases()
	for _, name := range ops.Names() {
		if len(cases[name]) == 0 {
			t.Errorf("operator %q has no case: add some to Cases", name)
		}
		delete(cases, name)
	}
	for name := range cases {
		t.Errorf("there are cases for %q, which is no operator", name)
	}
}

// near must see what is wrong, or no other test can fail.
func TestNearSeesDifferences(t *testing.T) {
	value := func(f ...float64) ops.Value {
		return ops.Value{Type: tensor.Type{DType: tensor.F32, Shape: tensor.Shape{int64(len(f))}}, F: f}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want ops.Value
		ok        bool
	}{
		{value(1, 2), value(1, 2), true},
		{value(1, 2.0001), value(1, 2), true},
		{value(1, 2.01), value(1, 2), false},
		{value(1000.01, 0), value(1000, 0), true}, // relative to the largest
		{value(inf, nan), value(inf, nan), true},
		{value(-inf), value(inf), false},
		{value(nan), value(1), false},
		{value(1), value(nan), false},
		{value(1), value(1, 2), false},
	} {
		if err := near(c.got, c.want, 1e-4); (err == nil) != c.ok {
			t.Errorf("near(%v, %v) gives %v", c.got.F, c.want.F, err)
		}
	}
}
