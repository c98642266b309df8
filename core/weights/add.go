package weights

import (
	"errors"

	"qtsaccel/core/mem"
	"qtsaccel/core/status"
)

// Add adds a tensor of an array's type with its elements, copied, or borrowed as in
// [Array]. ALREADY_EXISTS: the name is taken; other errors are those of
// [Weights.Declare] and [Weights.SetArray]. Where it fails there is no such tensor, and
// nothing is borrowed or released.
func (w *Weights) Add(name string, a Array) error {
	if !w.use() {
		return errReleased()
	}
	defer w.Release()
	if err := CheckName(name); err != nil {
		return err
	}
	return status.Wrapf(w.addArray(name, &a), "tensor %q", name)
}

func (w *Weights) addArray(name string, a *Array) error {
	if err := a.check(); err != nil {
		return err
	}
	if a.borrowable(a.Type) {
		w.mu.Lock()
		defer w.mu.Unlock()
		t, err := w.append(name, a.Type, nil)
		if err != nil {
			return err
		}
		t.data, t.inPlace = a.Data[a.Origin:][:a.Type.Bytes():a.Type.Bytes()], true
		w.borrowed = append(w.borrowed, a.Release)
		return nil
	}
	if _, err := w.Find(name); err == nil { // before anything is copied
		return status.Errorf(status.AlreadyExists, "it exists already")
	}
	data, err := mem.Alloc(a.Type.Bytes())
	if err != nil {
		return err
	}
	if err = a.store(data, a.Type); err == nil {
		err = w.AddFilled(name, a.Type, data)
	}
	if err != nil {
		return errors.Join(err, mem.Free(data))
	}
	if a.Release != nil {
		a.Release()
	}
	return nil
}
