package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"qtsaccel/core/choice"
	"qtsaccel/core/engine"
	"qtsaccel/core/mem"
	"qtsaccel/core/modelfile"
	"qtsaccel/core/osfile"
	"qtsaccel/core/session"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// gpuResult is how fast weights come to a card, in GB/s of a warm 4 GiB f16 GGUF file.
// Without a card all but the reason is null.
type gpuResult struct {
	OverPinned *float64 `json:"gpu_rate_over_pinned"` // staged over pinned
	NotRun     *string  `json:"gpu_not_run"`          // why
	Pinned     *float64 `json:"gpu_pinned_gbs"`       // raw copies out of pinned memory
	Staged     *float64 `json:"gpu_staged_gbs"`       // from opening the file to a plan
	Eager      *float64 `json:"gpu_eager_gbs"`        // likewise, uploaded before the plan
	StagedRead *float64 `json:"gpu_staged_read_gbs"`  // likewise, read into memory first
	First      *float64 `json:"gpu_staged_first_gbs"` // the first time, with pinned memory to get
	Mapped     *float64 `json:"gpu_mapped_gbs"`       // raw copies out of the mapped file
	Read       *float64 `json:"gpu_read_gbs"`         // reading, and raw copies out of that memory, in turns
	Device     *string  `json:"gpu"`
}

const (
	gpuBytes  = 4 << 30
	gpuRounds = 5
)

// gpu measures on the first device of an API.
func (b *bench) gpu(api, out string, r *gpuResult) error {
	runtime.LockOSThread() // CUDA's context is the thread's
	defer runtime.UnlockOSThread()
	opened, err := engine.Open(choice.Request{Backend: api, PluginDir: b.plugins}, os.Getenv, b.build.All())
	if err != nil {
		why := err.Error()
		r.NotRun = &why
		return nil
	}
	defer opened.Release()
	raw, err := newCopies()
	if err != nil {
		why := err.Error()
		r.NotRun = &why
		return nil
	}
	defer raw.close()
	name := opened.Name()
	r.Device = &name
	on := &bench{backend: opened}
	if on.session, err = session.New(opened); err != nil {
		return err
	}
	defer on.session.Release()
	path := filepath.Join(out, "weights-gpu.gguf")
	if info, err := os.Stat(path); err != nil || info.Size() < gpuBytes {
		if err := makeFile(path, tensor.F16, gpuBytes); err != nil {
			return err
		}
	}
	if err := on.same(b, path); err != nil {
		return err
	}
	file, err := osfile.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	ways := []struct {
		to **float64
		ms func() (float64, error)
	}{
		{&r.Pinned, func() (float64, error) { return milliseconds(func() error { return raw.fromPinned(gpuBytes) }) }},
		{&r.Staged, func() (float64, error) { return on.ready(path, weights.Mapped, false) }},
		{&r.Eager, func() (float64, error) { return on.ready(path, weights.Mapped, true) }},
		{&r.StagedRead, func() (float64, error) { return on.ready(path, weights.Copied, false) }},
		{&r.Mapped, func() (float64, error) { return milliseconds(func() error { return raw.mapped(file) }) }},
		{&r.Read, func() (float64, error) { return milliseconds(func() error { return raw.read(file) }) }},
	}
	rates := make([][]float64, len(ways))
	for round := range gpuRounds {
		for i, w := range ways {
			ms, err := w.ms()
			if err != nil {
				return err
			}
			rate := gpuBytes / ms / 1e6
			if round == 0 && w.to == &r.Staged {
				r.First = &rate
			} else {
				rates[i] = append(rates[i], rate)
			}
		}
	}
	for i, w := range ways {
		*w.to = median(rates[i])
	}
	ratio := *r.Staged / *r.Pinned
	r.OverPinned = &ratio
	return nil
}

// ready opens the file, makes a plan of products with all of it, and says how long that
// took. Both are given back afterwards.
func (b *bench) ready(path string, p weights.Placement, eager bool) (float64, error) {
	start := time.Now()
	w, err := modelfile.Open(path, modelfile.Options{Placement: p})
	if err != nil {
		return 0, err
	}
	defer w.Release()
	if eager {
		if err := b.backend.Upload(w, nil, nil); err != nil {
			return 0, err
		}
	}
	made, err := b.newPlan(w, 1, matrixNames()...)
	if err != nil {
		return 0, err
	}
	ms := float64(time.Since(start)) / 1e6
	made.close()
	return ms, nil
}

// outer multiplies numbers with the first and the last matrix.
func (b *bench) outer(path string) (y []float32, err error) {
	w, err := modelfile.Open(path, modelfile.Options{Placement: weights.Mapped})
	if err != nil {
		return nil, err
	}
	defer w.Release()
	names := matrixNames()
	p, err := b.newPlan(w, 1, names[0], names[len(names)-1])
	if err != nil {
		return nil, err
	}
	defer p.close()
	x := unsafe.Slice((*float32)(p.in[0].Data), columns)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	err = p.run()
	for _, o := range p.out {
		y = append(y, unsafe.Slice((*float32)(o.Data), o.Bytes/4)...)
	}
	return y, err
}

// same finds that the first and the last matrix are not on the device as on the CPU.
func (b *bench) same(cpu *bench, path string) error {
	got, err := b.outer(path)
	if err != nil {
		return err
	}
	want, err := cpu.outer(path)
	if err != nil {
		return err
	}
	worst, largest := 0.0, 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
		largest = max(largest, math.Abs(float64(want[i])))
	}
	if !(worst <= 1e-2*largest) || largest == 0 {
		return fmt.Errorf("products on the device are off by %g of at most %g", worst, largest)
	}
	return nil
}

// mapped copies the file as a new mapping shows it.
func (c *copies) mapped(f *osfile.File) error {
	data, err := mem.MapFile(f, gpuBytes)
	if err != nil {
		return err
	}
	defer func() { _ = mem.Free(data) }()
	return c.fromMemory(data)
}

// read reads the file part by part into memory that it then copies.
func (c *copies) read(f *osfile.File) error {
	for at := int64(0); at < gpuBytes; at += rawBytes {
		if _, err := io.ReadFull(io.NewSectionReader(f, at, rawBytes), c.pageable); err != nil {
			return err
		}
		if err := c.fromMemory(c.pageable); err != nil {
			return err
		}
	}
	return nil
}
