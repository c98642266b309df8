package graph

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"qtsaccel/core/status"
)

// expr is a whole number that depends on dynamic dimensions: the sum of its terms, a
// polynomial of atoms. The form is normal, so that equal sums and products are the same
// expr; no terms are 0.
type expr []term

// term is a product of a number and atoms, which are indices of [sizes], sorted. An
// atom that stands twice is squared.
type term struct {
	factor int64
	atoms  []int
}

// atom is what terms are made of: a dynamic dimension, or a quotient of two expressions.
type atom struct {
	dim      int
	num, den expr // of a quotient
	size     int  // how many atoms it is made of, itself included
}

// maxTerms bounds an expression, and maxSize what its atoms are made of: products of
// sums and quotients of quotients would grow without end.
const (
	maxTerms = 64
	maxSize  = 1 << 10
)

func constant(n int64) expr {
	if n == 0 {
		return nil
	}
	return expr{{factor: n}}
}

// constant says whether the expression has the same value for all dimensions.
func (e expr) constant() (int64, bool) {
	switch {
	case len(e) == 0:
		return 0, true
	case len(e) == 1 && len(e[0].atoms) == 0:
		return e[0].factor, true
	}
	return 0, false
}

// key writes the expression so that two that are equal have equal keys. Unlike the text
// it does not depend on the names of dimensions.
func (e expr) key() string {
	var b strings.Builder
	for _, t := range e {
		b.WriteString(strconv.FormatInt(t.factor, 10))
		for _, a := range t.atoms {
			b.WriteString("*" + strconv.Itoa(a))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// order sorts terms: of the higher degree first, the number last.
func order(a, b term) int {
	if len(a.atoms) != len(b.atoms) {
		return len(b.atoms) - len(a.atoms)
	}
	return slices.Compare(a.atoms, b.atoms)
}

// sum brings terms into the normal form.
func sum(terms []term) (expr, error) {
	slices.SortStableFunc(terms, order)
	var e expr
	for _, t := range terms {
		last := len(e) - 1
		if last >= 0 && order(e[last], t) == 0 {
			f, ok := addExact(e[last].factor, t.factor)
			if !ok {
				return nil, errTooLarge
			}
			if e[last].factor = f; f == 0 {
				e = e[:last]
			}
			continue
		}
		if t.factor != 0 {
			e = append(e, t)
		}
	}
	if len(e) > maxTerms {
		return nil, errTooLong
	}
	return e, nil
}

var errTooLarge = status.Errorf(status.InvalidArgument, "it overflows")

func (e expr) plus(o expr) (expr, error) { return sum(slices.Concat(e, o)) }

func (e expr) times(o expr) (expr, error) {
	terms := make([]term, 0, len(e)*len(o))
	for _, a := range e {
		for _, b := range o {
			f, ok := mulExact(a.factor, b.factor)
			if !ok || len(a.atoms)+len(b.atoms) > maxTerms {
				return nil, errTooLarge
			}
			atoms := slices.Concat(a.atoms, b.atoms)
			slices.Sort(atoms)
			terms = append(terms, term{f, atoms})
		}
	}
	return sum(terms)
}

// dividedBy divides term by term where that leaves no rest whatever the dimensions are.
func (e expr) dividedBy(o expr) (expr, bool) {
	if len(e) == 0 {
		return nil, true
	}
	if len(o) != 1 {
		return constant(1), e.key() == o.key()
	}
	terms := make([]term, 0, len(e))
	for _, t := range e {
		if t.factor%o[0].factor != 0 {
			return nil, false
		}
		atoms := slices.Clone(t.atoms)
		for _, a := range o[0].atoms {
			i := slices.Index(atoms, a)
			if i < 0 {
				return nil, false
			}
			atoms = slices.Delete(atoms, i, i+1)
		}
		terms = append(terms, term{t.factor / o[0].factor, atoms})
	}
	quotient, err := sum(terms)
	return quotient, err == nil
}

// reduced divides both by what divides all their factors.
func reduced(num, den expr) (expr, expr) {
	var common uint64
	for _, e := range []expr{num, den} {
		for _, t := range e {
			for a, b := common, magnitude(t.factor); ; a, b = b, a%b {
				if b == 0 {
					common = a
					break
				}
			}
		}
	}
	if common < 2 || common > 1<<62 {
		return num, den
	}
	n, _ := num.dividedBy(constant(int64(common)))
	d, _ := den.dividedBy(constant(int64(common)))
	return n, d
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func addExact(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mulExact(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high != 0 || low > 1<<63-1 {
		return 0, false
	}
	return a * b, true
}
