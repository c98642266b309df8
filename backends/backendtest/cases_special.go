package backendtest

import (
	"math"
	"math/rand/v2"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// special is a kind of numbers that kernels are tempted to treat as any other.
type special struct {
	name   string
	values []float64
	finite bool // numbers, so that no result may become NaN on the way
	large  bool // products of two are beyond f32
}

var specials = []special{
	{name: "NaN", values: []float64{math.NaN()}},
	{name: "infinity", values: []float64{math.Inf(1)}},
	{name: "minus infinity", values: []float64{math.Inf(-1)}},
	{name: "both infinities", values: []float64{math.Inf(1), math.Inf(-1)}},
	{name: "signed zeros", values: []float64{0, math.Copysign(0, -1)}, finite: true},
	{name: "denormal", values: []float64{1e-40, -1e-45, 1e-39}, finite: true},
	{name: "large", values: []float64{1e30, -1e30}, finite: true, large: true},
	{name: "largest", values: []float64{math.MaxFloat32, -math.MaxFloat32}, finite: true, large: true},
}

// Special gives cases of every operator in which one of its inputs holds such numbers
// among others: of at most so many of [Cases] each, each input of floats in turn.
func Special(most int) map[string][]Case {
	cases := map[string][]Case{}
	for name, all := range Cases() {
		op, err := ops.Lookup(name)
		if err != nil {
			continue // TestEveryOperatorHasCases says so
		}
		taken := 0
		for _, c := range all {
			if taken == most {
				break
			}
			with := specialOf(op, c)
			if len(with) > 0 {
				taken++
			}
			cases[name] = append(cases[name], with...)
		}
	}
	return cases
}

// specialOf varies a case.
func specialOf(op *ops.Op, c Case) []Case {
	var cases []Case
	for i, o := range c.In {
		d := o.Type.DType
		// Where a product is padded with zeros, a weight's infinity may be multiplied with
		// these.
		if !d.Float() || o.Type.Shape.Elements() > 1<<14 || op.Products > 0 && o.Kind == graph.Weight {
			continue
		}
		for _, s := range specials {
			if s.large && !takesLarge(op, c, i, s) {
				continue
			}
			varied := Case{In: append([]Operand{}, c.In...), Attrs: c.Attrs, Special: s.name, CPU: onlyCPU(op.Name, s)}
			varied.In[i].fill = among(s.values, o.fill)
			cases = append(cases, varied)
		}
	}
	return cases
}

// takesLarge says whether an operator's result for numbers so large is more than what
// rounding makes of it.
func takesLarge(op *ops.Op, c Case, input int, s special) bool {
	for _, o := range c.In {
		if d := o.Type.DType; d != 0 && d != tensor.F32 && !d.Integer() {
			return false // f16 has none as large, and takes the other factor with it
		}
	}
	switch op.Name {
	case "rope": // a large difference
		return false
	case "attention": // scores that hardly differ, with as many digits as f32 has
		return input == 2 && s.name == "large"
	case "reduce_sum", "reduce_mean", "cumsum", "linear", "matmul", "conv1d", "conv2d", "conv_transpose1d", "lstm_cell", "softmax", "log_softmax":
		return s.name == "large" // a sum of more is beyond f32 in one order and not in another
	}
	return true
}

// onlyCPU says whether the table lets devices other than the CPU differ: see OnDevices of
// these operators.
func onlyCPU(name string, s special) bool {
	switch name {
	case "sin", "cos", "snake", "rms_norm":
		return s.large
	case "log":
		return s.name == "denormal"
	case "reduce_max":
		return s.name == "minus infinity"
	case "attention":
		return s.name == "minus infinity" || s.name == "both infinities"
	}
	return false
}

// among puts the values among what fill gives, at every fifth place.
func among(values []float64, fill func(*rand.Rand, int) float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, i int) float64 {
		v := fill(r, i) // always, since some fill in order
		if i%5 == 3 || i == 0 {
			return values[i/5%len(values)]
		}
		return v
	}
}
