package fallback

import (
	"errors"
	"slices"
	"sync/atomic"

	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
	"qtsaccel/core/status"
)

// executable is a program in segments.
type executable struct {
	stream   *stream
	segments []*segment
	memory   *mem.Arena // of what is copied by way of the host
	copies   backend.Copies

	// Of the segment in progress; here so that a run allocates nothing.
	options backend.RunOptions
	timing  backend.Timing
}

// Run runs one segment after another.
func (x *executable) Run(in, out []backend.Buffer, o *backend.RunOptions) error {
	if o.Timing != nil {
		*o.Timing = backend.Timing{}
	}
	for _, seg := range x.segments {
		if atomic.LoadInt32(o.Cancel) != 0 {
			return status.Errorf(status.Cancelled, "the run was cancelled")
		}
		if err := x.runSegment(seg, in, out, o); err != nil {
			return err
		}
	}
	return nil
}

func (x *executable) runSegment(seg *segment, in, out []backend.Buffer, o *backend.RunOptions) error {
	for i := range seg.reads {
		r := &seg.reads[i]
		if err := x.stream.ReadState(r.name, 0, r.to.Data, int64(r.to.Bytes)); err != nil {
			return err
		}
	}
	for i, host := range seg.hostIn {
		if host >= 0 {
			seg.in[i] = in[host]
		}
	}
	for i, host := range seg.hostOut {
		if host >= 0 {
			seg.out[i] = out[host]
		}
	}
	x.options = backend.RunOptions{Threads: o.Threads, Cancel: o.Cancel}
	if o.Timing != nil {
		x.options.Timing = &x.timing
	}
	err := seg.exec.Run(seg.in, seg.out, &x.options)
	// Nothing of the host's is kept.
	for i, host := range seg.hostIn {
		if host >= 0 {
			seg.in[i] = backend.Buffer{}
		}
	}
	for i, host := range seg.hostOut {
		if host >= 0 {
			seg.out[i] = backend.Buffer{}
		}
	}
	if err == nil && o.Timing != nil {
		o.Timing.Upload += x.timing.Upload
		o.Timing.Compute += x.timing.Compute
		o.Timing.Download += x.timing.Download
	}
	return err
}

// Placement is that of all segments together.
func (x *executable) Placement() backend.Placement {
	p := backend.Placement{Copies: x.copies}
	scratch := map[device]int64{}
	at := map[[2]string]int{}
	for _, seg := range x.segments {
		part := seg.exec.Placement()
		p.IOBytes += part.IOBytes
		for _, w := range part.Repacked {
			if !slices.Contains(p.Repacked, w) {
				p.Repacked = append(p.Repacked, w)
			}
		}
		scratch[seg.on] = max(scratch[seg.on], part.ScratchBytes)
		for _, n := range part.Nodes {
			key := [2]string{n.Op, n.Device}
			i, ok := at[key]
			if !ok {
				i = len(p.Nodes)
				at[key] = i
				p.Nodes = append(p.Nodes, backend.NodePlacement{Op: n.Op, Device: n.Device})
			}
			p.Nodes[i].Count += n.Count
		}
	}
	p.ScratchBytes = scratch[primary] + scratch[companion]
	return p
}

// Close closes the segments that were built.
func (x *executable) Close() error {
	var errs []error
	for _, seg := range x.segments {
		if seg.exec != nil {
			errs = append(errs, seg.exec.Close())
		}
	}
	return errors.Join(append(errs, x.memory.Free())...)
}
