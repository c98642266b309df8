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

// job is qtsa_job with its handle as the number that it is.
type job struct {
	weight     C.uintptr_t
	bias, y    unsafe.Pointer
	nOut       C.int64_t
	activation C.int32_t
	reserved   C.int32_t
}

// operand is qtsa_operand, likewise.
type operand struct {
	dtype  C.qtsa_dtype
	rank   C.int32_t
	shape  [C.QTSA_MAX_RANK]int64
	data   unsafe.Pointer
	matrix C.uintptr_t
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_job{})^unsafe.Sizeof(job{}))|
	(unsafe.Offsetof(C.qtsa_job{}.y)^unsafe.Offsetof(job{}.y))|
	(unsafe.Offsetof(C.qtsa_job{}.activation)^unsafe.Offsetof(job{}.activation))|
	(unsafe.Sizeof(C.qtsa_operand{})^unsafe.Sizeof(operand{}))|
	(unsafe.Offsetof(C.qtsa_operand{}.data)^unsafe.Offsetof(operand{}.data))]

// few is how many jobs, operands or matrices a call has room for without allocating.
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

func (j *job) read(h *held) (oplevel.Job, error) {
	if err := checkReserved(j.reserved); err != nil {
		return oplevel.Job{}, err
	}
	m, err := h.acquire(j.weight)
	if err != nil {
		return oplevel.Job{}, status.Wrapf(err, "weight")
	}
	return oplevel.Job{Weight: m, Bias: j.bias, Y: j.y, NOut: int64(j.nOut), Activation: oplevel.Activation(j.activation)}, nil
}

//export go_qtsa_matmul
func go_qtsa_matmul(backend C.uintptr_t, x *C.const_float, t, nIn C.int64_t, jobs *C.const_job, nJobs C.size_t, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		given, err := list[job](jobs, nJobs, "jobs")
		if err != nil {
			return status.Wrapf(err, "matmul")
		}
		var h held
		defer h.release()
		var room [few]oplevel.Job
		all := room[:0]
		for i := range given {
			j, err := given[i].read(&h)
			if err != nil {
				return status.Wrapf(err, "matmul: job %d", i)
			}
			all = append(all, j)
		}
		return c.Matmul(unsafe.Pointer(x), int64(t), int64(nIn), all, oplevel.Flags(flags))
	})
}

//export go_qtsa_conv2d
func go_qtsa_conv2d(backend C.uintptr_t, x *C.const_float, geometry *C.const_conv2d_geometry, norm *C.const_conv2d_norm, ofJob *C.const_job, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		switch {
		case geometry == nil:
			return status.Errorf(status.InvalidArgument, "conv2d: geometry is null")
		case ofJob == nil:
			return status.Errorf(status.InvalidArgument, "conv2d: job is null")
		}
		var h held
		defer h.release()
		j, err := (*job)(unsafe.Pointer(ofJob)).read(&h)
		if err != nil {
			return status.Wrapf(err, "conv2d: job")
		}
		g := oplevel.Geometry{
			H: int64(geometry.h), W: int64(geometry.w), CIn: int64(geometry.c_in), K: int64(geometry.k),
			Stride: int64(geometry.stride), OH: int64(geometry.oh), OW: int64(geometry.ow),
		}
		if norm == nil {
			return c.Conv2D(unsafe.Pointer(x), g, nil, j, oplevel.Flags(flags))
		}
		n := oplevel.Norm{
			Kind: oplevel.NormKind(norm.kind), SiLU: norm.silu != 0, Groups: int64(norm.groups), Eps: float64(norm.eps),
			Gamma: unsafe.Pointer(norm.gamma), Beta: unsafe.Pointer(norm.beta),
		}
		return c.Conv2D(unsafe.Pointer(x), g, &n, j, oplevel.Flags(flags))
	})
}

//export go_qtsa_attention
func go_qtsa_attention(backend C.uintptr_t, q, k, v *C.const_float, tq, tk, heads, kvHeads, headDim C.int64_t, causal C.int32_t, window C.int64_t, scale C.double, out *C.float, flags C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		h := oplevel.Heads{
			TQ: int64(tq), TK: int64(tk), Heads: int64(heads), KVHeads: int64(kvHeads), Dim: int64(headDim),
			Causal: causal != 0, Window: int64(window), Scale: float64(scale),
		}
		return c.Attention(unsafe.Pointer(q), unsafe.Pointer(k), unsafe.Pointer(v), h, unsafe.Pointer(out), oplevel.Flags(flags))
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

// readOperands appends operands to a list; their shapes stay in the host's memory.
func readOperands(to []oplevel.Operand, p *C.const_operand, n C.size_t, parameter string, h *held) ([]oplevel.Operand, error) {
	given, err := list[operand](p, n, parameter)
	if err != nil {
		return nil, err
	}
	for i := range given {
		g := &given[i]
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

//export go_qtsa_backend_threshold_get
func go_qtsa_backend_threshold_get(backend C.uintptr_t, op *C.const_char, outThreshold *C.qtsa_threshold) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		name, err := text(op, "op")
		if err != nil {
			return err
		}
		t, err := c.Threshold(name)
		if err == nil {
			*outThreshold = C.qtsa_threshold{min_flops: C.double(t.MinFlops), flops_per_byte: C.double(t.FlopsPerByte)}
		}
		return err
	})
}

//export go_qtsa_backend_threshold_set
func go_qtsa_backend_threshold_set(backend C.uintptr_t, op *C.const_char, threshold *C.const_threshold) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		name, err := text(op, "op")
		if err != nil {
			return err
		}
		if threshold == nil {
			return status.Errorf(status.InvalidArgument, "threshold is null")
		}
		return c.SetThreshold(name, oplevel.Threshold{MinFlops: float64(threshold.min_flops), FlopsPerByte: float64(threshold.flops_per_byte)})
	})
}

//export go_qtsa_backend_calibrate
func go_qtsa_backend_calibrate(backend C.uintptr_t, how C.int32_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error { return c.Calibrate(oplevel.Calibration(how)) })
}

//export go_qtsa_backend_stats_copy
func go_qtsa_backend_stats_copy(backend C.uintptr_t, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		stats := c.Stats()
		return fillReport(&stats, format, buffer, capacity, outSize)
	})
}

//export go_qtsa_backend_stats_reset
func go_qtsa_backend_stats_reset(backend C.uintptr_t) C.qtsa_status {
	return calls(backend, func(c *oplevel.Calls) error {
		c.ResetStats()
		return nil
	})
}
