package device

import (
	"runtime"

	"qtsaccel/core/status"
	"qtsaccel/core/weights"
)

const (
	// pieceBytes is copied at a time: long enough for a card (80 us at 50 GB/s) that
	// what surrounds a copy does not count.
	pieceBytes = 4 << 20
	// mostReaders fill pieces at a time: a thread copies some 5 to 10 GB/s, a card takes
	// 25 to 55.
	mostReaders = 12
	// flyingPieces more are there for the card to copy from meanwhile.
	flyingPieces = 4
	// leastStaged and more goes through pinned memory; less is not worth having it.
	leastStaged = 16 << 20
)

// uploads is how a backend puts many weights onto its device. One goroutine at a time
// uses it: the one that the backend's copies let make some.
type uploads struct {
	piece, least int64 // 0: pieceBytes and leastStaged; tests have less
	stager       *stager
	plain        bool // the device has no pinned memory
}

func (u *uploads) close() {
	if u.stager != nil {
		u.stager.close()
		u.stager = nil
	}
}

// stagerFor gives the pinned memory for an upload, nil where it goes without.
func (u *uploads) stagerFor(d *Device, bytes int64) (*stager, error) {
	if u.piece == 0 {
		u.piece = pieceBytes
	}
	if u.least == 0 {
		u.least = leastStaged
	}
	if u.plain || bytes < u.least {
		return nil, nil
	}
	if u.stager == nil {
		var err error
		if u.stager, err = newStager(d, min(runtime.GOMAXPROCS(0), mostReaders), u.piece); err != nil {
			return nil, err
		}
		u.plain = u.stager == nil
	}
	return u.stager, nil
}

// Upload puts tensors onto the device; see package backend. On the CPU they stay
// where they are.
func (d *Device) Upload(tensors []*weights.Tensor, progress func(done int64) bool) error {
	if d.CPU {
		return weights.EachUploaded(tensors, progress, func(t *weights.Tensor) error {
			_, _, err := d.Weight(t, nil)
			return err
		})
	}
	all, reported := int64(0), int64(-1)
	for _, t := range tensors {
		all += t.Type.Bytes()
	}
	report := func(done int64) bool {
		reported = done
		return progress == nil || progress(done)
	}
	err := d.upload(tensors, func(missing []weights.Missing) error { return d.checkFree(missing) },
		func(left int64) bool { return report(all - left) })
	if err == nil && reported < all && !report(all) {
		err = weights.ErrCancelled(all)
	}
	return err
}

// WeightBytes is what weights take of the device's memory.
func (d *Device) WeightBytes(w *weights.Weights) int64 { return d.copies.Bytes(w) }

// checkFree finds before anything is copied that the device has not enough memory.
func (d *Device) checkFree(missing []weights.Missing) error {
	wanted := bytesMissing(missing)
	total, free, err := d.Memory()
	if err != nil {
		return err
	}
	if total > 0 && wanted > int64(free) {
		return status.Errorf(status.OutOfMemory, "%d tensors: %d bytes wanted, %s has %d free of %d", len(missing), wanted, d.Name,
			free, total)
	}
	return nil
}

func bytesMissing(missing []weights.Missing) int64 {
	n := int64(0)
	for _, m := range missing {
		n += m.Bytes
	}
	return n
}

// UploadStored puts those tensors onto the device, as they are stored, that are not there
// yet. On the CPU that is nothing.
func (d *Device) UploadStored(tensors []*weights.Tensor) error {
	if d.CPU {
		return nil
	}
	return d.upload(tensors, func([]weights.Missing) error { return nil }, func(int64) bool { return true })
}

// Staged says whether uploads have gone through pinned memory.
func (d *Device) Staged() bool { return d.uploads.stager != nil }

func (d *Device) storedBytes(w *weights.Tensor) int64 {
	bytes, _ := stored{}.bytes(d, w.Type)
	return bytes
}

// upload makes the plain copies that are missing, if check finds nothing against it.
// progress is told the bytes left.
func (d *Device) upload(tensors []*weights.Tensor, check func([]weights.Missing) error, progress func(left int64) bool) error {
	return d.copies.GetAll(tensors, nil, d.storedBytes, func(missing []weights.Missing, ready func(int, weights.Copy)) error {
		if err := check(missing); err != nil {
			return err
		}
		left := bytesMissing(missing)
		staged, err := d.uploads.stagerFor(d, left)
		if err != nil {
			return err
		}
		u := &upload{device: d, missing: missing, ready: ready, progress: progress, left: left}
		if !progress(left) {
			return weights.ErrCancelled(0)
		}
		if staged == nil {
			return u.plainly()
		}
		err = u.through(staged)
		if status.Of(err) == status.Internal {
			d.uploads.stager = nil // what an assertion left half done there is left alone
		}
		return err
	})
}

// upload is an upload under way.
type upload struct {
	device   *Device
	missing  []weights.Missing
	ready    func(i int, made weights.Copy)
	progress func(left int64) bool
	left     int64
}

// went counts bytes that are on the device.
func (u *upload) went(bytes int64) error {
	u.left -= bytes
	if !u.progress(u.left) {
		return weights.ErrCancelled(bytesMissing(u.missing) - u.left)
	}
	return nil
}

// plainly copies tensor by tensor out of the host's memory.
func (u *upload) plainly() error {
	runtime.LockOSThread() // the shim's words stay with the thread
	defer runtime.UnlockOSThread()
	for i, m := range u.missing {
		data, err := m.Tensor.Freeze()
		if err != nil {
			return err
		}
		w, err := u.device.newWeight(m.Tensor.Type, data)
		if err != nil {
			return status.Wrapf(err, "tensor %q, %v", m.Tensor.Name, m.Tensor.Type)
		}
		u.ready(i, w)
		if err := u.went(m.Bytes); err != nil {
			return err
		}
	}
	return nil
}
