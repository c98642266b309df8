// Package backend is what a device must offer to run programs. An
// implementation lives in a package under backends/, and proves itself there
// with one line: backendtest.Run(t, backend).
package backend

import (
	"time"
	"unsafe"

	"qtsaccel/core/graph"
	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// Backend is a device that was opened. Its methods may be called from any goroutine.
type Backend interface {
	// Info says what the backend is.
	Info() Info
	// Supports says whether the backend lowers this call itself; what it does
	// not lower reaches it decomposed, or not at all.
	Supports(c *ops.Call) bool
	// NewStream makes one session's stream of work.
	NewStream() (Stream, error)
	// Upload puts tensors onto the device before any program needs them, those that
	// are there left out. progress, which may be nil, is told the bytes done, from
	// this goroutine; where it gives false, Upload ends with CANCELLED. Tensors that
	// are complete stay, however it ends.
	Upload(tensors []*weights.Tensor, progress func(done int64) bool) error
	// WeightBytes is the memory that weights take on the device in every layout, what
	// lies in the host's own left out.
	WeightBytes(w *weights.Weights) int64
	// Close gives everything back. No stream is open any more.
	Close() error
}

// Info describes a backend for people and for reports.
type Info struct {
	Name        string `json:"name"`             // "cpu", "vulkan:0", "reference"
	Description string `json:"description"`      // the device's own name
	Library     string `json:"library"`          // what computes, with its version: "ggml 0.25.1"
	Plugin      string `json:"plugin,omitempty"` // the file that was loaded, "" for none
	// Searched are the folders where plugins were looked for, the last one with them.
	Searched []string `json:"searched,omitempty"`
	// ProductBits is how many bits of their mantissa the factors of f32 products
	// keep: 24 is all of them; tensor cores take 11.
	ProductBits int      `json:"product_bits"`
	Threads     int      `json:"threads"`         // CPU threads of a run that sets none
	Notes       []string `json:"notes,omitempty"` // what else a user should know
	// OnHost says that it computes where the caller's memory is, so that nothing is
	// gained by computing elsewhere.
	OnHost bool `json:"-"`
	// GathersWindows says that it may convolve without ever having an image's windows in
	// memory, and takes an image whose channels are last, transposed for conv2d, as it lies.
	GathersWindows bool `json:"-"`
	// WholeRange says that products are right for every f32 input, whatever the type of
	// the weight; else inputs beyond f16's range, and what quantising them loses, are not.
	WholeRange bool `json:"-"`
}

// Assisted is a backend that leaves to another what it does not compute itself.
type Assisted interface {
	Backend
	// Own says whether it computes a call itself.
	Own(c *ops.Call) bool
	// Fallback is the other one, which is closed with it.
	Fallback() Backend
}

// Stream is one session's stream of work: its state, its scratch memory, its
// queue. Calls on a stream, and on what it built, never overlap: the session
// takes care of that.
type Stream interface {
	// AddState allocates a state tensor, all zero. The name is new.
	AddState(name string, t tensor.Type) error
	// ResetState sets every state tensor to zero.
	ResetState() error
	// ReadState copies n bytes from an offset in a state to dst, WriteState the
	// other way. The range was checked.
	ReadState(name string, offset int64, dst unsafe.Pointer, n int64) error
	WriteState(name string, offset int64, src unsafe.Pointer, n int64) error
	// Build compiles a program. The states that it names exist, its
	// weights have data.
	Build(p *graph.Program) (Executable, error)
	// Close gives everything back. Every executable is closed.
	Close() error
}

// Executable is a program compiled on a stream.
type Executable interface {
	// Run uploads in, computes, and fills out: one entry for each of the
	// program's inputs and outputs, in their order, sizes checked. A nil Data
	// means "as it was" for an input and "not wanted" for an output. It makes no
	// heap allocation.
	Run(in, out []Buffer, o *RunOptions) error
	// Placement says where the nodes run.
	Placement() Placement
	Close() error
}

// Buffer is host memory; its layout is that of the header's qtsa_input and
// qtsa_output.
type Buffer struct {
	Data  unsafe.Pointer
	Bytes uintptr
}

// RunOptions are the options of one run.
type RunOptions struct {
	Threads int         // 0: the backend's
	Timing  *Timing     // filled if not nil
	Cancel  *CancelFlag // set by another thread to stop the run; never nil
	// Lent says that a backend may compute right in the buffers of this run: no later run
	// relies on an input of it being kept, and outputs may be written if the run fails.
	Lent bool
}

// Timing is how long the parts of a run took; its layout is that of the header's
// qtsa_timing.
type Timing struct {
	Upload, Compute, Download time.Duration
}

// CancelFlag stops a run: not 0 asks for it. It lies in memory outside Go's
// heap, since backends look at it while they compute.
type CancelFlag = int32

// Placement says where a program's nodes run and the memory it takes.
type Placement struct {
	Nodes        []NodePlacement `json:"nodes"`
	ScratchBytes int64           `json:"scratch_bytes"` // of the stream, shared by its executables
	IOBytes      int64           `json:"io_bytes"`      // of inputs and outputs
	Copies       Copies          `json:"copies"`
	// Repacked are the weights that matrix products find repacked for the processor, in
	// copies that all programs of the backend share.
	Repacked []RepackedWeight `json:"repacked,omitempty"`
}

// RepackedWeight is a weight's copy in a layout that products are quicker with.
type RepackedWeight struct {
	Weight string `json:"weight"`
	DType  string `json:"dtype"`
	Layout string `json:"layout"` // ggml's name of it
	Bytes  int64  `json:"bytes"`
}

// Copies are the tensors that a run copies from one device to another by way of
// the host, inputs and outputs not counted.
type Copies struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// NodePlacement counts the nodes of one operator on one device.
type NodePlacement struct {
	Op     string `json:"op"`
	Device string `json:"device"`
	Count  int    `json:"count"`
}
