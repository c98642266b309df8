// Package handle gives objects to hosts as 64-bit values that are never
// addresses, so that a value that is null, freed, cut short, made up or of
// another kind is found out, whatever the host does with it.
//
// A [Table] is looked up without a lock; [Space] is the typed view of it that
// callers use, and [Ref] holds what was looked up while it is used.
package handle

import "fmt"

// Handle is what a host holds, from the lowest bit: 20 bits of index, 24 of
// generation, 4 of kind, 16 of check. Zero is no handle.
type Handle uint64

const (
	indexBits      = 20
	generationBits = 24
	kindBits       = 4
	valueBits      = indexBits + generationBits + kindBits // what the check bits are made from

	maxSlots      = 1 << indexBits
	maxGeneration = 1<<generationBits - 1
)

// Kind is the kind of object behind a handle. Zero is none.
type Kind uint8

// The kinds.
const (
	Backend Kind = iota + 1
	Weights
	Graph
	Session
	Plan
	Matrix
)

const kinds = int(Matrix) + 1

// String gives the name of the handle's type in the header.
func (k Kind) String() string {
	switch k {
	case Backend:
		return "qtsa_backend"
	case Weights:
		return "qtsa_weights"
	case Graph:
		return "qtsa_graph"
	case Session:
		return "qtsa_session"
	case Plan:
		return "qtsa_plan"
	case Matrix:
		return "qtsa_matrix"
	}
	return fmt.Sprintf("handle of kind %d", uint8(k))
}

func (h Handle) index() uint32      { return uint32(h) & (maxSlots - 1) }
func (h Handle) generation() uint32 { return uint32(h>>indexBits) & maxGeneration }
func (h Handle) kind() Kind         { return Kind(h>>(indexBits+generationBits)) & (1<<kindBits - 1) }

// sealed puts a handle together. The salt differs from table to table, so that
// a handle of another process, or of a second copy of the library, is foreign.
func sealed(index, generation uint32, k Kind, salt uint64) Handle {
	h := Handle(index) | Handle(generation)<<indexBits | Handle(k)<<(indexBits+generationBits)
	return h | h.check(salt)<<valueBits
}

// intact says whether the check bits belong to the rest.
func (h Handle) intact(salt uint64) bool { return h>>valueBits == h.check(salt) }

// check mixes the lower bits into 16: the top of a product with 2^64 divided by
// the golden ratio (Knuth, The Art of Computer Programming, 6.4), which every
// bit below reaches.
func (h Handle) check(salt uint64) Handle {
	return Handle((uint64(h)<<(64-valueBits)>>(64-valueBits) ^ salt) * 0x9E3779B97F4A7C15 >> valueBits)
}
