package main

// #include "const_types.h"
import "C"

import (
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/graph"
	"qtsaccel/core/session"
	"qtsaccel/core/status"
)

// The sizes of the options structs in their first form.
const (
	firstPlanOptions = 16
	firstRunOptions  = 40
)

// A run's arrays are looked at where the host has them; a layout that differs
// does not compile.
var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_input{})^unsafe.Sizeof(backend.Buffer{}))|
	(unsafe.Sizeof(C.qtsa_output{})^unsafe.Sizeof(backend.Buffer{}))|
	(unsafe.Offsetof(C.qtsa_input{}.data)^unsafe.Offsetof(backend.Buffer{}.Data))|
	(unsafe.Offsetof(C.qtsa_output{}.data)^unsafe.Offsetof(backend.Buffer{}.Data))|
	(unsafe.Sizeof(C.qtsa_timing{})^unsafe.Sizeof(backend.Timing{}))|
	(unsafe.Offsetof(C.qtsa_timing{}.upload_ns)^unsafe.Offsetof(backend.Timing{}.Upload))|
	(unsafe.Offsetof(C.qtsa_timing{}.compute_ns)^unsafe.Offsetof(backend.Timing{}.Compute))]

//export go_qtsa_plan_create
func go_qtsa_plan_create(onSession, ofGraph C.uintptr_t, options *C.const_plan_options, outPlan *C.uintptr_t) C.qtsa_status {
	return with(sessions, onSession, func(s *session.Session) error {
		return use(graphs, ofGraph, func(g *graph.Graph) error {
			o, err := readStruct(options, firstPlanOptions)
			if err != nil {
				return err
			}
			p, err := session.NewPlan(s, g, session.Options{MaxInstances: int(o.max_instances), Strict: o.strict != 0})
			if err != nil {
				return err
			}
			return give(plans, p, outPlan)
		})
	})
}

//export go_qtsa_plan_free
func go_qtsa_plan_free(plan C.uintptr_t) C.qtsa_status { return free(plans, plan) }

//export go_qtsa_plan_find
func go_qtsa_plan_find(plan C.uintptr_t, kind C.int32_t, name *C.const_char, outIndex *C.size_t) C.qtsa_status {
	return with(plans, plan, func(p *session.Plan) error {
		find := p.InputIndex
		switch kind {
		case C.QTSA_INPUT:
		case C.QTSA_OUTPUT:
			find = p.OutputIndex
		default:
			return noPort(kind)
		}
		n, err := text(name, "name")
		if err != nil {
			return err
		}
		i, err := find(n)
		if err != nil {
			return err
		}
		*outIndex = C.size_t(i)
		return nil
	})
}

func noPort(kind C.int32_t) error {
	return status.Errorf(status.InvalidArgument, "kind is %d, want %d (input) or %d (output)", int32(kind), C.QTSA_INPUT, C.QTSA_OUTPUT)
}

//export go_qtsa_plan_info
func go_qtsa_plan_info(plan C.uintptr_t, kind C.int32_t, index C.size_t, dims *C.const_int64_t, nDims C.size_t, outInfo *C.qtsa_tensor_info) C.qtsa_status {
	return with(plans, plan, func(p *session.Plan) error {
		if kind != C.QTSA_INPUT && kind != C.QTSA_OUTPUT {
			return noPort(kind)
		}
		values, err := list[int64](dims, nDims, "dims")
		if err != nil {
			return err
		}
		ports, err := p.Ports(values)
		if err != nil {
			return err
		}
		types, name := ports.In, "input"
		if kind == C.QTSA_OUTPUT {
			types, name = ports.Out, "output"
		}
		if uint64(index) >= uint64(len(types)) {
			return status.Errorf(status.InvalidArgument, "%s %d is asked for, the plan has %d", name, uint64(index), len(types))
		}
		fillInfo(outInfo, types[index], types[index].Bytes())
		return nil
	})
}

//export go_qtsa_plan_prepare
func go_qtsa_plan_prepare(plan C.uintptr_t, dims *C.const_int64_t, nDims C.size_t) C.qtsa_status {
	return with(plans, plan, func(p *session.Plan) error {
		values, err := list[int64](dims, nDims, "dims")
		if err != nil {
			return err
		}
		return p.Prepare(values)
	})
}

//export go_qtsa_plan_run
func go_qtsa_plan_run(plan C.uintptr_t, inputs *C.const_input, nInputs C.size_t, outputs *C.const_output, nOutputs C.size_t, options *C.const_run_options) C.qtsa_status {
	return with(plans, plan, func(p *session.Plan) error {
		in, err := list[backend.Buffer](inputs, nInputs, "inputs")
		if err != nil {
			return err
		}
		out, err := list[backend.Buffer](outputs, nOutputs, "outputs")
		if err != nil {
			return err
		}
		o, err := readStruct(options, firstRunOptions)
		if err != nil {
			return err
		}
		if err := checkReserved(o.reserved); err != nil {
			return err
		}
		dims, err := list[int64](o.dims, o.n_dims, "dims")
		if err != nil {
			return err
		}
		return p.Run(in, out, session.RunOptions{
			Dims:    dims,
			Threads: int(o.threads),
			Timing:  (*backend.Timing)(unsafe.Pointer(o.timing)),
		})
	})
}

//export go_qtsa_plan_placement_copy
func go_qtsa_plan_placement_copy(plan C.uintptr_t, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(plans, plan, func(p *session.Plan) error {
		return fillReport(p.Placement(), format, buffer, capacity, outSize)
	})
}
