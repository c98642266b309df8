// Package modelfile opens files of tensors as weights, saves weights, and says what a
// file holds: GGUF, safetensors, sharded models of both, by rules that name the types in
// which tensors are stored.
package modelfile

import (
	"errors"
	"fmt"

	"qtsaccel/core/quant"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Open opens a GGUF or safetensors file, told apart by content, with all the files
// that it belongs with: the first shard of a GGUF model opens the others, and
// so does the index of safetensors files, model.safetensors.index.json. Only
// regular files are opened, never a pipe or a device that might block. The result
// has one reference.
//
// IO: a file cannot be opened or read, or becomes shorter meanwhile; CORRUPT: it is
// no such file, or a wrong one, or files do not belong together; UNSUPPORTED: it
// has what the library does not; OUT_OF_MEMORY, with the bytes wanted and free,
// before anything is read; CANCELLED; INVALID_ARGUMENT: wrong options, or a value that
// the type of a rule cannot hold; ALREADY_EXISTS: rules that give two tensors one name.
// Messages have the path of the file at fault.
func Open(path string, o Options) (*weights.Weights, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	w := weights.New()
	if err := s.load(w, o); err != nil {
		s.close()
		w.Release()
		return nil, status.Wrapf(err, "%q", path)
	}
	return w, nil
}

// load fills empty weights. It closes the files that are not needed any more; where it
// fails, none.
func (s *source) load(w *weights.Weights, o Options) error {
	all, plan := s.place(o)
	if err := plan.checkMemory(o.Budget); err != nil {
		return err
	}
	if err := checkNames(all); err != nil {
		return err
	}
	memory, err := w.Alloc(plan.MemoryBytes)
	if err != nil {
		return status.Wrapf(err, "%d tensors", plan.Tensors)
	}
	if err := checkColumns(all); err != nil {
		return err
	}
	l := loader{options: o, total: plan.FileBytes, done: plan.MappedBytes}
	for i := range all {
		p := &all[i]
		switch {
		case !p.read():
		case p.mapped:
			if err := p.file.mapAll(); err != nil {
				return err
			}
			p.data = p.file.mapping[p.Offset : p.Offset+p.Bytes : p.Offset+p.Bytes]
		default:
			end := p.at + p.typ().Bytes()
			p.data = memory[p.at:end:end]
			l.add(p, p.data)
		}
	}
	if err := l.run(); err != nil {
		return err
	}
	if err := keepUnheld(w, all, l.unheld, o); err != nil {
		return err
	}
	origin := weights.Origin{Metadata: s.metadata, Keys: s.keys}
	for i := range all {
		p := &all[i]
		origin.Tensors = append(origin.Tensors, p.stored())
		if p.skipped {
			continue
		}
		if err := w.AddOfFile(p.fileTensor(o)); err != nil {
			return err
		}
		if p.why() != "" && p.Foreign.Number != nil {
			p.file.kept = true
		}
	}
	w.SetOrigin(origin)
	for _, f := range s.files {
		if f.mapping != nil || f.kept {
			w.Borrow(f.close)
		} else {
			f.close()
		}
	}
	return nil
}

// stored says what became of a tensor.
func (p *placed) stored() weights.Stored {
	s := weights.Stored{
		Name: p.name, FileName: p.Name, From: p.Type, FileDType: p.FileDType(), FileShape: p.FileShape(), FileBytes: p.Bytes,
		As: p.as, Placement: weights.Copied, Note: p.note, Skipped: p.skipped,
	}
	if why := p.why(); why != "" && !p.skipped {
		s.Foreign, s.Note = true, why
	} else if p.mapped {
		s.Placement = weights.Mapped
	}
	return s
}

// fileTensor is what a tensor that is not left out is added as.
func (p *placed) fileTensor(o Options) weights.FileTensor {
	t := weights.FileTensor{Name: p.name, Type: p.typ(), Data: p.data}
	switch {
	case p.why() != "":
		t.File, t.Raw = p.file, &weights.Raw{Entry: p.Entry, Why: p.unusable()}
	case p.mapped:
		t.File, t.End, t.InPlace = p.file, p.Offset+p.Bytes, o.Placement == weights.Mapped
	}
	return t
}

// unusable is the error of whoever uses a tensor that is listed only.
func (p *placed) unusable() error {
	return status.Errorf(status.Unsupported, "tensor %q cannot be used, %s in %q: %s", p.name, p.InFile(), p.file.path, p.why())
}

// keepUnheld takes tensors in as the file has them whose values are too small for the
// type that a rule gave them.
func keepUnheld(w *weights.Weights, all []placed, unheld map[*placed]error, o Options) error {
	if len(unheld) == 0 {
		return nil
	}
	// They are reported as read already: progress is told nothing more.
	l := loader{options: Options{}}
	var plan MemoryPlan
	plan.settle(all, func(p *placed) bool { return p.mapped })
	for i := range all {
		p := &all[i]
		why, ok := unheld[p]
		if !ok {
			continue
		}
		if u, ok := errors.AsType[*quant.Unheld](why); ok && p.Foreign != nil && p.Foreign.Rounded && u.DType == tensor.F32 {
			p.refused, p.as, p.data = fmt.Sprintf("of its f64 numbers, %v", u), tensor.Foreign, nil
			continue
		}
		plan.MemoryBytes += p.Type.Bytes()
		if err := plan.checkBudget(o.Budget); err != nil {
			return status.Wrapf(err, "tensor %.200q, which %v cannot hold", p.Name, p.as)
		}
		memory, err := w.Alloc(p.Type.Bytes())
		if err != nil {
			return status.Wrapf(err, "tensor %.200q, %v", p.Name, p.Type)
		}
		p.as, p.importance, p.data = p.Type.DType, nil, memory
		p.note = fmt.Sprintf("stays as it is: %v", why)
		l.add(p, memory)
	}
	return l.run()
}

// checkColumns finds an importance that has not as many columns as its tensor.
func checkColumns(all []placed) error {
	for i := range all {
		p := &all[i]
		if columns := p.Type.Shape.Dim(-1); p.importance != nil && int64(len(p.importance)) != columns {
			return status.Errorf(status.ShapeMismatch, "tensor %.200q, %v, has %d columns, its importance %d", p.Name, p.Type, columns, len(p.importance))
		}
	}
	return nil
}

// checkNames finds a name that cannot be one, or that two tensors have, once they have
// those that rules give them.
func checkNames(all []placed) error {
	types := make(map[string]tensor.Type, len(all))
	for i := range all {
		p := &all[i]
		if p.skipped {
			continue
		}
		if p.name != p.Name {
			if err := weights.CheckName(p.name); err != nil {
				return status.Wrapf(err, "renaming %.200q", p.Name)
			}
		}
		if t, ok := types[p.name]; ok {
			return status.Errorf(status.AlreadyExists, "tensor %q exists already, as %v", p.name, t)
		}
		types[p.name] = p.typ()
	}
	return nil
}
