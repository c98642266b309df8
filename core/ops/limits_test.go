package ops_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// beyond are values of a type that some attribute may not have; each attribute's limits
// say which.
func beyond(t ops.AttrType) []ops.AttrValue {
	ints := []int64{math.MinInt64, -1 << 40, -5, -2, -1, 0, 1, 2, 4, 1 << 31, 1 << 41, math.MaxInt64}
	reals := []float64{math.NaN(), math.Inf(-1), -1e300, -1, -1e-30, 0, 1e-40, 1, 1e300, math.Inf(1)}
	var values []ops.AttrValue
	for _, n := range ints {
		values = append(values, ops.AttrValue{Type: ops.Int, Int: n}, ops.AttrValue{Type: ops.Ints, Ints: []int64{1, n}})
	}
	for _, f := range reals {
		values = append(values, ops.AttrValue{Type: ops.Real, Real: f}, ops.AttrValue{Type: ops.Reals, Reals: []float64{f}})
	}
	values = append(values, ops.AttrValue{Type: ops.Text, Text: "f32"}, ops.AttrValue{Type: ops.Text}, ops.AttrValue{Type: ops.Text, Text: "NONE"})
	return slices.DeleteFunc(values, func(v ops.AttrValue) bool { return v.Type != t })
}

// allowed are the values above that the documented limits of an attribute let through.
func allowed(limits string, v ops.AttrValue) bool {
	between := func(low, high float64) func(f float64) bool {
		return func(f float64) bool { return f >= low && f <= high }
	}
	infinity := math.Inf(1)
	finite := between(-math.MaxFloat32, math.MaxFloat32)
	number, known := map[string]func(float64) bool{
		"":                                 between(-infinity, infinity),
		"-4 to 3":                          between(-4, 3),
		"0 to 1":                           between(0, 1),
		"-1 or more":                       between(-1, infinity),
		"0 or more":                        between(0, infinity),
		"1 or more":                        between(1, infinity),
		"1 to 65536":                       between(1, 1<<16),
		"0 to 1099511627776":               between(0, 1<<40),
		"0 to 2147483647":                  between(0, 1<<31-1),
		"1 to 2147483647":                  between(1, 1<<31-1),
		"finite in f32":                    finite,
		"finite in f32 or infinite":        func(f float64) bool { return finite(f) || math.IsInf(f, 0) },
		"finite in f32 or infinite or NaN": func(f float64) bool { return finite(f) || math.IsInf(f, 0) || math.IsNaN(f) },
		"0 or more, finite in f32":         between(0, math.MaxFloat32),
		"1.1754943508222875e-38 or more, finite in f32": between(0x1p-126, math.MaxFloat32),
	}[limits]
	switch {
	case v.Type == ops.Text:
		return v.Text == "f32" && limits == `"f32", "f16", "bf16", "i8", "i16", "i32", "i64"`
	case !known:
		panic("limits that this test does not know: " + limits)
	case v.Type == ops.Int:
		return number(float64(v.Int))
	case v.Type == ops.Real:
		return number(v.Real)
	case v.Type == ops.Ints:
		return !slices.ContainsFunc(v.Ints, func(n int64) bool { return !number(float64(n)) })
	}
	return !slices.ContainsFunc(v.Reals, func(f float64) bool { return !number(f) })
}

// Every attribute of the table refuses, with its name, what its documented limits leave
// out, before anything else of the call is looked at, and takes what they let in.
func TestEveryAttributeHasLimits(t *testing.T) {
	for _, name := range ops.Names() {
		op, err := ops.Lookup(name)
		require.NoError(t, err)
		for i := range op.Attrs {
			a := &op.Attrs[i]
			refused := 0
			for _, v := range beyond(a.Type) {
				attrs := make([]ops.AttrValue, len(op.Attrs))
				for k := range attrs {
					attrs[k] = right(&op.Attrs[k])
				}
				attrs[i] = v
				// An input too many is what is wrong with the call otherwise.
				_, err := op.NewCall(make([]tensor.Type, len(op.Inputs)+1), attrs)
				if allowed(a.Limits(), v) {
					if err != nil {
						require.NotContains(t, err.Error(), a.Name+" is", "%s: %+v", name, v)
					}
					continue
				}
				refused++
				require.Equal(t, status.InvalidArgument, status.Of(err), "%s: %s %+v: %v", name, a.Name, v, err)
				require.ErrorContains(t, err, a.Name+" is", name)
				require.ErrorContains(t, err, "want ", name)
			}
			if a.Limits() != "" && a.Limits() != "finite in f32 or infinite or NaN" {
				require.Positive(t, refused, "%s: %s", name, a.Name)
			}
		}
	}
}

// right is a value that an attribute may have.
func right(a *ops.Attr) ops.AttrValue {
	if a.Default.Type != 0 {
		return a.Default
	}
	for _, v := range append(beyond(a.Type), ops.AttrValue{Type: ops.Text, Text: "none"}) {
		if v.Type == a.Type && allowed(a.Limits(), v) {
			return v
		}
	}
	panic("no value is right for " + a.Name)
}

// A norm's eps below 0 or NaN never reaches a device, wherever it comes from.
func TestNormsRefuseEps(t *testing.T) {
	for name, attrs := range map[string][]ops.AttrArg{
		"rms_norm": nil, "layer_norm": nil, "group_norm": {ops.IntAttr("groups", 2)},
	} {
		for _, eps := range []ops.AttrArg{ops.RealAttr("eps", -1), ops.RealAttr("eps", math.NaN()), ops.RealAttr("eps", math.Inf(1)), ops.RealAttr("eps", 1e39), ops.IntAttr("eps", -1)} {
			err := infer(t, name, []tensor.Type{x(2, 4)}, append(attrs, eps)...)
			require.Equal(t, status.InvalidArgument, status.Of(err), "%s: %v", name, err)
			require.ErrorContains(t, err, "eps is", name)
		}
		require.NoError(t, infer(t, name, []tensor.Type{x(2, 4)}, append(attrs, ops.IntAttr("eps", 0))...))
	}
}
