package graph

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"qtsaccel/core/abi"
	"qtsaccel/core/status"
)

// sizes are the dynamic dimensions of a graph and the expressions of them, with the
// numbers that stand for them in shapes and attributes.
type sizes struct {
	first uint64 // the number of expression 0, counted from firstToken
	dims  []Dim
	atoms []atom
	exprs []expr
}

// Plain numbers stand for themselves: those up to maxPlain in magnitude, which is beyond
// any size that memory holds, and those that are as near to the ends of int64, which say
// "to the end of the axis".
const maxPlain = 1 << 48

// The numbers of expressions lie in a sixteenth of the int64s, where no plain number is,
// nor -1, 2, 3 or 4 times one of them, or the sum of two. They follow one another in
// steps of the golden ratio, so that the difference of any two of a thousand is no plain
// number, either, and that a number that was computed from one, or is of another graph,
// is none: it would have an index that no graph has.
const (
	firstToken  = -11 << 59
	tokens      = 1 << 60
	tokenStride = 0x9E3779B97F4A7C1 // odd
)

var (
	// inverse undoes the multiplication with tokenStride modulo 2^64.
	inverse = func() uint64 {
		x := uint64(tokenStride)
		for range 6 {
			x *= 2 - tokenStride*x
		}
		return x
	}()
	graphs atomic.Uint64 // made in this process
)

// firstOf gives graphs numbers that are far from one another.
func firstOf(graph uint64) uint64 {
	x := (graph + 1) * 0xBF58476D1CE4E5B9
	x ^= x >> 31
	x *= 0x94D049BB133111EB
	return (x ^ x>>29) % tokens
}

func isPlain(n int64) bool {
	return n >= -maxPlain && n <= maxPlain || n <= math.MinInt64+maxPlain || n >= math.MaxInt64-maxPlain
}

// number is what stands for expression i.
func (z *sizes) number(i int) int64 {
	return firstToken + int64((z.first+uint64(i)*tokenStride)%tokens)
}

// expr gives the expression that a number stands for, nil for a plain number.
func (z *sizes) expr(n int64) (expr, error) {
	if isPlain(n) {
		return nil, nil
	}
	if n >= firstToken && n-firstToken < tokens {
		if i := (uint64(n-firstToken) - z.first) * inverse % tokens; i < uint64(len(z.exprs)) {
			return z.exprs[i], nil
		}
	}
	return nil, status.Errorf(status.InvalidArgument, "%d is neither a plain number, up to 2^48, nor a dynamic dimension "+
		"of this graph: one of another graph, or computed from a dimension's number; qtsa_graph_dim_op makes expressions", n)
}

// asExpr is expr for plain numbers, too.
func (z *sizes) asExpr(n int64) (expr, error) {
	if isPlain(n) {
		return constant(n), nil
	}
	return z.expr(n)
}

