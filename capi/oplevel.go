package main

// #include "const_types.h"
import "C"

import (
	"math"
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/handle"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// calls runs the body of an operator-level call. One that was declined leaves no
// words, so that declining costs nothing.
func calls(backend C.uintptr_t, body func(*oplevel.Calls) error) C.qtsa_status {
	declined := false
	code := with(backends, backend, func(b *engine.Backend) error {
		err := body(b.Calls())
		if err == oplevel.ErrDeclined { //nolint:errorlint // it is never wrapped
			declined = true
			return nil
		}
		return err
	})
	if declined {
		return C.QTSA_ERR_NOT_WORTHWHILE
	}
	return code
}

// product is qtsa_product with its handle as the number that it is.
type product struct {
	structSize C.size_t
	weight     C.uintptr_t
	bias, y    unsafe.Pointer
	nOut       C.int64_t
	activation C.int32_t
	reserved   C.int32_t
}

// operand is qtsa_operand, likewise.
type operand struct {
	structSize C.size_t
	dtype      C.qtsa_dtype
	rank       C.int32_t
	shape      [C.QTSA_MAX_RANK]int64
	data       unsafe.Pointer
	matrix     C.uintptr_t
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_product{})^unsafe.Sizeof(product{}))|
	(unsafe.Offsetof(C.qtsa_product{}.y)^unsafe.Offsetof(product{}.y))|
	(unsafe.Offsetof(C.qtsa_product{}.activation)^unsafe.Offsetof(product{}.activation))|
	(unsafe.Sizeof(C.qtsa_operand{})^unsafe.Sizeof(operand{}))|
	(unsafe.Offsetof(C.qtsa_operand{}.data)^unsafe.Offsetof(operand{}.data))]

// few is how many products, operands or matrices a call has room for without allocating.
const few = 16

// held keeps matrices alive that a call uses.
type held struct {
	refs [few]handle.Ref[*oplevel.Matrix]
	n    int // of refs
	more []handle.Ref[*oplevel.Matrix]
}

func (h *held) acquire(matrix C.uintptr_t) (*oplevel.Matrix, error) {
	ref, err := matrices.Acquire(handle.Handle(matrix))
	if err != nil {
		return nil, err
	}
	if h.n < few {
		h.refs[h.n] = ref
		h.n++
	} else {
		h.more = append(h.more, ref)
	}
	return ref.Object, nil
}

func (h *held) release() {
	for i := range h.n {
		h.refs[i].Release()
	}
	for i := range h.more {
		h.more[i].Release()
	}
}

func (p *product) read(h *held) (oplevel.Product, error) {
	if err := checkReserved(p.reserved); err != nil {
		return oplevel.Product{}, err
	}
	m, err := h.acquire(p.weight)
	if err != nil {
		return oplevel.Product{}, status.Wrapf(err, "weight")
	}
	return oplevel.Product{Weight: m, Bias: p.bias, Y: p.y, NOut: int64(p.nOut), Activation: oplevel.Activation(p.activation)}, nil
}

//export go_qtsa_matmul
func go_qtsa_matmul(backend C.uintptr_t, x *C.const_float, t, nIn C.int64_t, products *C.const_product, nProducts C.size_t, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		given, err := readStructs[product](unsafe.Pointer(products), nProducts, "products", unsafe.Sizeof(product{}))
		if err != nil {
			return status.Wrapf(err, "matmul")
		}
		var h held
		defer h.release()
		var room [few]oplevel.Product
		all := room[:0]
		for i := range given.n {
			one := given.at(i)
			p, err := one.read(&h)
			if err != nil {
				return status.Wrapf(err, "matmul: product %d", i)
			}
			all = append(all, p)
		}
		return c.Matmul(unsafe.Pointer(x), int64(t), int64(nIn), all, oplevel.Flags(flags))
	})
}

