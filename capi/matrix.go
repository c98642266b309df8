package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/engine"
	"qtsaccel/core/handle"
	"qtsaccel/core/oplevel"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

var matrices = handle.NewSpace[*oplevel.Matrix](handles, handle.Matrix)

// matrixDesc is qtsa_matrix_desc with its handle as the number that it is.
type matrixDesc struct {
	structSize C.size_t
	dtype      C.qtsa_dtype
	rank       C.int32_t
	shape      [C.QTSA_MAX_RANK]C.int64_t
	data       unsafe.Pointer
	bytes      C.size_t
	weights    C.uintptr_t
	name       *C.const_char
	split      *C.const_split_matrix
	report     *C.qtsa_split_report
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_matrix_desc{})^unsafe.Sizeof(matrixDesc{}))|
	(unsafe.Offsetof(C.qtsa_matrix_desc{}.data)^unsafe.Offsetof(matrixDesc{}.data))|
	(unsafe.Offsetof(C.qtsa_matrix_desc{}.weights)^unsafe.Offsetof(matrixDesc{}.weights))|
	(unsafe.Offsetof(C.qtsa_matrix_desc{}.name)^unsafe.Offsetof(matrixDesc{}.name))|
	(unsafe.Offsetof(C.qtsa_matrix_desc{}.report)^unsafe.Offsetof(matrixDesc{}.report))]

// The size of qtsa_matrix_desc in its first form.
const firstMatrixDesc = 80

//export go_qtsa_matrix_create
func go_qtsa_matrix_create(backend C.uintptr_t, desc *C.const_matrix_desc, outMatrix *C.uintptr_t) C.qtsa_status {
	return with(backends, backend, func(b *engine.Backend) error {
		if desc == nil {
			return status.Errorf(status.InvalidArgument, "desc is null")
		}
		d, err := readStruct((*matrixDesc)(unsafe.Pointer(desc)), firstMatrixDesc)
		if err != nil {
			return err
		}
		m, err := makeMatrix(b.Calls(), &d)
		if err != nil {
			return status.Wrapf(err, "matrix")
		}
		return give(matrices, m, outMatrix)
	})
}

func makeMatrix(c *oplevel.Calls, d *matrixDesc) (*oplevel.Matrix, error) {
	ofData := d.data != nil || d.bytes != 0 || d.rank != 0
	ofWeights := d.weights != 0 || d.name != nil
	switch {
	case ofData && ofWeights:
		return nil, status.Errorf(status.InvalidArgument, "both data and weights are given")
	case d.split != nil && (ofData || ofWeights):
		return nil, status.Errorf(status.InvalidArgument, "split is given, and data or weights as well")
	case d.split != nil:
		return d.fromSplit(c)
	case ofWeights:
		return d.fromWeights(c)
	default:
		return d.fromData(c)
	}
}

func (d *matrixDesc) fromData(c *oplevel.Calls) (*oplevel.Matrix, error) {
	t, err := tensorType(d.dtype, (*C.const_int64_t)(unsafe.Pointer(&d.shape)), d.rank)
	if err != nil {
		return nil, err
	}
	data, err := bytes(d.data, d.bytes, "data")
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, status.Errorf(status.InvalidArgument, "none of data, weights and split is given")
	}
	return c.NewMatrix(t, data)
}

func (d *matrixDesc) fromWeights(c *oplevel.Calls) (m *oplevel.Matrix, err error) {
	if d.dtype != 0 {
		return nil, status.Errorf(status.InvalidArgument, "dtype is %d, but a tensor of weights has its own", int32(d.dtype))
	}
	name, err := text(d.name, "name")
	if err != nil {
		return nil, err
	}
	err = use(weightsSets, d.weights, func(w *weights.Weights) error {
		m, err = c.MatrixOf(w, name)
		return err
	})
	return m, err
}

func (d *matrixDesc) fromSplit(c *oplevel.Calls) (*oplevel.Matrix, error) {
	split, err := splitMatrix(d.split)
	if err != nil {
		return nil, err
	}
	m, t, loss, err := c.MatrixOfSplit(&split, tensor.DType(d.dtype))
	if err == nil && d.report != nil {
		*d.report = splitReport(t, loss)
	}
	return m, err
}

//export go_qtsa_matrix_free
func go_qtsa_matrix_free(matrix C.uintptr_t) C.qtsa_status { return free(matrices, matrix) }

//export go_qtsa_matrix_bytes
func go_qtsa_matrix_bytes(matrix C.uintptr_t, outBytes *C.uint64_t) C.qtsa_status {
	return with(matrices, matrix, func(m *oplevel.Matrix) error {
		*outBytes = C.uint64_t(m.Bytes())
		return nil
	})
}
