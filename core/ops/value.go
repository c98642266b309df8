package ops

import (
	"encoding/binary"
	"math"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// NewValue makes a tensor of zeros.
func NewValue(t tensor.Type) Value {
	v := Value{Type: t}
	if t.DType.Integer() {
		v.I = make([]int64, t.Shape.Elements())
	} else {
		v.F = make([]float64, t.Shape.Elements())
	}
	return v
}

// Decode fills v from a tensor's bytes as they lie in memory, row-major, in v's
// type. UNSUPPORTED: the reference cannot read the type.
func (v Value) Decode(data []byte) error {
	le := binary.LittleEndian
	switch v.Type.DType {
	case tensor.F32:
		for i := range v.F {
			v.F[i] = float64(math.Float32frombits(le.Uint32(data[4*i:])))
		}
	case tensor.F16:
		for i := range v.F {
			v.F[i] = float64(tensor.F16ToF32(le.Uint16(data[2*i:])))
		}
	case tensor.BF16:
		for i := range v.F {
			v.F[i] = float64(tensor.BF16ToF32(le.Uint16(data[2*i:])))
		}
	case tensor.I8:
		for i := range v.I {
			v.I[i] = int64(int8(data[i]))
		}
	case tensor.I16:
		for i := range v.I {
			v.I[i] = int64(int16(le.Uint16(data[2*i:])))
		}
	case tensor.I32:
		for i := range v.I {
			v.I[i] = int64(int32(le.Uint32(data[4*i:])))
		}
	case tensor.I64:
		for i := range v.I {
			v.I[i] = int64(le.Uint64(data[8*i:]))
		}
	default:
		return v.decodeBlocks(data)
	}
	return nil
}

// piece is how many elements of a quantised tensor are converted at a time: whole
// blocks of every type.
const piece = 256

func (v Value) decodeBlocks(data []byte) error {
	var values [piece]float32
	elements, bytes := v.Type.DType.Block()
	for f := v.F; len(f) > 0; {
		n := min(len(f), piece)
		size := int64(n) / elements * bytes
		if err := quant.Decode(v.Type.DType, values[:n], data[:size]); err != nil {
			return status.Wrapf(err, "the reference cannot read %v", v.Type.DType)
		}
		for i, x := range values[:n] {
			f[i] = float64(x)
		}
		f, data = f[n:], data[size:]
	}
	return nil
}

func (v Value) encodeBlocks(data []byte) error {
	var values [piece]float32
	elements, bytes := v.Type.DType.Block()
	for f := v.F; len(f) > 0; {
		n := min(len(f), piece)
		for i := range n {
			values[i] = float32(f[i])
		}
		size := int64(n) / elements * bytes
		if err := quant.Encode(v.Type.DType, data[:size], values[:n]); err != nil {
			return status.Wrapf(err, "the reference cannot write %v", v.Type.DType)
		}
		f, data = f[n:], data[size:]
	}
	return nil
}

// Encode writes v as a tensor's bytes, the other way. Numbers are rounded to the
// type, to nearest; integers that do not fit are cut to their low bits.
func (v Value) Encode(data []byte) error {
	le := binary.LittleEndian
	switch v.Type.DType {
	case tensor.F32:
		for i, f := range v.F {
			le.PutUint32(data[4*i:], math.Float32bits(float32(f)))
		}
	case tensor.F16:
		for i, f := range v.F {
			le.PutUint16(data[2*i:], tensor.F32ToF16(float32(f)))
		}
	case tensor.BF16:
		for i, f := range v.F {
			le.PutUint16(data[2*i:], tensor.F32ToBF16(float32(f)))
		}
	case tensor.I8:
		for i, n := range v.I {
			data[i] = byte(n)
		}
	case tensor.I16:
		for i, n := range v.I {
			le.PutUint16(data[2*i:], uint16(n))
		}
	case tensor.I32:
		for i, n := range v.I {
			le.PutUint32(data[4*i:], uint32(n))
		}
	case tensor.I64:
		for i, n := range v.I {
			le.PutUint64(data[8*i:], uint64(n))
		}
	default:
		return v.encodeBlocks(data)
	}
	return nil
}
