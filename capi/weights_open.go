package main

// #include "const_types.h"
import "C"

import (
	"math"
	"slices"
	"unsafe"

	"qtsaccel/core/modelfile"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// weightsOptions is qtsa_weights_options with user as the number that it may be.
type weightsOptions struct {
	structSize C.size_t
	placement  C.int32_t
	reserved   C.int32_t
	budget     C.uint64_t
	rules      *C.qtsa_weights_rule
	nRules     C.size_t
	progress   C.qtsa_progress_callback
	user       C.uintptr_t

	importance  *C.qtsa_importance
	nImportance C.size_t
}

var _ = [1]struct{}{}[(unsafe.Sizeof(C.qtsa_weights_options{})^unsafe.Sizeof(weightsOptions{}))|
	(unsafe.Offsetof(C.qtsa_weights_options{}.rules)^unsafe.Offsetof(weightsOptions{}.rules))|
	(unsafe.Offsetof(C.qtsa_weights_options{}.user)^unsafe.Offsetof(weightsOptions{}.user))|
	(unsafe.Offsetof(C.qtsa_weights_options{}.importance)^unsafe.Offsetof(weightsOptions{}.importance))]

// The size of qtsa_weights_options in its first form.
const firstWeightsOptions = 8

// weightsArguments reads what opening and planning take.
func weightsArguments(path *C.const_char, options *C.const_weights_options) (string, modelfile.Options, error) {
	var o modelfile.Options
	p, err := text(path, "path")
	if err != nil {
		return "", o, err
	}
	given, err := readStruct((*weightsOptions)(unsafe.Pointer(options)), firstWeightsOptions)
	if err != nil {
		return "", o, err
	}
	if err := checkReserved(given.reserved); err != nil {
		return "", o, err
	}
	if given.budget > math.MaxInt64 {
		return "", o, status.Errorf(status.InvalidArgument, "budget_bytes is %d, more than any memory", uint64(given.budget))
	}
	o = modelfile.Options{
		Placement: weights.Placement(given.placement), Budget: int64(given.budget),
		Progress: progressOf(given.progress, given.user),
	}
	rules, err := readStructs[C.qtsa_weights_rule](unsafe.Pointer(given.rules), given.nRules, "rules", unsafe.Sizeof(C.qtsa_weights_rule{}))
	if err != nil {
		return "", o, err
	}
	for i := range rules.n {
		rule := rules.at(i)
		r, err := weightsRule(&rule)
		if err != nil {
			return "", o, status.Wrapf(err, "rule %d", i)
		}
		o.Rules = append(o.Rules, r)
	}
	if o.Importance, err = importance(given.importance, given.nImportance); err != nil {
		return "", o, err
	}
	if len(o.Importance) > 0 || slices.ContainsFunc(o.Rules, modelfile.Rule.NeedsEncoder) {
		if o.Encode, err = build.Encoder(); err != nil {
			return "", o, status.Errorf(status.Unsupported, "storing by these rules takes ggml: %w", err)
		}
	}
	return p, o, nil
}

// importance reads that of each tensor, whose numbers stay in the host's memory.
func importance(p *C.qtsa_importance, n C.size_t) (map[string][]float32, error) {
	given, err := readStructs[C.qtsa_importance](unsafe.Pointer(p), n, "importance", unsafe.Sizeof(C.qtsa_importance{}))
	if err != nil || given.n == 0 {
		return nil, err
	}
	all := make(map[string][]float32, given.n)
	for i := range given.n {
		one := given.at(i)
		name, err := text(one.name, "name")
		if err != nil {
			return nil, status.Wrapf(err, "importance %d", i)
		}
		if all[name], err = list[float32](one.columns, one.n_columns, "columns"); err != nil {
			return nil, status.Wrapf(err, "the importance of %q", name)
		}
	}
	return all, nil
}

func weightsRule(r *C.qtsa_weights_rule) (modelfile.Rule, error) {
	pattern, err := text(r.pattern, "pattern")
	if err != nil {
		return modelfile.Rule{}, err
	}
	rename, err := optionalText(r.rename, "rename")
	if err != nil {
		return modelfile.Rule{}, err
	}
	if r.flags&^C.QTSA_RULE_SKIP != 0 {
		return modelfile.Rule{}, status.Errorf(status.InvalidArgument, "flags are %#x, %#x are known", int32(r.flags), C.QTSA_RULE_SKIP)
	}
	return modelfile.Rule{Pattern: pattern, DType: tensor.DType(r.dtype), Rename: rename, Skip: r.flags&C.QTSA_RULE_SKIP != 0}, nil
}

//export go_qtsa_weights_open
func go_qtsa_weights_open(path *C.const_char, options *C.const_weights_options, outWeights *C.uintptr_t) C.qtsa_status {
	return guard(func() error {
		p, o, err := weightsArguments(path, options)
		if err != nil {
			return err
		}
		w, err := modelfile.Open(p, o)
		if err != nil {
			return err
		}
		return give(weightsSets, w, outWeights)
	})
}

//export go_qtsa_weights_plan_memory
func go_qtsa_weights_plan_memory(path *C.const_char, options *C.const_weights_options, outMemory *C.qtsa_weights_memory) C.qtsa_status {
	return guard(func() error {
		p, o, err := weightsArguments(path, options)
		if err != nil {
			return err
		}
		plan, err := modelfile.PlanMemory(p, o)
		if err != nil {
			return err
		}
		*outMemory = C.qtsa_weights_memory{
			tensors: C.uint64_t(plan.Tensors), file_bytes: C.uint64_t(plan.FileBytes),
			memory_bytes: C.uint64_t(plan.MemoryBytes), mapped_bytes: C.uint64_t(plan.MappedBytes),
		}
		return nil
	})
}

//export go_qtsa_weights_report_copy
func go_qtsa_weights_report_copy(set C.uintptr_t, format C.int32_t, buffer *C.char, capacity C.size_t, outSize *C.size_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		r, err := modelfile.ReportOf(w)
		if err != nil {
			return err
		}
		return fillReport(r, format, buffer, capacity, outSize)
	})
}
