package modelfile

import (
	"fmt"
	"strings"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Rule says in which type tensors are stored whose names match, and what they are
// called. Of the rules that match a tensor the first with a type counts for its
// type, the first with a name for its name.
type Rule struct {
	// Pattern is a name in the file, in which "*" stands for any text, the shortest
	// that will do, and "?" for one byte.
	Pattern string
	// DType is f32, f16, bf16, or a quantised type; 0: as in the file.
	DType tensor.DType
	// Rename is the tensor's new name, in which each "*" is what that of the pattern
	// stood for; "": as in the file.
	Rename string
	// Skip leaves the tensors out. It stands alone, in the place of a type.
	Skip bool
}

// fallbacks are the types that take rows which a type does not, with no fewer bits
// an element. A row that no block fits is stored as f16, or stays bf16.
var fallbacks = map[tensor.DType]tensor.DType{
	tensor.Q2_K: tensor.IQ4NL, tensor.Q3_K: tensor.IQ4NL, tensor.Q4_K: tensor.Q5_0,
	tensor.Q5_K: tensor.Q5_1, tensor.Q6_K: tensor.Q8_0,
}

func (r Rule) check(encoder bool) error {
	switch {
	case r.Pattern == "":
		return status.Errorf(status.InvalidArgument, "the pattern is empty")
	case strings.Count(r.Rename, "*") > strings.Count(r.Pattern, "*"):
		return status.Errorf(status.InvalidArgument, "the new name %q has more stars than the pattern %q", r.Rename, r.Pattern)
	case r.Skip && (r.DType != 0 || r.Rename != ""):
		return status.Errorf(status.InvalidArgument, "%q is to be skipped, and has a type or a name", r.Pattern)
	case r.DType == 0:
		return nil
	case !quant.CanDecode(r.DType):
		return status.Errorf(status.InvalidArgument, "%q cannot be stored as %v: no type of real numbers", r.Pattern, r.DType)
	case r.NeedsEncoder() && !encoder:
		return status.Errorf(status.Unsupported, "%q cannot be stored as %v: it takes ggml, which was not found", r.Pattern, r.DType)
	}
	return nil
}

// NeedsEncoder says whether the rule's type takes an [Encoder].
func (r Rule) NeedsEncoder() bool { return quant.CanDecode(r.DType) && !quant.CanEncode(r.DType) }

func (r Rule) wild() bool { return strings.ContainsAny(r.Pattern, "*?") }

// rename gives a tensor's name by the rules.
func rename(name string, rules []Rule) string {
	for _, r := range rules {
		if r.Rename == "" {
			continue
		}
		stars, ok := weights.Match(r.Pattern, name)
		if !ok {
			continue
		}
		parts := strings.SplitAfter(r.Rename, "*")
		for i, part := range parts {
			if i < len(parts)-1 {
				parts[i] = part[:len(part)-1] + stars[i]
			}
		}
		return strings.Join(parts, "")
	}
	return name
}

// skips says whether the rules leave a tensor out.
func skips(name string, rules []Rule) bool {
	for _, r := range rules {
		if _, ok := weights.Match(r.Pattern, name); ok && (r.Skip || r.DType != 0) {
			return r.Skip
		}
	}
	return false
}

// storeAs chooses the type of a tensor by the rules, with a note where the one
// that matches cannot be followed.
func storeAs(name string, t tensor.Type, rules []Rule) (as tensor.DType, note string) {
	for _, r := range rules {
		if _, ok := weights.Match(r.Pattern, name); !ok || r.DType == 0 {
			continue
		}
		switch {
		case r.DType == t.DType:
			return t.DType, ""
		case !quant.CanDecode(t.DType):
			return t.DType, "holds whole numbers"
		case len(t.Shape) < 2 && r.wild():
			return t.DType, "has a single dimension: only a rule with its very name converts it"
		}
		as = fitting(r.DType, t)
		if as != r.DType {
			note = fmt.Sprintf("rows of %d do not fit %v", t.Shape.Dim(-1), r.DType)
		}
		return as, note
	}
	return t.DType, ""
}

// fitting is a type, or the one after it that takes the tensor's rows.
func fitting(d tensor.DType, t tensor.Type) tensor.DType {
	for d.Quantised() {
		if (tensor.Type{DType: d, Shape: t.Shape}).Check(true) == nil {
			return d
		}
		next, ok := fallbacks[d]
		if !ok {
			if t.DType == tensor.BF16 {
				return tensor.BF16
			}
			return tensor.F16
		}
		d = next
	}
	return d
}