// text writes an expression: "2*n + 1".
func (z *sizes) text(e expr) string {
	if len(e) == 0 {
		return "0"
	}
	// "10 - n" reads better than "-n + 10".
	at := max(slices.IndexFunc(e, func(t term) bool { return t.factor > 0 }), 0)
	var b strings.Builder
	for i, t := range slices.Concat(e[at:at+1], e[:at], e[at+1:]) {
		switch {
		case i == 0 && t.factor < 0:
			b.WriteString("-")
		case i > 0 && t.factor < 0:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		var factors []string
		if m := magnitude(t.factor); m != 1 || len(t.atoms) == 0 {
			factors = append(factors, strconv.FormatUint(m, 10))
		}
		for _, a := range t.atoms {
			factors = append(factors, z.atomText(a, len(t.atoms) > 1 || len(factors) > 0))
		}
		b.WriteString(strings.Join(factors, "*"))
	}
	return b.String()
}

// operand is text in parentheses where it needs them.
func (z *sizes) operand(e expr) string {
	if len(e) > 1 {
		return "(" + z.text(e) + ")"
	}
	return z.text(e)
}

func (z *sizes) atomText(i int, within bool) string {
	a := &z.atoms[i]
	if a.den == nil {
		return z.dims[a.dim].Name
	}
	num, den := z.text(a.num), z.text(a.den)
	if len(a.num) > 1 || a.num[0].factor < 0 {
		num = "(" + num + ")"
	}
	if _, ok := a.den.constant(); !ok && (len(a.den) > 1 || len(a.den[0].atoms) > 1 || a.den[0].factor != 1) {
		den = "(" + den + ")"
	}
	if within {
		return "(" + num + "/" + den + ")"
	}
	return num + "/" + den
}

// value computes an expression for values of the dynamic dimensions.
func (z *sizes) value(e expr, dims []int64) (int64, error) {
	total := int64(0)
	for _, t := range e {
		v := t.factor
		for _, a := range t.atoms {
			x, err := z.atomValue(a, dims)
			if err != nil {
				return 0, err
			}
			var ok bool
			if v, ok = mulExact(v, x); !ok {
				return 0, status.Errorf(status.InvalidArgument, "%q overflows", z.text(e))
			}
		}
		var ok bool
		if total, ok = addExact(total, v); !ok {
			return 0, status.Errorf(status.InvalidArgument, "%q overflows", z.text(e))
		}
	}
	return total, nil
}

func (z *sizes) atomValue(i int, dims []int64) (int64, error) {
	a := &z.atoms[i]
	if a.den == nil {
		return dims[a.dim], nil
	}
	num, err := z.value(a.num, dims)
	if err != nil {
		return 0, err
	}
	den, err := z.value(a.den, dims)
	if err != nil {
		return 0, err
	}
	if den == 0 || num == math.MinInt64 || num%den != 0 {
		return 0, status.Errorf(status.InvalidArgument, "%q is %d/%d, which is no whole number", z.atomText(i, false), num, den)
	}
	return num / den, nil
}

// DimOp says how [Graph.DimOp] joins two sizes. The values are the header's QTSA_DIM_*.
type DimOp int32

// The operations.
const (
	DimAdd DimOp = abi.DimAdd
	DimSub DimOp = abi.DimSub
	DimMul DimOp = abi.DimMul
	DimDiv DimOp = abi.DimDiv
)

// DimOp gives the number that stands for an expression of two sizes, which are plain
// numbers or stand for dynamic dimensions and expressions of the graph.
func (g *Graph) DimOp(op DimOp, a, b int64) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if op < DimAdd || op > DimDiv {
		return 0, g.errorf(status.InvalidArgument, "operation %d of sizes is none of QTSA_DIM_*, 1 to 4", int32(op))
	}
	z := &g.data.sizes
	x, err := z.asExpr(a)
	if err != nil {
		return 0, g.wrap(err)
	}
	y, err := z.asExpr(b)
	if err != nil {
		return 0, g.wrap(err)
	}
	var e expr
	switch op {
	case DimAdd:
		e, err = x.plus(y)
	case DimSub:
		if y, err = y.times(constant(-1)); err == nil {
			e, err = x.plus(y)
		}
	case DimMul:
		e, err = x.times(y)
	case DimDiv:
		e, err = g.quotient(x, y)
	}
	var n int64
	if err == nil {
		n, err = g.intern(e)
	}
	if err != nil {
		return 0, g.wrap(status.Wrapf(err, "%s %c %s", z.operand(x), "+-*/"[op-DimAdd], z.operand(y)))
	}
	return n, nil
}

// quotient is num / den, an atom unless it is known to leave no rest.
func (g *Graph) quotient(num, den expr) (expr, error) {
	if len(den) == 0 {
		return nil, status.Errorf(status.InvalidArgument, "it is a division by 0")
	}
	if e, ok := num.dividedBy(den); ok {
		return e, nil
	}
	if _, ok := num.constant(); ok {
		if _, ok := den.constant(); ok {
			return nil, status.Errorf(status.InvalidArgument, "it leaves a rest")
		}
	}
	num, den = reduced(num, den)
	size := g.data.size(num) + g.data.size(den)
	if size > maxSize {
		return nil, errTooLong
	}
	i, err := g.atom(num.key()+"/ "+den.key(), atom{num: num, den: den, size: size})
	return expr{{1, []int{i}}}, err
}

