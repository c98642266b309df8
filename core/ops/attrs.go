package ops

import (
	"fmt"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// optInt, optReal, optText and optInts describe attributes with a default,
// needInt, needReal, needText and needInts ones that must be given.
func optInt(name string, def int64, summary string) Attr {
	return Attr{name, Int, AttrValue{Type: Int, Int: def}, summary}
}

func optReal(name string, def float64, summary string) Attr {
	return Attr{name, Real, AttrValue{Type: Real, Real: def}, summary}
}

func optText(name, def, summary string) Attr {
	return Attr{name, Text, AttrValue{Type: Text, Text: def}, summary}
}

func optInts(name, summary string, def ...int64) Attr {
	return Attr{name, Ints, AttrValue{Type: Ints, Ints: def}, summary}
}

func needInt(name, summary string) Attr  { return Attr{Name: name, Type: Int, Summary: summary} }
func needReal(name, summary string) Attr { return Attr{Name: name, Type: Real, Summary: summary} }
func needText(name, summary string) Attr { return Attr{Name: name, Type: Text, Summary: summary} }
func needInts(name, summary string) Attr { return Attr{Name: name, Type: Ints, Summary: summary} }

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

// checkText finds out whether a text attribute has one of the values it may have.
func checkText(c *Call, name string, known ...string) error {
	for _, k := range known {
		if c.Text(name) == k {
			return nil
		}
	}
	return invalid("%s is %q, want one of %q", name, c.Text(name), known)
}

// checkFlag finds out whether an int attribute is 0 or 1.
func checkFlag(c *Call, name string) error {
	if v := c.Int(name); v != 0 && v != 1 {
		return invalid("%s is %d, want 0 or 1", name, v)
	}
	return nil
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

// wantI32 finds out whether optional input i, if given, is i32.
func wantI32(c *Call, i int) error {
	if c.Has(i) && c.In[i].DType != tensor.I32 {
		return invalid("%s must be i32", c.arg(i))
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
