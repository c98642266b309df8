// Package weights holds named tensors in host memory, wherever they came from,
// for any number of graphs and backends.
package weights

import "qtsaccel/core/tensor"

// Tensor is one named tensor.
type Tensor struct {
	Name string
	Type tensor.Type
}
