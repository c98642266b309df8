package weights

import (
	"fmt"
	"strings"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Rule says in which type tensors are stored whose names match: f32, f16, bf16, or
// a quantised type.
type Rule struct {
	// Pattern is a name in which "*" stands for any text and "?" for one byte.
	Pattern string
	DType   tensor.DType
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
	case !quant.CanDecode(r.DType):
		return status.Errorf(status.InvalidArgument, "%q cannot be stored as %v: no type of real numbers", r.Pattern, r.DType)
	case !quant.CanEncode(r.DType) && !encoder:
		return status.Errorf(status.Unsupported, "%q cannot be stored as %v: it takes ggml, which was not found", r.Pattern, r.DType)
	}
	return nil
}

func (r Rule) wild() bool { return strings.ContainsAny(r.Pattern, "*?") }

// matches says whether a name is what a pattern says.
func matches(pattern, name string) bool {
	// The last star, and where in the name what it stands for ends so far.
	star, end := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, end = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			end++
			p, n = star+1, end
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Stored is what became of a tensor when it was opened.
type Stored struct {
	Name string
	From tensor.Type  // in the file
	As   tensor.DType // in memory
	// Placement is Copied or Mapped; what was converted is copied.
	Placement Placement
	// Note says why a rule that matched was not followed to the letter.
	Note string
}

// storeAs chooses the type of a tensor by the rules, with a note where the one
// that matches cannot be followed.
func storeAs(name string, t tensor.Type, rules []Rule) (as tensor.DType, note string) {
	for _, r := range rules {
		if !matches(r.Pattern, name) {
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
