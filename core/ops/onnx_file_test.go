package ops_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// What of ONNX's files (onnx.proto) its node tests need: a model of one node, and
// the tensors that go in and come out.

// onnxCase is one node test.
type onnxCase struct {
	name    string
	nodes   int
	op      string
	attrs   map[string]onnxAttr
	in, out []onnxTensor // absent where the node names none
}

type onnxAttr struct {
	i      int64
	f      float64
	s      string
	ints   []int64
	floats []float64
}

// onnxTensor is a tensor as float64 or int64, whatever its dtype, which kind
// keeps: f32 for all floats and bools, i64 for integers.
type onnxTensor struct {
	ops.Value
	kind onnxKind
}

type onnxKind int32

// TensorProto.DataType.
const (
	onnxFloat  onnxKind = 1
	onnxUint8  onnxKind = 2
	onnxInt8   onnxKind = 3
	onnxUint16 onnxKind = 4
	onnxInt16  onnxKind = 5
	onnxInt32  onnxKind = 6
	onnxInt64  onnxKind = 7
	onnxBool   onnxKind = 9
	onnxHalf   onnxKind = 10
	onnxDouble onnxKind = 11
	onnxUint32 onnxKind = 12
	onnxUint64 onnxKind = 13
	onnxBfloat onnxKind = 16
)

func (k onnxKind) float() bool {
	return k == onnxFloat || k == onnxHalf || k == onnxBfloat || k == onnxDouble
}

func (t onnxTensor) absent() bool { return t.kind == 0 }