//export go_qtsa_conv2d
func go_qtsa_conv2d(backend C.uintptr_t, x *C.const_float, geometry *C.const_conv2d_geometry, norm *C.const_conv2d_norm, ofProduct *C.const_product, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		switch {
		case geometry == nil:
			return status.Errorf(status.InvalidArgument, "conv2d: geometry is null")
		case ofProduct == nil:
			return status.Errorf(status.InvalidArgument, "conv2d: product is null")
		}
		given, err := readStruct((*product)(unsafe.Pointer(ofProduct)), unsafe.Sizeof(product{}))
		if err != nil {
			return status.Wrapf(err, "conv2d: product")
		}
		var h held
		defer h.release()
		p, err := given.read(&h)
		if err != nil {
			return status.Wrapf(err, "conv2d: product")
		}
		of, err := readStruct((*C.qtsa_conv2d_geometry)(unsafe.Pointer(geometry)), unsafe.Sizeof(C.qtsa_conv2d_geometry{}))
		if err != nil {
			return status.Wrapf(err, "conv2d: geometry")
		}
		g := oplevel.Geometry{
			H: int64(of.h), W: int64(of.w), CIn: int64(of.c_in), K: int64(of.k),
			Stride: int64(of.stride), OH: int64(of.oh), OW: int64(of.ow),
		}
		if norm == nil {
			return c.Conv2D(unsafe.Pointer(x), g, nil, p, oplevel.Flags(flags))
		}
		by, err := readStruct((*C.qtsa_conv2d_norm)(unsafe.Pointer(norm)), unsafe.Sizeof(C.qtsa_conv2d_norm{}))
		if err != nil {
			return status.Wrapf(err, "conv2d: norm")
		}
		n := oplevel.Norm{
			Kind: oplevel.NormKind(by.kind), SiLU: by.silu != 0, Groups: int64(by.groups), Eps: float64(by.eps),
			Gamma: unsafe.Pointer(by.gamma), Beta: unsafe.Pointer(by.beta),
		}
		return c.Conv2D(unsafe.Pointer(x), g, &n, p, oplevel.Flags(flags))
	})
}

//export go_qtsa_attention
func go_qtsa_attention(backend C.uintptr_t, desc *C.const_attention_desc, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		if desc == nil {
			return status.Errorf(status.InvalidArgument, "attention: desc is null")
		}
		d, err := readStruct((*C.qtsa_attention_desc)(unsafe.Pointer(desc)), unsafe.Sizeof(C.qtsa_attention_desc{}))
		if err == nil {
			err = checkReserved(d.reserved)
		}
		if err != nil {
			return status.Wrapf(err, "attention")
		}
		h := oplevel.Heads{
			TQ: int64(d.tq), TK: int64(d.tk), Heads: int64(d.heads), KVHeads: int64(d.kv_heads), Dim: int64(d.head_dim),
			Causal: d.causal != 0, Window: int64(d.window), Scale: float64(d.scale),
		}
		return c.Attention(unsafe.Pointer(d.q), unsafe.Pointer(d.k), unsafe.Pointer(d.v), h, unsafe.Pointer(d.out), oplevel.Flags(flags))
	})
}

//export go_qtsa_op_run
func go_qtsa_op_run(backend C.uintptr_t, op *C.const_char, inputs *C.const_operand, nInputs C.size_t, attrs *C.const_attr, nAttrs C.size_t, outputs *C.const_operand, nOutputs C.size_t, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		if op == nil {
			return status.Errorf(status.InvalidArgument, "op is null")
		}
		name := borrowed(op)
		var h held
		defer h.release()
		var roomIn, roomOut [few]oplevel.Operand
		in, err := readOperands(roomIn[:0], inputs, nInputs, "inputs", &h)
		if err != nil {
			return status.Wrapf(err, "%q", name)
		}
		out, err := readOperands(roomOut[:0], outputs, nOutputs, "outputs", &h)
		if err != nil {
			return status.Wrapf(err, "%q", name)
		}
		given, err := list[C.qtsa_attr](attrs, nAttrs, "attrs")
		if err != nil {
			return status.Wrapf(err, "%q", name)
		}
		return c.OpRun(name, in, oplevel.Attributes{
			AppendKey: func(key []byte) []byte { return attributesKey(key, given) },
			Read:      func() ([]ops.AttrArg, error) { return readAttrs(attrs, nAttrs) },
		}, out, oplevel.Flags(flags))
	})
}

// borrowed is a C string where it is, for the time of a call.
func borrowed(p *C.const_char) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return unsafe.String((*byte)(unsafe.Pointer(p)), n)
}

