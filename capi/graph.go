package main

// #include "const_types.h"
import "C"

import (
	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

//export go_qtsa_graph_create
func go_qtsa_graph_create(label *C.const_char, outGraph *C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		l, err := optionalText(label, "label")
		if err != nil {
			return err
		}
		return give(graphs, graph.New(l), outGraph)
	})
}

//export go_qtsa_graph_free
func go_qtsa_graph_free(g C.uintptr_t) C.qtsa_status { return free(graphs, g) }

//export go_qtsa_graph_dim
func go_qtsa_graph_dim(h C.uintptr_t, name *C.const_char, minimum, maximum C.int64_t, outDim *C.int64_t) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		d, err := g.Dim(n, int64(minimum), int64(maximum))
		if err != nil {
			return err
		}
		*outDim = C.int64_t(d)
		return nil
	})
}

//export go_qtsa_graph_dim_op
func go_qtsa_graph_dim_op(h C.uintptr_t, op C.int32_t, a, b C.int64_t, outDim *C.int64_t) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		d, err := g.DimOp(graph.DimOp(op), int64(a), int64(b))
		if err != nil {
			return err
		}
		*outDim = C.int64_t(d)
		return nil
	})
}

//export go_qtsa_graph_dim_text_copy
func go_qtsa_graph_dim_text_copy(h C.uintptr_t, dim C.int64_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		words, err := g.DimText(int64(dim))
		if err != nil {
			return err
		}
		return fill(words, buffer, capacity, outSize)
	})
}

//export go_qtsa_graph_input
func go_qtsa_graph_input(h C.uintptr_t, name *C.const_char, dtype C.qtsa_dtype, shape *C.const_int64_t, rank C.int32_t, outTensor *C.qtsa_tensor) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		t, err := tensorType(dtype, shape, rank)
		if err != nil {
			return status.Wrapf(err, "input %q", n)
		}
		return giveTensor(g, outTensor)(g.Input(n, t))
	})
}

//export go_qtsa_graph_weight
func go_qtsa_graph_weight(h, set C.uintptr_t, name *C.const_char, outTensor *C.qtsa_tensor) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		return use(weightsSets, set, func(w *weights.Weights) error {
			n, err := text(name, "name")
			if err != nil {
				return err
			}
			return giveTensor(g, outTensor)(g.Weight(w, n))
		})
	})
}

//export go_qtsa_graph_state
func go_qtsa_graph_state(h C.uintptr_t, name *C.const_char, dtype C.qtsa_dtype, shape *C.const_int64_t, rank C.int32_t, outTensor *C.qtsa_tensor) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		t, err := tensorType(dtype, shape, rank)
		if err != nil {
			return status.Wrapf(err, "state %q", n)
		}
		return giveTensor(g, outTensor)(g.State(n, t))
	})
}

// giveTensor puts a tensor into an out parameter unless there was an error.
func giveTensor(g *graph.Graph, out *C.qtsa_tensor) func(ops.Ref, error) error {
	return func(r ops.Ref, err error) error {
		if err == nil {
			*out = C.qtsa_tensor(g.Number(r))
		}
		return err
	}
}

//export go_qtsa_graph_op
func go_qtsa_graph_op(h C.uintptr_t, op *C.const_char, inputs *C.const_tensor, nInputs C.size_t, attrs *C.const_attr, nAttrs C.size_t, outputs *C.qtsa_tensor, nOutputs C.size_t) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		name, err := text(op, "op")
		if err != nil {
			return err
		}
		given, err := list[int64](inputs, nInputs, "inputs")
		if err != nil {
			return status.Wrapf(err, "op %q", name)
		}
		args, err := readAttrs(attrs, nAttrs)
		if err != nil {
			return status.Wrapf(err, "op %q", name)
		}
		to, err := list[int64](outputs, nOutputs, "outputs")
		if err != nil {
			return status.Wrapf(err, "op %q", name)
		}
		in, err := g.Inputs(name, given)
		if err != nil {
			return err
		}
		out, err := g.Op(name, in, args, len(to))
		if err != nil {
			return err
		}
		for i, r := range out {
			to[i] = g.Number(r)
		}
		return nil
	})
}

// readAttrs reads attributes; their arrays stay in the host's memory.
func readAttrs(p *C.const_attr, n C.size_t) ([]ops.AttrArg, error) {
	given, err := list[C.qtsa_attr](p, n, "attrs")
	if err != nil {
		return nil, err
	}
	args := make([]ops.AttrArg, len(given))
	for i := range given {
		a := &given[i]
		name, err := text(a.name, "name")
		if err != nil {
			return nil, status.Wrapf(err, "attribute %d", i)
		}
		v, err := readAttr(a)
		if err != nil {
			return nil, status.Wrapf(err, "attribute %q", name)
		}
		args[i] = ops.AttrArg{Name: name, Value: v}
	}
	return args, nil
}

func readAttr(a *C.qtsa_attr) (v ops.AttrValue, err error) {
	v.Type = ops.AttrType(a._type)
	switch v.Type {
	case ops.Int:
		v.Int = int64(a.i)
	case ops.Real:
		v.Real = float64(a.f)
	case ops.Text:
		v.Text, err = text(a.s, "s")
	case ops.Ints:
		if err = checkCount(a.count); err == nil {
			v.Ints, err = list[int64](a.ints, C.size_t(a.count), "ints")
		}
	case ops.Reals:
		if err = checkCount(a.count); err == nil {
			v.Reals, err = list[float64](a.floats, C.size_t(a.count), "floats")
		}
	default:
		err = status.Errorf(status.InvalidArgument, "type is %d, want one of QTSA_ATTR_*, 1 to 5", int32(a._type))
	}
	return v, err
}

func checkCount(n C.int32_t) error {
	if n < 0 {
		return status.Errorf(status.InvalidArgument, "count is %d", int32(n))
	}
	return nil
}

//export go_qtsa_graph_output
func go_qtsa_graph_output(h C.uintptr_t, name *C.const_char, tensor C.qtsa_tensor) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		r, err := g.Ref(int64(tensor), "output %q", n)
		if err != nil {
			return err
		}
		return g.Output(n, r)
	})
}

//export go_qtsa_graph_info
func go_qtsa_graph_info(h C.uintptr_t, tensor C.qtsa_tensor, outInfo *C.qtsa_tensor_info) C.qtsa_status {
	return with(graphs, h, func(g *graph.Graph) error {
		r, err := g.Ref(int64(tensor), "the tensor")
		if err != nil {
			return err
		}
		t, bytes, err := g.Info(r)
		if err != nil {
			return err
		}
		fillInfo(outInfo, t, bytes)
		return nil
	})
}
