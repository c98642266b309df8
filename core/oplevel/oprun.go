package oplevel

import (
	"unsafe"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Operand is an input or output of [Calls.OpRun]: host memory, or for an input a
// matrix. The zero Operand is an optional input left out.
type Operand struct {
	Type   tensor.Type // of the host's memory; a matrix has its own
	Data   unsafe.Pointer
	Matrix *Matrix
}

func (o *Operand) absent() bool { return o.Matrix == nil && o.Type.DType == 0 }

func (o *Operand) dtypeAndShape() (tensor.DType, tensor.Shape) {
	if o.Matrix != nil {
		return o.Matrix.dtype(), o.Matrix.shape
	}
	return o.Type.DType, o.Type.Shape
}

// Attributes are an operator's as the caller has them.
type Attributes struct {
	// AppendKey takes down what tells them from others.
	AppendKey func(key []byte) []byte
	// Read gives them, for a call that is met first.
	Read func() ([]ops.AttrArg, error)
}

// OpRun runs any operator of the table but those that work on state.
func (c *Calls) OpRun(name string, in []Operand, attrs Attributes, out []Operand, flags Flags) error {
	if err := c.checkOpRun(in, out, flags); err != nil {
		return status.Wrapf(err, "%q", name)
	}
	op, err := ops.Lookup(name)
	if err != nil {
		return err
	}
	r := c.begin(op.Name, flags)
	defer c.end(r)
	r.numbers(int64(len(in)), int64(len(out)))
	for i := range in {
		o := &in[i]
		d, shape := o.dtypeAndShape()
		r.numbers(int64(d), int64(len(shape)))
		r.numbers(shape...)
		if o.absent() {
			r.shapes = append(r.shapes, nil)
		} else {
			r.shape(shape...)
		}
		switch {
		case o.Matrix != nil:
			r.matrix(o.Matrix)
		case !o.absent():
			r.number(0)
			r.input(o.Data, o.Type.Bytes())
		}
	}
	for i := range out {
		r.numbers(int64(out[i].Type.DType), int64(len(out[i].Type.Shape)))
		r.numbers(out[i].Type.Shape...)
		r.shape(out[i].Type.Shape...)
		r.output(out[i].Data, out[i].Type.Bytes())
	}
	r.key = attrs.AppendKey(r.key)
	r.countWork(op, len(in))
	return c.run(r, func(b *builder) { b.anyOp(op, in, attrs, out) })
}

func (b *builder) anyOp(op *ops.Op, in []Operand, attrs Attributes, out []Operand) {
	if op.Writes {
		b.err = status.Errorf(status.Unsupported, "%q changes state, which only the graphs of a session have", op.Name)
		return
	}
	args, err := attrs.Read()
	if err != nil {
		b.err = status.Wrapf(err, "%q", op.Name)
		return
	}
	refs := make([]ops.Ref, len(in))
	for i := range in {
		switch o := &in[i]; {
		case o.absent():
			refs[i] = ops.None
		case o.Matrix != nil:
			refs[i] = b.asGiven(o.Matrix)
		default:
			refs[i] = b.input(o.Type)
		}
	}
	if b.err != nil {
		return
	}
	results, err := b.graph.Op(op.Name, refs, args, len(out))
	if err != nil {
		b.err = err
		return
	}
	for i, ref := range results {
		t, _, err := b.graph.Info(ref)
		if err == nil && !t.Equal(out[i].Type) {
			err = status.Errorf(status.ShapeMismatch, "%q: output %d is given as %v, it is %v", op.Name, i, out[i].Type, t)
		}
		if err != nil {
			b.err = err
			return
		}
		b.output(ref)
	}
}

func (c *Calls) checkOpRun(in, out []Operand, flags Flags) error {
	if err := flags.check(); err != nil {
		return err
	}
	for i := range in {
		o := &in[i]
		switch {
		case o.absent():
			if o.Data != nil {
				return status.Errorf(status.InvalidArgument, "input %d has data, but no dtype", i)
			}
		case o.Matrix != nil:
			if o.Matrix.calls != c {
				return status.Errorf(status.InvalidArgument, "input %d is a weight of another backend (%s), not of this one (%s)",
					i, o.Matrix.calls.info.Name, c.info.Name)
			}
			if o.Data != nil {
				return status.Errorf(status.InvalidArgument, "input %d has both data and a matrix", i)
			}
		default:
			if err := o.checkMemory(); err != nil {
				return status.Wrapf(err, "input %d", i)
			}
		}
	}
	for i := range out {
		if err := out[i].checkOutput(in, out[:i], i); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operand) checkMemory() error {
	if err := o.Type.Check(false); err != nil {
		return err
	}
	if o.Type.DType.Quantised() {
		return status.Errorf(status.InvalidArgument, "%v is quantised: give it as a matrix", o.Type)
	}
	return notNull("data", o.Data)
}

// checkOutput looks at output i, which must lie apart from the inputs and the outputs
// before it.
func (o *Operand) checkOutput(in, before []Operand, i int) error {
	if o.Matrix != nil {
		return status.Errorf(status.InvalidArgument, "output %d is a matrix: outputs go to memory", i)
	}
	if err := o.checkMemory(); err != nil {
		return status.Wrapf(err, "output %d", i)
	}
	to := regionOf("output", i, o.Data, o.Type.Bytes())
	for k := range in {
		if in[k].Data != nil {
			if err := apart(to, regionOf("input", k, in[k].Data, in[k].Type.Bytes())); err != nil {
				return err
			}
		}
	}
	for k := range before {
		if err := apart(to, regionOf("output", k, before[k].Data, before[k].Type.Bytes())); err != nil {
			return err
		}
	}
	return nil
}
