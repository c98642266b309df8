package main

// #include "const_types.h"
import "C"

import (
	"qtsaccel/core/metadata"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/ops"
	"qtsaccel/core/weights"
)

//export go_qtsa_weights_save
func go_qtsa_weights_save(set C.uintptr_t, path *C.const_char, pairs *C.const_attr, nPairs C.size_t, progress C.qtsa_progress_callback, user C.uintptr_t) C.qtsa_status {
	return with(weightsSets, set, func(w *weights.Weights) error {
		p, err := text(path, "path")
		if err != nil {
			return err
		}
		attrs, err := readAttrs(pairs, nPairs)
		if err != nil {
			return err
		}
		more := make([]metadata.Pair, len(attrs))
		for i, a := range attrs {
			more[i] = metadata.Pair{Key: a.Name, Value: metadataValue(a.Value)}
		}
		return modelfile.Save(w, p, more, progressOf(progress, user))
	})
}

// metadataValue is an attribute's value as a GGUF file has it.
func metadataValue(v ops.AttrValue) metadata.Value {
	switch v.Type {
	case ops.Int:
		return metadata.Int(v.Int)
	case ops.Real:
		return metadata.Float(v.Real)
	case ops.Ints:
		return metadata.Ints(v.Ints)
	case ops.Reals:
		return metadata.Floats(v.Reals)
	default:
		return metadata.Text(v.Text)
	}
}
