package main

import (
	"math"
	"strings"

	"qtsaccel/core/ops"
)

// What the operator table lets devices other than the CPU differ in (ops.Op.OnDevices and
// LosesNaN, docs/operators.md).

// onCPU says whether a device is held to all that the table says.
func (t *Target) onCPU() bool {
	return strings.HasPrefix(t.Name, "cpu") || strings.HasPrefix(t.Name, "reference")
}

// extra is how far a device may be off beside the tolerance, relative to the largest result:
// angles are in f32 there.
func extra(c *ops.Call, in []ops.Value) float64 {
	angle := 0.0
	switch c.Op.Name {
	case "sin", "cos":
		if angle = largest(in[0]); angle > 1e4 {
			return 2
		}
	case "snake": // the sine's square over beta
		angle = largest(in[0]) * largest(in[1]) / smallest(in[2])
	case "rope":
		for _, p := range in[1].I {
			angle = math.Max(angle, math.Abs(float64(p)*c.Real("scale")))
		}
	}
	return 2e-7 * angle
}

// smallest is the smallest magnitude.
func smallest(v ops.Value) float64 {
	least := math.Inf(1)
	for _, f := range v.F {
		least = math.Min(least, math.Abs(f))
	}
	return least
}

// odd says whether a number among these is one that devices may treat in ways of their own:
// NaN, an infinity, a denormal of f32, or one near f32's end.
func odd(values []ops.Value) bool {
	for _, v := range values {
		for _, f := range v.F {
			if a := math.Abs(f); !(a < 1e37) || a < 1.2e-38 && a > 0 {
				return true
			}
		}
	}
	return false
}
