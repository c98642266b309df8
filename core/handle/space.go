package handle

// Space is a table as seen by one kind of object.
type Space[T Object] struct {
	table *Table
	kind  Kind
}

// NewSpace gives the space of a kind, all of whose objects are of type T.
func NewSpace[T Object](t *Table, k Kind) Space[T] { return Space[T]{table: t, kind: k} }

// Add makes a handle for an object and takes over the caller's reference to it.
// It fails with OUT_OF_MEMORY when 2^20 handles exist; the object is then still
// the caller's.
func (s Space[T]) Add(object T) (Handle, error) { return s.table.add(s.kind, object) }

// Acquire looks a handle up and keeps its object from being released until the
// caller lets the Ref go. It takes no lock and does not allocate. The error is
// an INVALID_HANDLE that says what is wrong with the handle.
func (s Space[T]) Acquire(h Handle) (Ref[T], error) {
	sl := s.table.acquire(h, s.kind)
	if sl == nil {
		return Ref[T]{}, s.table.explain(h, s.kind)
	}
	object := sl.object.(T) //nolint:errcheck // Add lets nothing else in under the kind
	return Ref[T]{Object: object, table: s.table, slot: sl}, nil
}

// Free makes a handle invalid at once. Its object is released when nobody has
// it acquired any more: here, or in the last Ref's Release.
func (s Space[T]) Free(h Handle) error { return s.table.free(h, s.kind) }

// Ref is an acquired object.
type Ref[T Object] struct {
	Object T
	table  *Table
	slot   *slot
}

// Release ends the use. It must be called once.
func (r Ref[T]) Release() { r.table.release(r.slot) }
