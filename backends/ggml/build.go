package ggml

// #include "shim.h"
import "C"

import (
	"math"
	"runtime"

	"qtsaccel/backends/ggml/device"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// build lowers a program and has it placed.
func (s *stream) build(p *graph.Program) (*executable, error) {
	runtime.LockOSThread() // the shim's words stay with the thread
	defer runtime.UnlockOSThread()

	x := &executable{stream: s}
	l := newLowering(s.backend)
	l.program, l.stream, l.executable = p, s, x
	l.nodes, l.inputs, l.narrow = make([]node, len(p.Tensors)), map[int]int{}, map[int]node{}
	for i, t := range p.Inputs {
		l.inputs[t] = i
	}
	err := s.backend.uploadWeightsOf(p)
	if err == nil {
		err = l.lowerProgram()
	}
	if err == nil {
		if code := C.shim_exec_new(s.ptr, l.b, C.size_t(s.backend.free()), &x.ptr); code != 0 {
			err = library.LastFailure(s.backend.info.Name)
		}
	} else {
		C.shim_builder_free(l.b)
	}
	if err != nil {
		x.releaseWeights()
		return nil, err
	}
	x.placement = l.placement()
	x.threads = s.backend.info.Threads
	if flops, _ := p.Work(); x.threads > 1 && !C.shim_exec_worth_sharing(x.ptr, C.int32_t(x.threads), C.double(flops)) {
		x.threads = 1
	}
	return x, nil
}

// free is how much memory the device may be asked for. Of a graphics card's its
// driver knows best.
func (b *Backend) free() int64 {
	if b.cpu {
		return mem.Available()
	}
	return math.MaxInt64
}

func (l *lowering) lowerProgram() error {
	p := l.program
	lastUse := make([]int, len(p.Tensors))
	for i, n := range p.Nodes {
		for _, t := range n.In {
			if t >= 0 {
				lastUse[t] = i
			}
		}
	}
	for _, t := range p.Outputs {
		lastUse[t] = len(p.Nodes)
	}

	for i := range p.Nodes {
		n := &p.Nodes[i]
		lower := l.backend.lowering(n.Call.Op.Name)
		if lower == nil {
			return status.Errorf(status.Unsupported, "op %d %q has no lowering", n.Origin, n.Call.Op.Name)
		}
		if n.Call.Op.Writes {
			l.keepOldContent(i, lastUse)
		}
		out := lower(&call{Call: n.Call, lowering: l, tensors: n.In})
		if err := l.failure(); err != nil {
			return status.Wrapf(err, "op %d %q", n.Origin, n.Call.Op.Name)
		}
		if len(out) != len(n.Out) || !fits(out, n.Call.Out) {
			return status.Errorf(status.Internal, "op %d %q was lowered to something else than %v", n.Origin, n.Call.Op.Name, n.Call.Out)
		}
		for j, t := range n.Out {
			l.nodes[t] = out[j]
			C.shim_expand(l.b, out[j].t)
		}
	}
	for i, t := range p.Outputs {
		n := l.dense(l.node(t))
		C.shim_expand(l.b, n.t)
		C.shim_download(l.b, C.int32_t(i), n.t)
	}
	if err := l.failure(); err != nil {
		return err
	}
	var refused *C.char
	if !C.shim_builder_supported(l.b, l.backend.handle(), &refused) {
		return status.Errorf(status.Unsupported, "%s does not compute ggml's %s as this graph uses it", l.backend.info.Name, C.GoString(refused))
	}
	return nil
}

// keepOldContent copies what looks into the state that node i is about to write
// and is needed later: views are lowered without a copy, but mean the content
// that they saw.
func (l *lowering) keepOldContent(i int, lastUse []int) {
	written := l.node(l.program.Nodes[i].In[0]).root()
	for t, n := range l.nodes {
		if n != none && lastUse[t] > i && l.program.Tensors[t].Kind == graph.Result && n.root() == written {
			l.nodes[t] = l.copy(n)
			C.shim_expand(l.b, l.nodes[t].t)
		}
	}
}

// node gives what a program's tensor has become; inputs, weights and states
// become leaves when they are used first.
func (l *lowering) node(t int) node {
	if l.nodes[t] == none {
		l.nodes[t] = l.programLeaf(t)
	}
	return l.nodes[t]
}

func (l *lowering) programLeaf(t int) node {
	pt := &l.program.Tensors[t]
	n := l.leaf(pt.Type)
	switch pt.Kind {
	case graph.Result: // comes of its node, which stands before its users
		l.err = status.Errorf(status.Internal, "a tensor is used before it is computed")
	case graph.Input:
		C.shim_upload(l.b, C.int32_t(l.inputs[t]), n.t, false)
	case graph.State:
		l.place(n, l.stream.states[pt.Name].buffer)
	case graph.Weight:
		l.placeWeight(n, pt.Weight, nil)
	}
	return n
}

// placeWeight gives a leaf the memory of a weight on the device in a layout, nil: as it is
// stored.
func (l *lowering) placeWeight(n node, w *weights.Tensor, layout device.Layout) {
	if _, err := l.placeWeightIn(n, w, layout); err != nil {
		l.err = err
	}
}

// placeWeightIn is placeWeight, with the bytes that the weight takes, and its failure.
func (l *lowering) placeWeightIn(n node, w *weights.Tensor, layout device.Layout) (bytes int64, err error) {
	buffer, bytes, err := l.backend.device.Weight(w, layout)
	if err != nil {
		return 0, err
	}
	w.Retain()
	l.executable.weights = append(l.executable.weights, w)
	l.place(n, (*C.struct_ggml_backend_buffer)(buffer))
	return bytes, nil
}

func (l *lowering) place(n node, b *C.struct_ggml_backend_buffer) { C.shim_place(l.b, n.t, b) }

// narrowInput gives an i64 input that is uploaded as i32.
func (l *lowering) narrowInput(t int) node {
	if l.narrow[t] == none {
		n := l.leaf(tensor.Type{DType: tensor.I32, Shape: l.program.Tensors[t].Type.Shape})
		C.shim_upload(l.b, C.int32_t(l.inputs[t]), n.t, true)
		l.narrow[t] = n
	}
	return l.narrow[t]
}

// failure is the first thing that went wrong.
func (l *lowering) failure() error {
	if l.err != nil {
		return l.err
	}
	var text *C.char
	if code := C.shim_builder_status(l.b, &text); code != 0 {
		return status.Errorf(status.Code(code), "%s", C.GoString(text))
	}
	return nil
}

// placement counts the program's operators; all run on the one device.
func (l *lowering) placement() []backend.NodePlacement {
	var list []backend.NodePlacement
	at := map[string]int{}
	for _, n := range l.program.Nodes {
		name := n.Call.Op.Name
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name] = i
			list = append(list, backend.NodePlacement{Op: name, Device: l.backend.info.Name})
		}
		list[i].Count++
	}
	return list
}
