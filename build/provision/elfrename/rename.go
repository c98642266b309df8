// Package elfrename gives a shared library other names for its symbols, its
// soname and the libraries it needs, in place: so that two builds of one library
// can live in a process whatever scope each was opened in, since the dynamic
// linker knows symbols by name alone.
//
// New names are never longer than the old ones, so nothing in the file moves
// except dynamic symbols, which a GNU hash table wants sorted by bucket. The file
// keeps its tables' sizes, and so its look-ups stay as fast as they were.
package elfrename

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// Edit says what to change in a library.
type Edit struct {
	// Symbol returns the new name of a symbol, of the same length; or the old.
	Symbol func(name string) string
	// Library returns the new name of a library, its own soname or one that it
	// needs, at most as long; or the old.
	Library func(name string) string
	// RunPath replaces each run path. A library without one gets none.
	RunPath string
	// Protect binds references from inside the library to its own definitions,
	// whoever else defines the same name: also for names that Symbol keeps, such
	// as the C++ standard library's templates, of which each library has copies.
	Protect bool
}

// Rename returns an edited copy of a shared library, verified: every name reads
// as asked and every defined symbol is found through the hash tables.
func Rename(data []byte, edit Edit) ([]byte, error) {
	im, err := parse(data)
	if err != nil {
		return nil, err
	}
	if err := im.rewriteStrings(edit); err != nil {
		return nil, err
	}
	if edit.Protect {
		im.protect()
	}
	if im.gnuHash != nil {
		if err := im.rebuildGNUHash(); err != nil {
			return nil, fmt.Errorf("GNU hash: %w", err)
		}
	}
	if im.hash != nil {
		if err := im.rebuildHash(); err != nil {
			return nil, fmt.Errorf("DT_HASH: %w", err)
		}
	}
	return im.data, im.verifyLookup()
}

// rewriteStrings writes the new names over the old, then reads all of them back:
// where strings share bytes, a change to one could spoil another.
func (im *image) rewriteStrings(edit Edit) error {
	refs, err := im.references()
	if err != nil {
		return err
	}
	want := make([]string, len(refs))
	for i, r := range refs {
		name := r.text
		switch r.kind {
		case refDefined, refUndefined:
			name = edit.Symbol(r.text)
			if len(name) != len(r.text) {
				return fmt.Errorf("symbol %s: the new name %s has another length", r.text, name)
			}
		case refSoname, refNeeded, refVersionFile:
			name = edit.Library(r.text)
		case refRunPath:
			name = edit.RunPath
		case refVersion: // kept: a version is hashed where it is defined and needed
		}
		if len(name) > len(r.text) {
			return fmt.Errorf("%q does not fit over %q", name, r.text)
		}
		want[i] = name
		field := im.dynstr[r.off : int(r.off)+len(r.text)]
		clear(field[copy(field, name):])
	}

	old := make(map[string]string) // by new name
	for i, r := range refs {
		got, err := im.str(uint64(r.off))
		if err != nil {
			return err
		}
		if got != want[i] {
			return fmt.Errorf("%q should have become %q but reads %q: it shares bytes with another name", r.text, want[i], got)
		}
		if r.kind == refDefined {
			// Versions of one symbol share a name; two symbols must not.
			if first, ok := old[got]; ok && first != r.text {
				return fmt.Errorf("%q and %q both become %q", first, r.text, got)
			}
			old[got] = r.text
		}
	}
	return nil
}

// protect gives defined symbols protected visibility, and takes from unique ones
// that the whole process shall have them once.
func (im *image) protect() {
	for i := 1; i < im.symbolCount(); i++ {
		s := im.symbol(i)
		if s.name == 0 || !s.defined() {
			continue
		}
		info, other := &im.dynsym[i*symSize+4], &im.dynsym[i*symSize+5]
		switch s.bind {
		case elf.STB_GLOBAL, elf.STB_WEAK:
		case stbGNUUnique:
			*info = byte(elf.STB_GLOBAL)<<4 | *info&0xf
		default:
			continue
		}
		if elf.ST_VISIBILITY(*other) == elf.STV_DEFAULT {
			*other |= byte(elf.STV_PROTECTED)
		}
	}
}

// stbGNUUnique is STB_GNU_UNIQUE, which debug/elf does not name.
const stbGNUUnique = elf.STB_LOOS

// gnuTable is a GNU hash table: a Bloom filter, buckets, and a chain of hashes
// parallel to the symbols from symOffset on, which are sorted by bucket.
type gnuTable struct {
	symOffset  uint32
	bloomShift uint32
	bloom      []byte // 64-bit words
	buckets    []byte // 32-bit indices into the symbols
	chain      []byte // 32-bit hashes, the lowest bit set at a bucket's end
}

// empty reports a table that holds nothing; linkers write such a one, without a
// chain, for a library that defines no symbol.
func (t gnuTable) empty() bool {
	return !slices.ContainsFunc(t.buckets, func(b byte) bool { return b != 0 })
}

func (t gnuTable) bucketOf(h uint32) uint32 { return h % uint32(len(t.buckets)/4) }

// bloomBits returns the filter's word for a hash and the two bits set there.
func (t gnuTable) bloomBits(h uint32) (word []byte, bits uint64) {
	i := h / 64 % uint32(len(t.bloom)/8)
	return t.bloom[i*8:], 1<<(h%64) | 1<<(h>>t.bloomShift%64)
}

