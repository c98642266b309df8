package modelfile

import (
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// MemoryPlan says what opening a file takes, before anything is allocated.
type MemoryPlan struct {
	Tensors int
	// FileBytes is the tensors' size in the files.
	FileBytes int64
	// MemoryBytes is the memory that copied and converted tensors take.
	MemoryBytes int64
	// MappedBytes is the size of the tensors that stay in the files.
	MappedBytes int64
}

// PlanMemory says what [Open] with the same options would take. Errors are those
// of Open, but for memory and budget, which are not looked at.
func PlanMemory(path string, o Options) (MemoryPlan, error) {
	if err := o.check(); err != nil {
		return MemoryPlan{}, err
	}
	s, err := openSource(path)
	if err != nil {
		return MemoryPlan{}, err
	}
	defer s.close()
	_, plan := s.place(o)
	return plan, nil
}

// placed is a tensor of a file with its place in memory.
type placed struct {
	sourced
	name string
	as   tensor.DType
	note string
	// Of the columns, where it is stored in blocks by it.
	importance []float32
	mapped     bool
	skipped    bool
	at         int64  // in the memory for all that are not mapped
	data       []byte // once it has its place
	refused    string // why its values cannot be used, found as they were read
}

func (p *placed) typ() tensor.Type { return tensor.Type{DType: p.as, Shape: p.Type.Shape} }

func (p *placed) converted() bool { return p.as != p.Type.DType || p.widen() != nil }

// widen makes elements of the library's of those that the file has; nil: they are the
// same.
func (p *placed) widen() func(dst, src []byte) {
	if p.Foreign == nil {
		return nil
	}
	return p.Foreign.Widen
}

// why says why the tensor cannot be used, "" where it can.
func (p *placed) why() string {
	if p.Foreign == nil || p.refused != "" {
		return p.refused
	}
	return p.Foreign.Why
}

// read says whether the tensor's data is taken in at all.
func (p *placed) read() bool { return !p.skipped && p.why() == "" }

// fileBytes is what whole blocks take in the file.
func (p *placed) fileBytes(elements int64) int64 {
	if p.widen() != nil {
		return elements * p.Foreign.ElementBytes
	}
	return p.Type.DType.BytesOf(elements)
}

func (p *placed) fileElements(size int64) int64 {
	if p.widen() != nil {
		return size / p.Foreign.ElementBytes
	}
	return p.Type.DType.ElementsOf(size)
}

// place decides for each tensor where its data will lie.
func (s *source) place(o Options) ([]placed, MemoryPlan) {
	all := make([]placed, len(s.tensors))
	var plan MemoryPlan
	for i, t := range s.tensors {
		all[i] = placed{sourced: t, name: rename(t.Name, o.Rules), skipped: skips(t.Name, o.Rules)}
		if all[i].skipped {
			continue
		}
		plan.Tensors++
		if !all[i].read() {
			continue
		}
		all[i].as, all[i].note = storeAs(t.Name, t.Type, o.Rules)
		if t.Foreign != nil {
			all[i].note = joinNotes(all[i].note, foreignNote(t.Foreign, all[i].Type.Shape))
		}
		if all[i].converted() && all[i].as.Quantised() {
			all[i].importance = o.Importance[t.Name]
		}
		plan.FileBytes += t.Bytes
	}
	switch {
	case o.Placement == weights.Mapped:
		plan.settle(all, mappable)
	case o.Placement == weights.Auto && s.betterMapped(plan.FileBytes):
		plan.settle(all, betterMapped)
	default:
		plan.settle(all, func(*placed) bool { return false })
	}
	if o.Placement == weights.Auto && mem.CanMapFiles && !fits(plan.MemoryBytes, o.Budget) {
		plan.settle(all, mappable) // slower, or on a file system that may fail, but not nothing
	}
	return all, plan
}

// mappable says whether a tensor's data can be used where it lies in the file.
func mappable(p *placed) bool {
	return p.read() && !p.converted() && p.Bytes > 0 && p.Offset%weights.Alignment == 0
}

// betterMapped says whether it is no slower there than a copy. Loads of 64 bytes
// that cross cache lines were measured (bench/weights, AVX-512) to make products
// with f32 and bf16 weights take 1.1 to 1.3 times as long; those with f16 and
// quantised ones, whose loads are narrower, take as long.
func betterMapped(p *placed) bool {
	wide := p.Type.DType == tensor.F32 || p.Type.DType == tensor.BF16
	return mappable(p) && (!wide || p.Offset%mem.Alignment == 0)
}

// settle maps the tensors that are to be, and gives the others their places.
func (plan *MemoryPlan) settle(all []placed, mapped func(*placed) bool) {
	plan.MappedBytes, plan.MemoryBytes = 0, 0
	for i := range all {
		p := &all[i]
		if !p.read() {
			continue
		}
		p.mapped = mapped(p)
		if p.mapped {
			plan.MappedBytes += p.Bytes
			continue
		}
		p.at = plan.MemoryBytes
		plan.MemoryBytes += (p.typ().Bytes() + mem.Alignment - 1) / mem.Alignment * mem.Alignment
	}
}

// smallFile and less is copied by itself: it takes less than 20 ms, and nothing
// that happens to the file later matters.
const smallFile = 64 << 20

// betterMapped says whether Auto maps the files.
func (s *source) betterMapped(bytes int64) bool {
	if bytes <= smallFile || !mem.CanMapFiles {
		return false
	}
	for _, f := range s.files {
		if f.f == nil || mayFailLater(f.f) {
			return false
		}
	}
	return true
}

func fits(bytes, budget int64) bool {
	return (budget == 0 || bytes <= budget) && bytes <= mem.Available()
}

// checkBudget finds that a plan takes more than it may.
func (plan *MemoryPlan) checkBudget(budget int64) error {
	if budget > 0 && plan.MemoryBytes > budget {
		return status.Errorf(status.OutOfMemory, "%d bytes wanted for %d tensors, the budget is %d", plan.MemoryBytes, plan.Tensors, budget)
	}
	return nil
}

// checkMemory finds that a plan takes more than there is, or than it may.
func (plan *MemoryPlan) checkMemory(budget int64) error {
	if err := plan.checkBudget(budget); err != nil {
		return err
	}
	return status.Wrapf(mem.Check(plan.MemoryBytes), "%d tensors", plan.Tensors)
}
