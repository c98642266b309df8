package ops

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// limits are the values that an attribute may have. Each constructor of an [Attr]
// sets those of its type; from, atLeast, orInfinite, ieee and oneOf narrow or widen them.
type limits struct {
	// A number, and each number of a list, lies between these; an infinite one is no
	// limit, which ints count as none and floats as taking that infinity.
	min, max float64
	nan      bool     // a float may be NaN
	words    []string // what a string is one of; none: anything
}

// maxInt32 bounds what devices keep in 32 bits.
const maxInt32 = math.MaxInt32

// ofType gives the limits of a type: every int, every float that is finite in f32,
// every string.
func ofType(t AttrType) limits {
	if t == Real || t == Reals {
		return limits{min: -math.MaxFloat32, max: math.MaxFloat32}
	}
	return limits{min: math.Inf(-1), max: math.Inf(1)}
}

// from has an attribute lie between two numbers, both at most 2^53.
func (a Attr) from(least, most float64) Attr {
	a.limits.min, a.limits.max = least, most
	return a
}

// atLeast has an int attribute be some number or more.
func (a Attr) atLeast(least float64) Attr { return a.from(least, math.Inf(1)) }

// orInfinite lets a float attribute be infinite, too.
func (a Attr) orInfinite() Attr { return a.from(math.Inf(-1), math.Inf(1)) }

// ieee lets a float attribute be any number, infinities and NaN included.
func (a Attr) ieee() Attr {
	a = a.orInfinite()
	a.limits.nan = true
	return a
}

// oneOf has a string attribute be one of a few words.
func (a Attr) oneOf(words ...string) Attr {
	a.limits.words = words
	return a
}

// check finds a value that the attribute may not have.
func (a *Attr) check(v AttrValue) error {
	switch a.Type {
	case Int:
		if !a.takesInt(v.Int) {
			return invalid("%s is %d, want %s", a.Name, v.Int, a.Limits())
		}
	case Real:
		if !a.takesReal(v.Real) {
			return invalid("%s is %v, want %s", a.Name, v.Real, a.Limits())
		}
	case Text:
		if !a.takesText(v.Text) {
			return invalid("%s is %q, want one of %q", a.Name, v.Text, a.limits.words)
		}
	case Ints:
		for i, n := range v.Ints {
			if !a.takesInt(n) {
				return invalid("%s is %v, value %d is %d, want %s", a.Name, v.Ints, i, n, a.Limits())
			}
		}
	case Reals:
		for i, n := range v.Reals {
			if !a.takesReal(n) {
				return invalid("%s: value %d is %v, want %s", a.Name, i, n, a.Limits())
			}
		}
	case noAttr:
	}
	return nil
}

func (a *Attr) takesInt(n int64) bool {
	return float64(n) >= a.limits.min && float64(n) <= a.limits.max
}

// takesReal refuses, too, what only becomes infinite in f32, in which devices compute.
func (a *Attr) takesReal(f float64) bool {
	if math.IsNaN(f) {
		return a.limits.nan
	}
	if !math.IsInf(f, 0) {
		if f = float64(float32(f)); math.IsInf(f, 0) {
			return false
		}
	}
	return f >= a.limits.min && f <= a.limits.max
}

func (a *Attr) takesText(word string) bool {
	return a.limits.words == nil || slices.Contains(a.limits.words, word)
}

// Limits tells which values the attribute may have, "" where any of its type.
func (a *Attr) Limits() string {
	low, high := math.IsInf(a.limits.min, -1), math.IsInf(a.limits.max, 1)
	switch a.Type {
	case Int, Ints:
		switch {
		case low && high:
			return ""
		case high:
			return whole(a.limits.min) + " or more"
		}
		return whole(a.limits.min) + " to " + whole(a.limits.max)
	case Real, Reals:
		low, high := low || a.limits.min == -math.MaxFloat32, high || a.limits.max == math.MaxFloat32
		var words []string
		switch {
		case low && high:
			words = append(words, "finite in f32")
		case high:
			words = append(words, limit(a.limits.min)+" or more, finite in f32")
		default:
			words = append(words, limit(a.limits.min)+" to "+limit(a.limits.max))
		}
		if math.IsInf(a.limits.max, 1) {
			words = append(words, "infinite")
		}
		if a.limits.nan {
			words = append(words, "NaN")
		}
		return strings.Join(words, " or ")
	case Text:
		words := make([]string, len(a.limits.words))
		for i, w := range a.limits.words {
			words[i] = strconv.Quote(w)
		}
		return strings.Join(words, ", ")
	case noAttr:
	}
	return ""
}

// Text is the summary with the limits.
func (a *Attr) Text() string {
	if limits := a.Limits(); limits != "" {
		return a.Summary + " (" + limits + ")"
	}
	return a.Summary
}

func whole(f float64) string { return strconv.FormatInt(int64(f), 10) }

func limit(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// checkAttrs finds an attribute with a value that it may not have.
func (c *Call) checkAttrs() error {
	for i := range c.Op.Attrs {
		if err := c.Op.Attrs[i].check(c.attrs[i]); err != nil {
			return err
		}
	}
	return nil
}