// readOperands appends operands to a list.
func readOperands(to []oplevel.Operand, p *C.const_operand, n C.size_t, parameter string, h *held) ([]oplevel.Operand, error) {
	given, err := readStructs[operand](unsafe.Pointer(p), n, parameter, unsafe.Sizeof(operand{}))
	if err != nil {
		return nil, err
	}
	for i := range given.n {
		// Where the host has it, so that its shape can stay there.
		g := (*operand)(unsafe.Add(given.first, uintptr(i)*given.size))
		o := oplevel.Operand{Data: g.data}
		if g.matrix != 0 {
			if o.Matrix, err = h.acquire(g.matrix); err != nil {
				return nil, status.Wrapf(err, "%s[%d]", parameter, i)
			}
		} else if g.rank < 0 || g.rank > tensor.MaxRank {
			return nil, status.Errorf(status.InvalidArgument, "%s[%d]: rank is %d, want 0 to %d dimensions", parameter, i, int32(g.rank), tensor.MaxRank)
		} else if g.dtype != 0 || g.rank != 0 {
			o.Type = tensor.Type{DType: tensor.DType(g.dtype), Shape: g.shape[:g.rank:g.rank]}
		}
		to = append(to, o)
	}
	return to, nil
}

// attributesKey takes down all that readAttrs would see.
func attributesKey(key []byte, a []C.qtsa_attr) []byte {
	for i := range a {
		attr := &a[i]
		key = appendText(key, attr.name)
		key = appendNumber(key, uint64(attr._type))
		switch ops.AttrType(attr._type) {
		case ops.Int:
			key = appendNumber(key, uint64(attr.i))
		case ops.Real:
			key = appendNumber(key, math.Float64bits(float64(attr.f)))
		case ops.Text:
			key = appendText(key, attr.s)
		case ops.Ints:
			key = appendNumber(key, uint64(attr.count))
			key = appendArray(key, unsafe.Pointer(attr.ints), attr.count)
		case ops.Reals:
			key = appendNumber(key, uint64(attr.count))
			key = appendArray(key, unsafe.Pointer(attr.floats), attr.count)
		}
	}
	return key
}

func appendNumber(key []byte, v uint64) []byte {
	for range 8 {
		key = append(key, byte(v))
		v >>= 8
	}
	return key
}

func appendText(key []byte, p *C.const_char) []byte {
	if p == nil {
		return append(key, 0, 0) // no text ends so
	}
	return append(append(key, borrowed(p)...), 0)
}

func appendArray(key []byte, p unsafe.Pointer, count C.int32_t) []byte {
	if p == nil || count <= 0 || count > maxCount {
		return key // Read refuses it
	}
	return append(key, unsafe.Slice((*byte)(p), 8*int(count))...)
}

//export go_qtsa_backend_wants
func go_qtsa_backend_wants(backend C.uintptr_t, op *C.const_char, shape *C.const_int64_t, nShape C.size_t, outWants *C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		name, err := text(op, "op")
		if err != nil {
			return err
		}
		sizes, err := list[int64](shape, nShape, "shape")
		if err != nil {
			return err
		}
		wants, err := c.Wants(name, sizes)
		if err == nil && wants {
			*outWants = 1
		}
		return err
	})
}

//export go_qtsa_backend_calibrate
func go_qtsa_backend_calibrate(backend C.uintptr_t, options *C.const_calibrate_options) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		o, err := readStruct((*C.qtsa_calibrate_options)(unsafe.Pointer(options)), unsafe.Sizeof(C.qtsa_calibrate_options{}))
		if err == nil {
			err = checkReserved(o.reserved)
		}
		if err != nil {
			return err
		}
		given, err := readStructs[C.qtsa_threshold](unsafe.Pointer(o.thresholds), o.n_thresholds, "thresholds", unsafe.Sizeof(C.qtsa_threshold{}))
		if err != nil {
			return err
		}
		set := make([]oplevel.OpThreshold, given.n)
		for i := range set {
			t := given.at(i)
			name, err := text(t.op, "op")
			if err != nil {
				return status.Wrapf(err, "threshold %d", i)
			}
			set[i] = oplevel.OpThreshold{Op: name, Threshold: oplevel.Threshold{MinFlops: float64(t.min_flops), FlopsPerByte: float64(t.flops_per_byte)}}
		}
		return c.Calibrate(oplevel.Calibration(o.how), set...)
	})
}

//export go_qtsa_backend_stats_copy
func go_qtsa_backend_stats_copy(backend C.uintptr_t, format, flags C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		if flags&^C.QTSA_STATS_RESET != 0 {
			return status.Errorf(status.InvalidArgument, "flags are %#x, %#x are known", int32(flags), C.QTSA_STATS_RESET)
		}
		stats := c.Stats()
		err := fillReport(&stats, format, buffer, capacity, outSize)
		if err == nil && buffer != nil && flags&C.QTSA_STATS_RESET != 0 {
			c.ResetStats()
		}
		return err
	})
}