func (im *image) gnuTable() (gnuTable, error) {
	const header = 16
	b := im.gnuHash
	if len(b) < header {
		return gnuTable{}, fmt.Errorf("%d bytes are too few for its header", len(b))
	}
	nBuckets, symOffset, nBloom := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])
	t := gnuTable{symOffset: symOffset, bloomShift: le.Uint32(b[12:])}
	if nBuckets == 0 || nBloom == 0 {
		return gnuTable{}, errors.New("no buckets or no Bloom filter")
	}
	rest := b[header:]
	if uint64(len(rest)) < 8*uint64(nBloom)+4*uint64(nBuckets) {
		return gnuTable{}, fmt.Errorf("%d bytes are too few for %d buckets and %d words", len(b), nBuckets, nBloom)
	}
	t.bloom, rest = rest[:8*nBloom], rest[8*nBloom:]
	t.buckets, t.chain = rest[:4*nBuckets], rest[4*nBuckets:]
	if t.empty() {
		return t, nil
	}
	if int64(symOffset) > int64(im.symbolCount()) || len(t.chain) < 4*(im.symbolCount()-int(symOffset)) {
		return gnuTable{}, fmt.Errorf("a chain of %d bytes for symbols %d to %d", len(t.chain), symOffset, im.symbolCount())
	}
	return t, nil
}

// rebuildGNUHash sorts the defined symbols into the buckets of their new names
// and writes the table anew, in the same size.
func (im *image) rebuildGNUHash() error {
	t, err := im.gnuTable()
	if err != nil || t.empty() {
		return err
	}

	type entry struct {
		index int // before sorting
		hash  uint32
	}
	first := int(t.symOffset)
	entries := make([]entry, 0, im.symbolCount()-first)
	for i := first; i < im.symbolCount(); i++ {
		name, err := im.str(uint64(im.symbol(i).name))
		if err != nil {
			return err
		}
		entries = append(entries, entry{i, gnuHash(name)})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(t.bucketOf(a.hash), t.bucketOf(b.hash)) })

	order := make([]int, len(entries))
	for i, e := range entries {
		order[i] = e.index
	}
	if err := im.reorder(first, order); err != nil {
		return err
	}

	clear(t.bloom)
	clear(t.buckets)
	for i, e := range entries {
		word, bits := t.bloomBits(e.hash)
		le.PutUint64(word, le.Uint64(word)|bits)

		bucket := t.bucketOf(e.hash)
		if i == 0 || t.bucketOf(entries[i-1].hash) != bucket {
			le.PutUint32(t.buckets[4*bucket:], uint32(first+i))
		}
		h := e.hash &^ 1
		if i == len(entries)-1 || t.bucketOf(entries[i+1].hash) != bucket {
			h |= 1
		}
		le.PutUint32(t.chain[4*i:], h)
	}
	return nil
}

// reorder puts the symbols from first on into a new order, with their versions,
// and tells the relocations.
func (im *image) reorder(first int, order []int) error {
	moved := make(map[uint32]uint32, len(order))
	oldSyms, oldVers := slices.Clone(im.dynsym), slices.Clone(im.versym)
	for i, from := range order {
		to := first + i
		moved[uint32(from)] = uint32(to)
		copy(im.dynsym[to*symSize:], oldSyms[from*symSize:][:symSize])
		if im.versym != nil {
			copy(im.versym[to*2:], oldVers[from*2:][:2])
		}
	}
	for _, r := range im.relas {
		for ; len(r) > 0; r = r[relaSize:] {
			info := le.Uint64(r[8:])
			sym := uint32(info >> 32)
			if int64(sym) >= int64(im.symbolCount()) {
				return fmt.Errorf("a relocation names symbol %d of %d", sym, im.symbolCount())
			}
			if to, ok := moved[sym]; ok {
				le.PutUint64(r[8:], uint64(to)<<32|info&0xffffffff)
			}
		}
	}
	return nil
}

// sysvTable returns the two arrays of a DT_HASH table: the first symbol of each
// bucket, and for each symbol the next one of its bucket.
func (im *image) sysvTable() (buckets, next []byte, err error) {
	b := im.hash
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%d bytes are too few for its header", len(b))
	}
	nBuckets, nNext := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	if nBuckets == 0 || nNext != uint64(im.symbolCount()) || uint64(len(b)) < 8+4*(nBuckets+nNext) {
		return nil, nil, fmt.Errorf("%d bytes with %d buckets and %d links for %d symbols", len(b), nBuckets, nNext, im.symbolCount())
	}
	return b[8 : 8+4*nBuckets], b[8+4*nBuckets:], nil
}

// rebuildHash writes the DT_HASH table anew, after the symbols have their order.
func (im *image) rebuildHash() error {
	buckets, next, err := im.sysvTable()
	if err != nil {
		return err
	}
	clear(buckets)
	clear(next)
	for i := im.symbolCount() - 1; i > 0; i-- {
		s := im.symbol(i)
		if s.name == 0 {
			continue
		}
		name, err := im.str(uint64(s.name))
		if err != nil {
			return err
		}
		head := buckets[4*(sysvHash(name)%uint32(len(buckets)/4)):]
		copy(next[4*i:4*i+4], head[:4])
		le.PutUint32(head, uint32(i))
	}
	return nil
}

// gnuHash is the hash of DT_GNU_HASH tables.
func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}

// sysvHash is the hash of DT_HASH tables.
func sysvHash(name string) uint32 {
	var h uint32
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		h ^= h >> 24 & 0xf0
	}
	return h & 0x0fffffff
}