// size is how many atoms an expression is made of.
func (z *sizes) size(e expr) int {
	size := 1
	for _, t := range e {
		for _, a := range t.atoms {
			size += z.atoms[a].size
		}
	}
	return size
}

var errTooLong = status.Errorf(status.InvalidArgument, "it is too long an expression: at most %d terms are possible, of at most %d parts",
	maxTerms, maxSize)

// maxExprs bounds what a graph keeps of expressions.
const maxExprs = 1 << 16

func (g *Graph) atom(key string, a atom) (int, error) {
	if i, ok := g.atoms[key]; ok {
		return i, nil
	}
	if len(g.data.atoms) == maxExprs {
		return 0, status.Errorf(status.InvalidArgument, "the graph has %d expressions, more are not possible", maxExprs)
	}
	i := len(g.data.atoms)
	g.data.atoms, g.atoms[key] = append(g.data.atoms, a), i
	return i, nil
}

// intern gives the number of an expression; the same for an equal one.
func (g *Graph) intern(e expr) (int64, error) {
	if n, ok := e.constant(); ok {
		if !isPlain(n) {
			return 0, status.Errorf(status.InvalidArgument, "it is %d, beyond 2^48", n)
		}
		return n, nil
	}
	if g.data.size(e) > maxSize {
		return 0, errTooLong
	}
	key := e.key()
	i, ok := g.exprs[key]
	if !ok {
		if i = len(g.data.exprs); i == maxExprs {
			return 0, status.Errorf(status.InvalidArgument, "the graph has %d expressions, more are not possible", maxExprs)
		}
		g.data.exprs, g.exprs[key] = append(g.data.exprs, e), i
	}
	return g.data.number(i), nil
}

// DimText writes a size as messages have it.
func (g *Graph) DimText(n int64) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, err := g.data.asExpr(n)
	if err != nil {
		return "", g.wrap(err)
	}
	return g.data.text(e), nil
}

// MaxDims is the greatest number of dynamic dimensions of a graph.
const MaxDims = 64

// Dim is a dynamic dimension.
type Dim struct {
	Name     string
	Min, Max int64
}

// Dim declares a dynamic dimension and gives the number that stands for it.
func (g *Graph) Dim(name string, minimum, maximum int64) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.data.dims {
		if d.Name == name {
			return 0, g.errorf(status.AlreadyExists, "dynamic dimension %q is declared already", name)
		}
	}
	if minimum < 1 || maximum < minimum || maximum > maxPlain {
		return 0, g.errorf(status.InvalidArgument, "dynamic dimension %q ranges from %d to %d, want 1 <= min <= max <= 2^48",
			name, minimum, maximum)
	}
	i := len(g.data.dims)
	if i == MaxDims {
		return 0, g.errorf(status.InvalidArgument, "more than %d dynamic dimensions", MaxDims)
	}
	a, err := g.atom(fmt.Sprintf("dim %d", i), atom{dim: i, size: 1})
	if err != nil {
		return 0, g.wrap(err)
	}
	n, err := g.intern(expr{{1, []int{a}}})
	if err != nil {
		return 0, g.wrap(err)
	}
	g.data.dims = append(g.data.dims, Dim{name, minimum, maximum})
	g.low.dims = append(g.low.dims, minimum)
	g.high.dims = append(g.high.dims, maximum)
	// Anywhere between, differently for each.
	at, _ := bits.Mul64(uint64(i+1)*0x9E3779B97F4A7C15, uint64(maximum-minimum+1))
	g.between.dims = append(g.between.dims, minimum+int64(at))
	return n, nil
}
