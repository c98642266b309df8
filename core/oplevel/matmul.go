package oplevel

import (
	"unsafe"

	"qtsaccel/core/abi"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// Product is one product over a shared input: y [t, n_out] = activation(x W^T + bias).
type Product struct {
	Weight     *Matrix
	Bias       unsafe.Pointer // n_out float32, or nil
	Y          unsafe.Pointer // where t * n_out float32 go
	NOut       int64          // the weight's
	Activation Activation
}

// Activation is what is applied to a product's result; the values are the header's.
type Activation int32

// The activations.
const (
	Identity    Activation = abi.ActivationNone
	ReLU        Activation = abi.ActivationRelu
	SiLU        Activation = abi.ActivationSilu
	GELU        Activation = abi.ActivationGelu     // with the error function
	GELUTanh    Activation = abi.ActivationGeluTanh // its approximation
	Sigmoid     Activation = abi.ActivationSigmoid
	Tanh        Activation = abi.ActivationTanh
	activations            = Tanh + 1
)

func (b *builder) activate(x ops.Ref, a Activation) ops.Ref {
	in := []ops.Ref{x}
	switch a {
	case ReLU:
		return b.op("relu", in)
	case SiLU:
		return b.op("silu", in)
	case GELU:
		return b.op("gelu", in)
	case GELUTanh:
		return b.op("gelu", in, ops.TextAttr("approximate", "tanh"))
	case Sigmoid:
		return b.op("sigmoid", in)
	case Tanh:
		return b.op("tanh", in)
	default: // Identity
		return x
	}
}

// productName is how messages call product i of a call; -1: the only one.
func productName(i int) string {
	if i < 0 {
		return "product"
	}
	return "product " + itoa(i)
}

// check says what is wrong with product i over rows of n_in.
func (j *Product) check(c *Calls, i int, nIn int64) error {
	w := j.Weight
	switch {
	case w == nil:
		return status.Errorf(status.InvalidHandle, "%s has no weight", productName(i))
	case w.calls != c:
		return status.Errorf(status.InvalidArgument, "%s has a weight of another backend (%s), not of this one (%s)",
			productName(i), w.calls.info.Name, c.info.Name)
	case j.Activation < Identity || j.Activation >= activations:
		return status.Errorf(status.InvalidArgument, "%s has activation %d, want 0 to %d", productName(i), int32(j.Activation), int32(activations)-1)
	case w.nIn() != nIn:
		return status.Errorf(status.ShapeMismatch, "%s has a weight %v%v, which takes rows of %d, not of %d",
			productName(i), w.dtype(), w.shape, w.nIn(), nIn)
	case w.nOut() != j.NOut:
		return status.Errorf(status.ShapeMismatch, "%s has n_out %d, its weight %v%v has %d", productName(i), j.NOut, w.dtype(), w.shape, w.nOut())
	}
	return nil
}

// Matmul multiplies x [t, n_in] with the weight of each product, in one submission that
// uploads x once. t = 0 succeeds and does nothing.
func (c *Calls) Matmul(x unsafe.Pointer, t, nIn int64, products []Product, flags Flags) error {
	empty, err := c.checkMatmul(x, t, nIn, products, flags)
	if err != nil {
		return status.Wrapf(err, "matmul")
	}
	if empty {
		return nil
	}
	r := c.begin("matmul", flags)
	defer c.end(r)
	return c.matmul(r, x, t, nIn, products)
}

func (c *Calls) matmul(r *request, x unsafe.Pointer, t, nIn int64, products []Product) error {
	r.numbers(t, nIn, int64(len(products)))
	r.floats(x, t*nIn)
	var takes inputRange
	for i := range products {
		j := &products[i]
		r.matrix(j.Weight)
		r.numbers(int64(j.Activation))
		r.flag(j.Bias != nil)
		if j.Bias != nil {
			r.floats(j.Bias, j.NOut)
		}
		r.output(j.Y, 4*t*j.NOut)
		r.shape(t, nIn)
		r.shape(j.NOut, nIn)
		r.shape(t, j.NOut)
		r.countWork(linearOp, 2)
		takes = takes.and(rangeOf(j.Weight.dtype()))
	}
	widen := c.loses(takes, x, t, nIn)
	r.flag(widen)
	return c.run(r, func(b *builder) {
		in := b.input(f32(t, nIn))
		for i := range products {
			b.output(b.product(in, &products[i], widen))
		}
	})
}

// product multiplies rows with a product's weight, and does the rest of the product.
func (b *builder) product(rows ops.Ref, j *Product, widen bool) ops.Ref {
	in := []ops.Ref{rows, b.rows(j.Weight, widen)}
	if j.Bias != nil {
		in = append(in, b.input(f32(j.NOut)))
	}
	return b.activate(b.op("linear", in), j.Activation)
}

func (c *Calls) checkMatmul(x unsafe.Pointer, t, nIn int64, products []Product, flags Flags) (empty bool, err error) {
	if err := flags.check(); err != nil {
		return false, err
	}
	if err := atLeast("t", t, 0); err != nil {
		return false, err
	}
	if err := atLeast("n_in", nIn, 1); err != nil {
		return false, err
	}
	if len(products) == 0 {
		return false, status.Errorf(status.InvalidArgument, "n_products is 0, want 1 or more")
	}
	if err := notNull("x", x); err != nil && t > 0 {
		return false, err
	}
	xBytes, err := f32Bytes("x", 1, max(t, 1), nIn)
	if err != nil {
		return false, err
	}
	for i := range products {
		if err := products[i].checkIn(c, x, xBytes, t, nIn, products, i); err != nil {
			return false, err
		}
	}
	return t == 0, nil
}

// checkIn looks at product i, and at where its output goes.
func (j *Product) checkIn(c *Calls, x unsafe.Pointer, xBytes, t, nIn int64, products []Product, i int) error {
	if err := j.check(c, i, nIn); err != nil || t == 0 {
		return err
	}
	if j.Y == nil {
		return status.Errorf(status.InvalidArgument, "%s has y null", productName(i))
	}
	bytes, err := f32Bytes("y", 1, t, j.NOut)
	if err != nil {
		return status.Wrapf(err, "%s", productName(i))
	}
	y := regionOf("y of product", i, j.Y, bytes)
	if err := apart(y, regionOf("x", -1, x, xBytes)); err != nil {
		return err
	}
	for k := range products {
		if err := apart(y, regionOf("bias of product", k, products[k].Bias, 4*products[k].NOut)); err != nil {
			return err
		}
		if k < i {
			if err := apart(y, regionOf("y of product", k, products[k].Y, 4*t*products[k].NOut)); err != nil {
				return err
			}
		}
	}
	return nil
}
