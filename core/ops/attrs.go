package ops

import (
	"fmt"
	"math"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// optInt, optReal, optText and optInts describe attributes with a default,
// needInt, needReal, needText and needInts ones that must be given.
func optInt(name string, def int64, summary string) Attr {
	return Attr{name, Int, AttrValue{Type: Int, Int: def}, summary, ofType(Int)}
}

func optReal(name string, def float64, summary string) Attr {
	return Attr{name, Real, AttrValue{Type: Real, Real: def}, summary, ofType(Real)}
}

func optText(name, def, summary string) Attr {
	return Attr{name, Text, AttrValue{Type: Text, Text: def}, summary, ofType(Text)}
}

func optInts(name, summary string, def ...int64) Attr {
	return Attr{name, Ints, AttrValue{Type: Ints, Ints: def}, summary, ofType(Ints)}
}

func needInt(name, summary string) Attr  { return need(name, Int, summary) }
func needReal(name, summary string) Attr { return need(name, Real, summary) }
func needText(name, summary string) Attr { return need(name, Text, summary) }
func needInts(name, summary string) Attr { return need(name, Ints, summary) }

func need(name string, t AttrType, summary string) Attr {
	return Attr{Name: name, Type: t, Summary: summary, limits: ofType(t)}
}

// axisAttr describes an attribute that names an axis.
func axisAttr(def int64, summary string) Attr {
	return optInt("axis", def, summary).from(-tensor.MaxRank, tensor.MaxRank-1)
}

func needAxis() Attr {
	return needInt("axis", "the axis; negative counts from the end").from(-tensor.MaxRank, tensor.MaxRank-1)
}

// flagAttr describes an attribute that is 0 or 1.
func flagAttr(name string, def int64, summary string) Attr {
	return optInt(name, def, summary).from(0, 1)
}

// epsAttr describes what is added to a variance or a mean square.
func epsAttr(summary string) Attr {
	return optReal("eps", 1e-5, summary).from(0, math.MaxFloat32)
}

// Axis gives the attribute "axis" counted from the front. It is right once Infer
// has run.
func (c *Call) Axis() int {
	axis := c.Int("axis")
	if axis < 0 {
		axis += int64(len(c.In[0].Shape))
	}
	return int(axis)
}

// checkAxis finds out whether input 0 has the axis that the attribute "axis" names.
func checkAxis(c *Call) (int, error) {
	rank := int64(len(c.In[0].Shape))
	if axis := c.Int("axis"); axis < -rank || axis >= rank {
		return 0, invalid("axis is %d, want %d to %d for %s", axis, -rank, rank-1, c.arg(0))
	}
	return c.Axis(), nil
}

// arg names input i with its type, for messages.
func (c *Call) arg(i int) string {
	return fmt.Sprintf("input %q %v", c.Op.InputSpec(i).Name, c.In[i])
}

func invalid(format string, args ...any) error {
	return status.Errorf(status.InvalidArgument, format, args...)
}

func mismatch(format string, args ...any) error {
	return status.Errorf(status.ShapeMismatch, format, args...)
}

// wantShape finds out whether optional input i, if given, has the shape that
// another input asks for.
func wantShape(c *Call, i int, because int, want ...int64) error {
	if c.Has(i) && !c.In[i].Shape.Equal(want) {
		return mismatch("%s must have shape %v to fit %s", c.arg(i), tensor.Shape(want), c.arg(because))
	}
	return nil
}

// wantPlain finds out whether the inputs are stored element by element, which
// moving elements about needs.
func wantPlain(c *Call) error {
	for i, t := range c.In {
		if t.DType.Quantised() {
			return invalid("%s is quantised: its elements cannot be moved one by one", c.arg(i))
		}
	}
	return nil
}

// f32 is the type of one f32 output.
func f32(shape tensor.Shape) []tensor.Type {
	return []tensor.Type{{DType: tensor.F32, Shape: shape}}
}

// sameAsFirst is the shape rule of operators whose result is like their first input.
func sameAsFirst(c *Call) ([]tensor.Type, error) { return f32(c.In[0].Shape), nil }

// replaced gives a shape with one dimension changed.
func replaced(s tensor.Shape, axis int, d int64) tensor.Shape {
	out := append(tensor.Shape{}, s...)
	out[axis] = d
	return out
}

// without gives a shape without one dimension.
func without(s tensor.Shape, axis int) tensor.Shape {
	return append(append(tensor.Shape{}, s[:axis]...), s[axis+1:]...)
}
