package elfrename

import (
	"errors"
	"fmt"
)

// verifyLookup finds every defined symbol as the dynamic linker would.
func (im *image) verifyLookup() error {
	var gnu gnuTable
	var buckets, next []byte
	var err error
	if im.gnuHash != nil {
		if gnu, err = im.gnuTable(); err != nil {
			return fmt.Errorf("GNU hash: %w", err)
		}
	}
	if im.hash != nil {
		if buckets, next, err = im.sysvTable(); err != nil {
			return fmt.Errorf("DT_HASH: %w", err)
		}
	}
	for i := 1; i < im.symbolCount(); i++ {
		s := im.symbol(i)
		if s.name == 0 || !s.defined() {
			continue
		}
		name, err := im.str(uint64(s.name))
		if err != nil {
			return err
		}
		if im.gnuHash != nil {
			if err := im.findGNU(gnu, name, i); err != nil {
				return fmt.Errorf("symbol %s: GNU hash: %w", name, err)
			}
		}
		if im.hash != nil && !findSysV(buckets, next, name, i) {
			return fmt.Errorf("symbol %s: not found through DT_HASH", name)
		}
	}
	return nil
}

// findGNU checks that a look-up of name reaches symbol want.
func (im *image) findGNU(t gnuTable, name string, want int) error {
	h := gnuHash(name)
	if word, bits := t.bloomBits(h); le.Uint64(word)&bits != bits {
		return errors.New("filtered out")
	}
	i := int(le.Uint32(t.buckets[4*t.bucketOf(h):]))
	if i < int(t.symOffset) {
		return errors.New("its bucket is empty")
	}
	for ; i < im.symbolCount(); i++ {
		entry := le.Uint32(t.chain[4*(i-int(t.symOffset)):])
		if i == want && entry|1 == h|1 {
			return nil
		}
		if entry&1 == 1 {
			break
		}
	}
	return errors.New("not in its bucket")
}

// findSysV checks that a look-up of name in a DT_HASH table reaches symbol want.
func findSysV(buckets, next []byte, name string, want int) bool {
	i := le.Uint32(buckets[4*(sysvHash(name)%uint32(len(buckets)/4)):])
	for steps := 0; i != 0 && 4*int(i) < len(next) && steps < len(next)/4; steps++ {
		if int(i) == want {
			return true
		}
		i = le.Uint32(next[4*i:])
	}
	return false
}
