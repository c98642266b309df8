package oplevel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// request is one call while it is under way. Requests are used again, so that their
// slices need no memory of their own each time.
type request struct {
	op       string
	flags    Flags
	key      []byte // tells programs apart
	in, out  []backend.Buffer
	matrices []*Matrix
	work     work
	cost     ops.Cost       // the operator's class
	shapes   []tensor.Shape // of the inputs, then of the outputs, that the work is counted of
	dims     []int64        // behind shapes
	silent   bool           // does not count in the statistics
}

// work is what a call costs.
type work struct {
	flops    float64 // a multiplication and an addition are two
	up, down int64   // bytes of inputs and outputs
}

// begin gives a request for a call of an operator.
func (c *Calls) begin(op string, flags Flags) *request {
	c.mu.Lock()
	var r *request
	if n := len(c.requests); n > 0 {
		r = c.requests[n-1]
		c.requests = c.requests[:n-1]
	} else {
		r = &request{}
	}
	c.mu.Unlock()
	r.op, r.flags = op, flags
	r.key = append(r.key[:0], op...)
	r.key = append(r.key, 0)
	return r
}

// end takes a request back; nothing of the host's memory stays in it.
func (c *Calls) end(r *request) {
	clear(r.in)
	clear(r.out)
	clear(r.matrices)
	r.in, r.out, r.matrices = r.in[:0], r.out[:0], r.matrices[:0]
	r.shapes, r.dims = r.shapes[:0], r.dims[:0]
	r.work, r.cost, r.silent = work{}, ops.OtherCost, false
	c.mu.Lock()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
}

func (r *request) number(v int64) { r.key = binary.LittleEndian.AppendUint64(r.key, uint64(v)) }

func (r *request) numbers(v ...int64) {
	for _, n := range v {
		r.number(n)
	}
}

func (r *request) flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	r.key = append(r.key, b)
}

// floats gives n float32 that are uploaded.
func (r *request) floats(p unsafe.Pointer, n int64) { r.input(p, 4*n) }

func (r *request) input(p unsafe.Pointer, bytes int64) {
	r.in = append(r.in, backend.Buffer{Data: p, Bytes: uintptr(bytes)})
	r.work.up += bytes
}

func (r *request) output(p unsafe.Pointer, bytes int64) {
	r.out = append(r.out, backend.Buffer{Data: p, Bytes: uintptr(bytes)})
	r.work.down += bytes
}

// shape adds one to those that the work is counted of.
func (r *request) shape(dims ...int64) {
	if len(dims) == 0 { // which is not nil, as an absent input is
		r.shapes = append(r.shapes, tensor.Shape{})
		return
	}
	at := len(r.dims)
	r.dims = append(r.dims, dims...)
	r.shapes = append(r.shapes, r.dims[at:len(r.dims):len(r.dims)])
}

// countWork adds an operator's work on the shapes, of which the first n are its inputs',
// and forgets them.
func (r *request) countWork(op *ops.Op, n int) {
	r.work.flops += op.FLOPs(r.shapes[:n], r.shapes[n:])
	r.cost = op.Cost
	r.shapes, r.dims = r.shapes[:0], r.dims[:0]
}

func (r *request) matrix(m *Matrix) {
	r.number(int64(m.id))
	r.matrices = append(r.matrices, m)
}

// region is a part of the host's memory under the name that the host knows it by.
type region struct {
	name  string
	index int // of several with the name, -1: there is one
	at    uintptr
	bytes uintptr
}

func (g region) String() string {
	if g.index < 0 {
		return g.name
	}
	return g.name + " " + itoa(g.index)
}

func regionOf(name string, index int, p unsafe.Pointer, bytes int64) region {
	return region{name, index, uintptr(p), uintptr(bytes)}
}

// apart finds two regions that share bytes. An output is written while others are
// read or written, by devices in an order of their own.
func apart(a, b region) error {
	if a.at == 0 || b.at == 0 || a.at >= b.at+b.bytes || b.at >= a.at+a.bytes {
		return nil
	}
	return status.Errorf(status.InvalidArgument, "%v (%d bytes at %#x) overlaps %v (%d bytes at %#x)", a, a.bytes, a.at, b, b.bytes, b.at)
}

// atLeast checks a size.
func atLeast(name string, v, least int64) error {
	if v < least {
		return status.Errorf(status.InvalidArgument, "%s is %d, want %d or more", name, v, least)
	}
	return nil
}

func notNull(name string, p unsafe.Pointer) error {
	if p == nil {
		return status.Errorf(status.InvalidArgument, "%s is null", name)
	}
	return nil
}

// f32Bytes is the size of an f32 tensor [a, b, c], checked.
func f32Bytes(name string, a, b, c int64) (int64, error) {
	const most = math.MaxInt32 // three of these could overflow, two cannot
	if a <= most && b <= most && a*b <= most && c <= most && min(a, b, c) > 0 {
		return 4 * a * b * c, nil
	}
	t := f32(a, b, c)
	if err := t.Check(false); err != nil {
		return 0, status.Wrapf(err, "%s", name)
	}
	return t.Bytes(), nil
}
