package backendtest

import (
	"testing"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/mem"
)

// memory is what a test has taken outside Go's heap.
type memory struct{ arena mem.Arena }

func (m *memory) bytes(t *testing.T, n int64) []byte {
	t.Helper()
	b, err := m.arena.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (m *memory) copyOf(t *testing.T, data []byte) []byte {
	t.Helper()
	b := m.bytes(t, int64(len(data)))
	copy(b, data)
	return b
}

func (m *memory) flag(t *testing.T) *backend.CancelFlag {
	t.Helper()
	return (*backend.CancelFlag)(unsafe.Pointer(unsafe.SliceData(m.bytes(t, 4))))
}

func (m *memory) free(t *testing.T) {
	t.Helper()
	if err := m.arena.Free(); err != nil {
		t.Error(err)
	}
}

// pointing is the buffer over memory that lies outside Go's heap.
func pointing(b []byte) backend.Buffer {
	return backend.Buffer{Data: unsafe.Pointer(unsafe.SliceData(b)), Bytes: uintptr(len(b))}
}

func bytesAt(b backend.Buffer) []byte { return unsafe.Slice((*byte)(b.Data), b.Bytes) }
