package main

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// cuda is CUDA's driver API, as far as copies to a card without any library in between
// take it. Its calls belong on the thread that opened it.
type cuda struct {
	context     uintptr
	hostAlloc   func(p *unsafe.Pointer, bytes uintptr, flags uint32) int32
	hostFree    func(p unsafe.Pointer) int32
	alloc       func(p *uint64, bytes uintptr) int32
	free        func(p uint64) int32
	copy        func(to uint64, from unsafe.Pointer, bytes uintptr) int32
	copyAsync   func(to uint64, from unsafe.Pointer, bytes, stream uintptr) int32
	synchronize func(stream uintptr) int32
}

// openCUDA makes the first card's own context, which ggml's plugin uses, too, the
// calling thread's.
func openCUDA() (*cuda, error) {
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("there is no CUDA driver: %w", err)
	}
	c := &cuda{}
	var (
		start   func(flags uint32) int32
		get     func(device *int32, ordinal int32) int32
		retain  func(context *uintptr, device int32) int32
		current func(context uintptr) int32
	)
	for name, f := range map[string]any{
		"cuInit": &start, "cuDeviceGet": &get, "cuDevicePrimaryCtxRetain": &retain, "cuCtxSetCurrent": &current,
		"cuMemHostAlloc": &c.hostAlloc, "cuMemFreeHost": &c.hostFree, "cuMemAlloc_v2": &c.alloc, "cuMemFree_v2": &c.free,
		"cuMemcpyHtoD_v2": &c.copy, "cuMemcpyHtoDAsync_v2": &c.copyAsync, "cuStreamSynchronize": &c.synchronize,
	} {
		purego.RegisterLibFunc(f, handle, name)
	}
	var device int32
	for _, call := range []struct {
		name string
		do   func() int32
	}{
		{"cuInit", func() int32 { return start(0) }},
		{"cuDeviceGet", func() int32 { return get(&device, 0) }},
		{"cuDevicePrimaryCtxRetain", func() int32 { return retain(&c.context, device) }},
		{"cuCtxSetCurrent", func() int32 { return current(c.context) }},
	} {
		if err := failed(call.name, call.do()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func failed(call string, code int32) error {
	if code != 0 {
		return fmt.Errorf("%s gave %d", call, code)
	}
	return nil
}

// copies has what the raw measures copy from and to.
type copies struct {
	*cuda
	pinned   unsafe.Pointer // of rawBytes
	device   uint64         // likewise
	pageable []byte         // likewise, touched
}

// rawBytes is copied at a time, long enough that a call does not count.
const rawBytes = 256 << 20

func newCopies() (*copies, error) {
	c, err := openCUDA()
	if err != nil {
		return nil, err
	}
	m := &copies{cuda: c, pageable: make([]byte, rawBytes)}
	if err := failed("cuMemHostAlloc", c.hostAlloc(&m.pinned, rawBytes, 0)); err != nil {
		return nil, err
	}
	for i := 0; i < rawBytes; i += 4096 {
		m.pageable[i] = 1
		*(*byte)(unsafe.Add(m.pinned, i)) = 1
	}
	return m, failed("cuMemAlloc", c.alloc(&m.device, rawBytes))
}

func (c *copies) close() {
	c.free(c.device)
	c.hostFree(c.pinned)
}

// fromPinned copies so many bytes out of pinned memory.
func (c *copies) fromPinned(bytes int64) error {
	for range bytes / rawBytes {
		if err := failed("cuMemcpyHtoDAsync", c.copyAsync(c.device, c.pinned, rawBytes, 0)); err != nil {
			return err
		}
	}
	return failed("cuStreamSynchronize", c.synchronize(0))
}

// fromMemory copies data as it lies.
func (c *copies) fromMemory(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), rawBytes)
		if err := failed("cuMemcpyHtoD", c.copy(c.device, unsafe.Pointer(unsafe.SliceData(data)), uintptr(n))); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
