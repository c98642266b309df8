package elfrename

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes of ELF64 records, in bytes.
const (
	symSize  = 24
	relaSize = 24
	dynSize  = 16
)

var le = binary.LittleEndian

// image is a shared library in memory with what the dynamic linker reads of it
// located and checked to lie inside the file. The slices share one copy of the
// file: writing to them edits it.
type image struct {
	data    []byte
	dynsym  []byte
	dynstr  []byte
	dynamic []byte
	gnuHash []byte // nil if the library has none
	hash    []byte // DT_HASH; nil if the library has none
	versym  []byte // nil if no symbol has a version
	verneed []byte
	verdef  []byte
	relas   [][]byte // relocations that index dynsym
}

// parse copies data and locates its dynamic sections.
func parse(data []byte) (*image, error) {
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not an ELF file: %w", err)
	}
	if file.Class != elf.ELFCLASS64 || file.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%v %v: only 64-bit little-endian ELF is handled", file.Class, file.Data)
	}
	if file.Machine != elf.EM_X86_64 && file.Machine != elf.EM_AARCH64 {
		return nil, fmt.Errorf("%v: only x86-64 and aarch64 are handled", file.Machine)
	}
	if file.Type != elf.ET_DYN {
		return nil, fmt.Errorf("%v: not a shared library", file.Type)
	}

	im := &image{data: bytes.Clone(data)}
	dynsymIndex := -1
	for i, s := range file.Sections {
		if s.Type == elf.SHT_DYNSYM {
			dynsymIndex = i
		}
	}
	if dynsymIndex < 0 {
		return nil, errors.New("no section of dynamic symbols")
	}
	strIndex := int(file.Sections[dynsymIndex].Link)
	if strIndex <= 0 || strIndex >= len(file.Sections) || file.Sections[strIndex].Type != elf.SHT_STRTAB {
		return nil, fmt.Errorf("dynamic symbols name section %d as their strings, which is not a string table", strIndex)
	}

	for i, s := range file.Sections {
		var dst *[]byte
		switch {
		case i == dynsymIndex:
			dst = &im.dynsym
		case i == strIndex:
			dst = &im.dynstr
		case s.Type == elf.SHT_DYNAMIC:
			dst = &im.dynamic
		case s.Type == elf.SHT_GNU_HASH:
			dst = &im.gnuHash
		case s.Type == elf.SHT_HASH:
			dst = &im.hash
		case s.Type == elf.SHT_GNU_VERSYM:
			dst = &im.versym
		case s.Type == elf.SHT_GNU_VERNEED:
			dst = &im.verneed
		case s.Type == elf.SHT_GNU_VERDEF:
			dst = &im.verdef
		case s.Type == elf.SHT_RELA && int(s.Link) == dynsymIndex:
			im.relas = append(im.relas, nil)
			dst = &im.relas[len(im.relas)-1]
		default:
			continue
		}
		size := uint64(len(im.data))
		if s.Offset > size || s.FileSize > size-s.Offset {
			return nil, fmt.Errorf("section %s at offset %d with %d bytes ends outside the file of %d", s.Name, s.Offset, s.FileSize, size)
		}
		*dst = im.data[s.Offset : s.Offset+s.FileSize : s.Offset+s.FileSize]
	}
	return im, im.check()
}

// check refuses layouts that the edit would not cover whole.
func (im *image) check() error {
	switch {
	case len(im.dynsym) == 0 || len(im.dynsym)%symSize != 0:
		return fmt.Errorf("dynamic symbols take %d bytes, not a multiple of %d", len(im.dynsym), symSize)
	case len(im.dynamic) == 0 || len(im.dynamic)%dynSize != 0:
		return fmt.Errorf("the dynamic section takes %d bytes, not a multiple of %d", len(im.dynamic), dynSize)
	case len(im.dynstr) == 0 || im.dynstr[len(im.dynstr)-1] != 0:
		return errors.New("the dynamic strings do not end in a zero byte")
	case im.gnuHash == nil && im.hash == nil:
		return errors.New("neither a GNU hash nor a DT_HASH table")
	case im.versym != nil && len(im.versym) != 2*im.symbolCount():
		return fmt.Errorf("%d bytes of symbol versions for %d symbols", len(im.versym), im.symbolCount())
	}

	// Relocations in a form that is not one of our sections (packed, or REL)
	// would keep stale symbol indices.
	var want, got uint64
	for _, e := range im.dynamicEntries() {
		switch e.tag {
		case elf.DT_RELASZ, elf.DT_PLTRELSZ:
			want += e.value
		case elf.DT_REL:
			return errors.New("relocations without addends (DT_REL) are not handled")
		case elf.DT_PLTREL:
			if elf.DynTag(e.value) != elf.DT_RELA {
				return fmt.Errorf("procedure linkage relocations are %v, only DT_RELA is handled", elf.DynTag(e.value))
			}
		default:
		}
	}
	for _, r := range im.relas {
		if len(r)%relaSize != 0 {
			return fmt.Errorf("relocations take %d bytes, not a multiple of %d", len(r), relaSize)
		}
		got += uint64(len(r))
	}
	if want != got {
		return fmt.Errorf("the dynamic section declares %d bytes of relocations, the sections hold %d", want, got)
	}
	return nil
}

func (im *image) symbolCount() int { return len(im.dynsym) / symSize }

// symbol is one record of the dynamic symbol table.
type symbol struct {
	name  uint32 // offset in dynstr
	bind  elf.SymBind
	shndx elf.SectionIndex
}

func (s symbol) defined() bool { return s.shndx != elf.SHN_UNDEF }

func (im *image) symbol(i int) symbol {
	b := im.dynsym[i*symSize:]
	return symbol{name: le.Uint32(b), bind: elf.ST_BIND(b[4]), shndx: elf.SectionIndex(le.Uint16(b[6:]))}
}

type dynamicEntry struct {
	tag   elf.DynTag
	value uint64
}

// dynamicEntries returns the dynamic section up to its DT_NULL.
func (im *image) dynamicEntries() []dynamicEntry {
	var entries []dynamicEntry
	for b := im.dynamic; len(b) >= dynSize; b = b[dynSize:] {
		e := dynamicEntry{elf.DynTag(le.Uint64(b)), le.Uint64(b[8:])}
		if e.tag == elf.DT_NULL {
			break
		}
		entries = append(entries, e)
	}
	return entries
}

// str returns the dynamic string at an offset.
func (im *image) str(off uint64) (string, error) {
	if off >= uint64(len(im.dynstr)) {
		return "", fmt.Errorf("string offset %d lies outside the %d bytes of dynamic strings", off, len(im.dynstr))
	}
	s := im.dynstr[off:]
	return string(s[:bytes.IndexByte(s, 0)]), nil // check saw the final zero byte
}
