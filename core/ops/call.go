package ops

import (
	"math"
	"strings"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Bind resolves the attributes that a caller gave against the operator's: every
// name known and given once, every value of the right type, defaults filled in.
func (op *Op) Bind(args []AttrArg) ([]AttrValue, error) {
	values := make([]AttrValue, len(op.Attrs))
	given := make([]bool, len(op.Attrs))
	for _, a := range args {
		i := op.attrIndex(a.Name)
		if i < 0 {
			return nil, status.Errorf(status.NotFound, "unknown attribute %q%s", a.Name, suggestion(a.Name, op.attrNames()))
		}
		if given[i] {
			return nil, status.Errorf(status.InvalidArgument, "attribute %q is given twice", a.Name)
		}
		v, want := a.Value, op.Attrs[i].Type
		if v.Type == Int && want == Real {
			v = AttrValue{Type: Real, Real: float64(v.Int)}
		}
		if v.Type != want {
			return nil, status.Errorf(status.InvalidArgument, "attribute %q is of type %v, want %v", a.Name, v.Type, want)
		}
		values[i], given[i] = v, true
	}
	for i, a := range op.Attrs {
		if given[i] {
			continue
		}
		if a.Default.Type == noAttr {
			return nil, status.Errorf(status.InvalidArgument, "attribute %q (%v) is missing", a.Name, a.Type)
		}
		values[i] = a.Default
	}
	return values, nil
}

// NewCall checks the attributes' values and the inputs' number, dtypes and ranks, runs
// the shape rule and checks what it gave.
func (op *Op) NewCall(in []tensor.Type, attrs []AttrValue) (*Call, error) {
	c := &Call{Op: op, In: in, attrs: attrs}
	if err := c.checkAttrs(); err != nil {
		return nil, err
	}
	if err := op.checkInputs(in); err != nil {
		return nil, err
	}
	out, err := op.Infer(c)
	if err != nil {
		return nil, err
	}
	for _, t := range out {
		if err := t.Check(false); err != nil {
			return nil, status.Wrapf(err, "result")
		}
	}
	c.Out = out
	return c, nil
}

// InputSpec gives the description of the i-th input of a call; inputs beyond
// the last described one belong to it where it is variadic.
func (op *Op) InputSpec(i int) *Input {
	if last := len(op.Inputs) - 1; i > last && last >= 0 && op.Inputs[last].Variadic {
		i = last
	}
	if i >= len(op.Inputs) {
		return nil
	}
	return &op.Inputs[i]
}

func (op *Op) checkInputs(in []tensor.Type) error {
	for i, t := range in {
		spec := op.InputSpec(i)
		if spec == nil {
			return status.Errorf(status.InvalidArgument, "%d inputs are given, at most %d are taken (%s)",
				len(in), len(op.Inputs), op.inputNames())
		}
		if t.DType == 0 {
			if !spec.Optional {
				return status.Errorf(status.InvalidArgument, "input %q is missing", spec.Name)
			}
			continue
		}
		if !spec.DTypes.Accepts(t.DType) {
			return status.Errorf(status.InvalidArgument, "input %q is %v, want %v", spec.Name, t, spec.DTypes)
		}
		maxRank := spec.MaxRank
		if maxRank == 0 {
			maxRank = tensor.MaxRank
		}
		if r := len(t.Shape); r < spec.MinRank || r > maxRank {
			return status.Errorf(status.ShapeMismatch, "input %q is %v with %d dimensions, want %d to %d",
				spec.Name, t, r, spec.MinRank, maxRank)
		}
	}
	for i := len(in); i < len(op.Inputs); i++ {
		if !op.Inputs[i].Optional {
			return status.Errorf(status.InvalidArgument, "input %q is missing: %d inputs are given (%s)",
				op.Inputs[i].Name, len(in), op.inputNames())
		}
	}
	return nil
}

func (op *Op) attrIndex(name string) int {
	for i := range op.Attrs {
		if op.Attrs[i].Name == name {
			return i
		}
	}
	return -1
}

func (op *Op) attrNames() []string {
	names := make([]string, len(op.Attrs))
	for i := range op.Attrs {
		names[i] = op.Attrs[i].Name
	}
	return names
}

func (op *Op) inputNames() string {
	names := make([]string, len(op.Inputs))
	for i, in := range op.Inputs {
		names[i] = in.Name
		if in.Variadic {
			names[i] += "..."
		}
		if in.Optional {
			names[i] = "[" + names[i] + "]"
		}
	}
	return strings.Join(names, ", ")
}

// suggestion ends a message about an unknown name with the known ones that
// begin alike or, where few are known, with all of them.
func suggestion(name string, known []string) string {
	const few = 12
	var like []string
	for _, k := range known {
		if len(name) >= 3 && len(k) >= 3 && strings.EqualFold(name[:3], k[:3]) {
			like = append(like, k)
		}
	}
	switch {
	case len(like) > 0 && len(like) <= few:
		return "; did you mean " + strings.Join(like, ", ") + "?"
	case len(known) == 0:
		return "; there are none"
	case len(known) <= few:
		return "; known: " + strings.Join(known, ", ")
	}
	return ""
}

// Tolerance is the error, relative to the largest magnitude of the exact result
// and at least to 1, that is allowed to a backend in this call: the operator's,
// and where an input is f16 or bf16 and more is done than moving numbers, what
// it costs to round the other input to the same dtype, as devices do to multiply
// the two. A result of such a dtype may be off by its own rounding. With quantised
// weights kernels quantise the other factor, too.
//
// productBits is what the backend keeps of the factors of f32 products, 24 for all.
func (c *Call) Tolerance(productBits int) float64 {
	t := c.Op.Tolerance
	// Each factor is off by up to half a unit in the last place that it keeps.
	t = max(t, 4*math.Ldexp(c.Op.Products, -productBits))
	for _, in := range c.In {
		if t <= exact {
			if in.DType.Quantised() { // scale * q + least may be rounded once or twice
				return 1e-6
			}
			continue
		}
		switch in.DType {
		case tensor.F16:
			t = max(t, 2e-3)
		case tensor.BF16:
			t = max(t, 1.6e-2)
		default:
			if in.DType.Quantised() {
				t = max(t, 2e-2)
			}
		}
	}
	return t
}
