package device

// #include "device.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/gguf"
	"qtsaccel/core/guarded"
	"qtsaccel/core/status"
)

// stager is pinned host memory in pieces. Goroutines read tensors into pieces, from
// their files or from memory, while the device copies out of others.
type stager struct {
	device  *Device
	ptr     *C.struct_shim_stager
	pieces  [][]byte
	readers int
}

// newStager gives nil where the device has no pinned memory.
func newStager(d *Device, readers int, piece int64) (*stager, error) {
	s := &stager{device: d, readers: readers, pieces: make([][]byte, readers+flyingPieces)}
	err := d.Do("pinned memory", func() int32 {
		return int32(C.shim_stager_new(d.ptr, C.int32_t(len(s.pieces)), C.size_t(piece), &s.ptr))
	})
	if err != nil || s.ptr == nil {
		return nil, err
	}
	for i := range s.pieces {
		s.pieces[i] = unsafe.Slice((*byte)(C.shim_stager_piece(s.ptr, C.int32_t(i))), piece)
	}
	return s, nil
}

func (s *stager) close() { C.shim_stager_free(s.ptr) }

// part is a part of a tensor, as large as a piece at most.
type part struct {
	tensor        int // of those that are missing
	offset, bytes int64
}

// filled is a piece with a part in it, or the failure to read it.
type filled struct {
	piece, part int
	err         error
}

// staged is an upload through pinned memory. What it has, but for the channels, the
// goroutine alone uses that talks to the device.
type staged struct {
	*upload
	stager *stager
	parts  []part
	next   atomic.Int64 // the part to read next
	free   chan int
	filled chan filled
	stop   chan struct{}

	buffers []*C.struct_ggml_backend_buffer // of each tensor, once it is begun
	rest    []int64                         // bytes of it that are not on the device yet
	flying  []filled                        // what the device copies, the oldest first
}

// through uploads all that is missing. No reader is left when it returns, and no copy
// is under way.
func (u *upload) through(s *stager) error {
	runtime.LockOSThread() // the shim's words stay with the thread
	defer runtime.UnlockOSThread()
	t := &staged{
		upload: u, stager: s,
		free: make(chan int, len(s.pieces)), filled: make(chan filled, len(s.pieces)), stop: make(chan struct{}),
		buffers: make([]*C.struct_ggml_backend_buffer, len(u.missing)), rest: make([]int64, len(u.missing)),
	}
	for i := range s.pieces {
		t.free <- i
	}
	piece := int64(len(s.pieces[0]))
	for i, m := range u.missing {
		t.rest[i] = m.Bytes
		for at := int64(0); at < m.Bytes; at += piece {
			t.parts = append(t.parts, part{i, at, min(piece, m.Bytes-at)})
		}
	}
	var readers guarded.Group
	for range min(s.readers, len(t.parts)) {
		readers.Go(t.read)
	}
	err := t.copy()
	close(t.stop)
	if reading := readers.Wait(); err == nil {
		err = reading
	}
	if err != nil {
		t.abandon()
	}
	return err
}

// read fills free pieces with parts until none is left or the upload stops.
func (t *staged) read() error {
	for {
		i := int(t.next.Add(1)) - 1
		if i >= len(t.parts) {
			return nil
		}
		var piece int
		select {
		case piece = <-t.free:
		case <-t.stop:
			return nil
		}
		p := t.parts[i]
		// Whatever becomes of it is told, a panic too: copy waits for it.
		err := guarded.Call(func() error {
			return t.missing[p.tensor].Tensor.ReadAt(t.stager.pieces[piece][:p.bytes], p.offset)
		})
		t.filled <- filled{piece, i, err} // it has room for all pieces
		if err != nil {
			return nil //nolint:nilerr // it is told
		}
	}
}

// copy has the device copy what is filled. It waits for the oldest copy only when there
// is nothing to hand on, so that the device always has some to go on with.
func (t *staged) copy() error {
	for left := len(t.parts); left > 0; {
		var f filled
		if len(t.flying) == 0 {
			f = <-t.filled
		} else {
			select {
			case f = <-t.filled:
			default:
				if err := t.land(); err != nil {
					return err
				}
				left--
				continue
			}
		}
		if err := t.send(f); err != nil {
			m := t.missing[t.parts[f.part].tensor].Tensor
			return status.Wrapf(err, "tensor %q, %v", m.Name, m.Type)
		}
	}
	return nil
}

// send has the device begin to copy a piece.
func (t *staged) send(f filled) error {
	if f.err != nil {
		return f.err
	}
	p, d := t.parts[f.part], t.device
	typ := t.missing[p.tensor].Tensor.Type
	ne := extents(typ.Shape)
	if t.buffers[p.tensor] == nil {
		if C.shim_weight_alloc(d.ptr, C.int32_t(gguf.Number(typ.DType)), &ne[0], &t.buffers[p.tensor]) != 0 {
			return library.LastFailure(d.Name)
		}
	}
	t.flying = append(t.flying, f) // also where it fails: some of it may be under way
	if C.shim_stager_send(t.stager.ptr, C.int32_t(f.piece), C.int32_t(gguf.Number(typ.DType)), &ne[0], t.buffers[p.tensor],
		C.size_t(p.offset), C.size_t(p.bytes)) != 0 {
		return library.LastFailure(d.Name)
	}
	return nil
}

// land waits for the oldest copy and frees its piece.
func (t *staged) land() error {
	f := t.flying[0]
	p := t.parts[f.part]
	if C.shim_stager_wait(t.stager.ptr, C.int32_t(f.piece)) != 0 {
		return library.LastFailure(t.device.Name)
	}
	t.flying = t.flying[1:]
	t.free <- f.piece
	if t.rest[p.tensor] -= p.bytes; t.rest[p.tensor] == 0 {
		t.ready(p.tensor, weight{t.device.ptr, t.buffers[p.tensor]})
		t.buffers[p.tensor] = nil
	}
	return t.went(p.bytes)
}

// abandon gives back the memory of tensors that are not complete, once no copy goes
// there any more: what the device copies ends first, or its queue does.
func (t *staged) abandon() {
	for _, f := range t.flying {
		if C.shim_stager_wait(t.stager.ptr, C.int32_t(f.piece)) != 0 {
			t.device.uploads.close()
			break
		}
	}
	for _, buffer := range t.buffers {
		if buffer != nil {
			C.shim_buffer_free(t.device.ptr, buffer)
		}
	}
}