// readONNXCases reads all node tests of the archive.
func readONNXCases(archive string) ([]onnxCase, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files, order := map[string][]byte{}, []string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
		if path.Base(h.Name) == "model.onnx" {
			order = append(order, path.Dir(h.Name))
		}
	}
	var cases []onnxCase
	for _, dir := range order {
		c, err := readONNXCase(files, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// readONNXCase puts a model and its tensors together. The files are numbered as
// the graph's inputs and outputs are; the node names them in its own order.
func readONNXCase(files map[string][]byte, dir string) (onnxCase, error) {
	c := onnxCase{name: path.Base(dir), attrs: map[string]onnxAttr{}}
	var nodeIn, nodeOut, graphIn, graphOut []string
	err := message(files[dir+"/model.onnx"], func(n int, v field) error {
		if n != 7 { // ModelProto.graph
			return nil
		}
		return message(v.data, func(n int, v field) error {
			switch n {
			case 1: // GraphProto.node
				c.nodes++
				return c.node(v.data, &nodeIn, &nodeOut)
			case 11, 12: // input, output: ValueInfoProto
				return message(v.data, func(f int, v field) error {
					if f == 1 && n == 11 {
						graphIn = append(graphIn, string(v.data))
					} else if f == 1 {
						graphOut = append(graphOut, string(v.data))
					}
					return nil
				})
			}
			return nil
		})
	})
	if err != nil {
		return c, err
	}
	collect := func(what string, graph, node []string) ([]onnxTensor, error) {
		named := map[string]onnxTensor{}
		for i, name := range graph {
			data, ok := files[fmt.Sprintf("%s/test_data_set_0/%s_%d.pb", dir, what, i)]
			if !ok {
				return nil, fmt.Errorf("no file for %s %d %q", what, i, name)
			}
			if named[name], err = readONNXTensor(data); err != nil {
				return nil, fmt.Errorf("%s %q: %w", what, name, err)
			}
		}
		tensors := make([]onnxTensor, len(node))
		for i, name := range node {
			tensors[i] = named[name]
		}
		return tensors, nil
	}
	if c.in, err = collect("input", graphIn, nodeIn); err != nil {
		return c, err
	}
	c.out, err = collect("output", graphOut, nodeOut)
	return c, err
}

func (c *onnxCase) node(data []byte, in, out *[]string) error {
	return message(data, func(n int, v field) error {
		switch n {
		case 1:
			*in = append(*in, string(v.data))
		case 2:
			*out = append(*out, string(v.data))
		case 4:
			c.op = string(v.data)
		case 5:
			return c.attribute(v.data)
		}
		return nil
	})
}

func (c *onnxCase) attribute(data []byte) error {
	var name string
	var a onnxAttr
	err := message(data, func(n int, v field) error {
		switch n {
		case 1:
			name = string(v.data)
		case 2:
			a.f = float64(math.Float32frombits(uint32(v.number)))
		case 3:
			a.i = int64(v.number)
		case 4:
			a.s = string(v.data)
		case 7:
			a.floats = append(a.floats, float64(math.Float32frombits(uint32(v.number))))
		case 8:
			a.ints = append(a.ints, int64(v.number))
		}
		return nil
	})
	c.attrs[name] = a
	return err
}

func readONNXTensor(data []byte) (onnxTensor, error) {
	var (
		t       onnxTensor
		shape   = tensor.Shape{}
		raw     []byte
		numbers []uint64
	)
	err := message(data, func(n int, v field) error {
		switch n {
		case 1:
			shape = append(shape, int64(v.number))
		case 2:
			t.kind = onnxKind(v.number)
		case 4, 5, 7, 10, 11: // float_data, int32_data, ...: packed or one by one
			unpacked, err := v.numbers(n)
			numbers = append(numbers, unpacked...)
			return err
		case 9:
			raw = v.data
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	size := map[onnxKind]int{
		onnxFloat: 4, onnxUint8: 1, onnxInt8: 1, onnxUint16: 2, onnxInt16: 2, onnxInt32: 4, onnxInt64: 8,
		onnxBool: 1, onnxHalf: 2, onnxDouble: 8, onnxUint32: 4, onnxUint64: 8, onnxBfloat: 2,
	}[t.kind]
	if size == 0 {
		t.Type.Shape = shape // text, or numbers below a byte: no values
		return t, nil
	}
	for ; len(raw) >= size; raw = raw[size:] {
		var word [8]byte
		copy(word[:], raw[:size])
		numbers = append(numbers, binary.LittleEndian.Uint64(word[:]))
	}
	if int64(len(numbers)) != shape.Elements() {
		return t, fmt.Errorf("%d elements for shape %v", len(numbers), shape)
	}
	t.Type = tensor.Type{DType: tensor.I64, Shape: shape}
	if t.kind.float() || t.kind == onnxBool {
		t.Type.DType = tensor.F32
		t.F = make([]float64, len(numbers))
	} else {
		t.I = make([]int64, len(numbers))
	}
	for i, bits := range numbers {
		switch t.kind {
		case onnxFloat:
			t.F[i] = float64(math.Float32frombits(uint32(bits)))
		case onnxHalf:
			t.F[i] = float64(tensor.F16ToF32(uint16(bits)))
		case onnxBfloat:
			t.F[i] = float64(tensor.BF16ToF32(uint16(bits)))
		case onnxDouble:
			t.F[i] = math.Float64frombits(bits)
		case onnxBool:
			t.F[i] = float64(bits)
		case onnxInt8:
			t.I[i] = int64(int8(bits))
		case onnxInt16:
			t.I[i] = int64(int16(bits))
		case onnxInt32:
			t.I[i] = int64(int32(bits))
		default:
			t.I[i] = int64(bits)
		}
	}
	return t, nil
}

// field is a protobuf field's value: bytes, or a number of any width.
type field struct {
	data   []byte
	number uint64
}

// numbers are those of a repeated field of a TensorProto, of which float_data, 4,
// has 32 bits each, double_data, 10, 64, and the others have varints.
func (f field) numbers(number int) ([]uint64, error) {
	if f.data == nil {
		return []uint64{f.number}, nil
	}
	var all []uint64
	for data := f.data; len(data) > 0; {
		var v uint64
		var n int
		switch number {
		case 4:
			var w uint32
			w, n = protowire.ConsumeFixed32(data)
			v = uint64(w)
		case 10:
			v, n = protowire.ConsumeFixed64(data)
		default:
			v, n = protowire.ConsumeVarint(data)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		all, data = append(all, v), data[n:]
	}
	return all, nil
}

// message walks over a message's fields.
func message(data []byte, f func(int, field) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var v field
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(data)
			v.number = uint64(w)
		case protowire.Fixed64Type:
			v.number, n = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			v.data, n = protowire.ConsumeBytes(data)
		default:
			return fmt.Errorf("wire type %d", kind)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := f(int(number), v); err != nil {
			return err
		}
	}
	return nil
}

// short cuts a case's name for a table.
func (c onnxCase) short() string { return strings.TrimPrefix(c.name, "test_") }
