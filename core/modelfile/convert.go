package modelfile

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/tensorfile"
)

// store converts values to a type, those of f16 and bf16 row by row.
func (p *placed) store(to tensor.DType, dst []byte, values []float32) error {
	row := int(p.Type.Shape.Dim(-1))
	if !to.Float() || row == 0 {
		return quant.Store(to, dst, values)
	}
	bytes := int(to.BytesOf(int64(row)))
	for i := 0; i < len(values); i += row {
		if err := quant.Store(to, dst[:bytes], values[i:i+row]); err != nil {
			return status.Wrapf(err, "row %d of these", i/row)
		}
		dst = dst[bytes:]
	}
	return nil
}

// converter is the memory that a thread converts in.
type converter struct {
	raw    []byte
	wide   []byte // what was widened
	values []float32
}

func (c *converter) fill(p *piece, encode Encoder) error {
	from, to := p.tensor.Type.DType, p.tensor.as
	if from == to && p.tensor.widen() == nil {
		return readPiece(p, p.dst)
	}
	if from == to {
		return c.widen(p, p.dst)
	}
	values, err := c.read(p)
	if err != nil {
		return err
	}
	if p.tensor.importance == nil && quant.CanEncode(to) {
		err = p.tensor.store(to, p.dst, values)
	} else if err = quant.CheckFinite(to, values); err == nil {
		if err = encode(to, p.dst, values, p.tensor.importance); err == nil {
			err = quant.CheckStored(to, p.dst, values, p.tensor.importance)
		}
	}
	return status.Wrapf(err, "from element %d on", p.tensor.fileElements(p.from))
}

// widen reads elements that the file has in a narrower type, or f64.
func (c *converter) widen(p *piece, dst []byte) error {
	c.raw = slices.Grow(c.raw[:0], int(p.bytes))
	raw := c.raw[:p.bytes]
	if err := readPiece(p, raw); err != nil {
		return err
	}
	p.tensor.widen()(dst, raw)
	if p.tensor.Foreign.Rounded {
		return status.Wrapf(quant.CheckF64(raw), "from element %d on", p.tensor.fileElements(p.from))
	}
	return nil
}

// read gives the values of a piece. Those that the file has as the host would have
// them are read where they are wanted.
func (c *converter) read(p *piece) ([]float32, error) {
	from := p.tensor.Type.DType
	n := int(p.tensor.fileElements(p.bytes))
	c.values = slices.Grow(c.values[:0], n)
	values := c.values[:n]
	if p.tensor.widen() != nil {
		size := int(from.BytesOf(int64(n)))
		c.wide = slices.Grow(c.wide[:0], size)
		if err := c.widen(p, c.wide[:size]); err != nil {
			return nil, err
		}
		return values, quant.Decode(from, values, c.wide[:size])
	}
	if from == tensor.F32 && littleEndian {
		return values, readPiece(p, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), p.bytes))
	}
	c.raw = slices.Grow(c.raw[:0], int(p.bytes))
	raw := c.raw[:p.bytes]
	if err := readPiece(p, raw); err != nil {
		return nil, err
	}
	return values, quant.Decode(from, values, raw)
}

// littleEndian says that the host keeps numbers as files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func readPiece(p *piece, dst []byte) error {
	return tensorfile.ReadAt(p.tensor.file.r, dst, p.tensor.Offset+p.from)
}
