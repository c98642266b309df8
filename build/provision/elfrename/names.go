package elfrename

import (
	"debug/elf"
	"fmt"
)

// Names is what a shared library says about itself and others to the dynamic
// linker.
type Names struct {
	Soname    string
	Needed    []string
	RunPath   []string // DT_RUNPATH and DT_RPATH
	Defined   []string // symbols that others can bind to
	Undefined []string // symbols that it looks for elsewhere
}

// Read returns the names in a shared library.
func Read(data []byte) (Names, error) {
	im, err := parse(data)
	if err != nil {
		return Names{}, err
	}
	return im.names()
}

func (im *image) names() (Names, error) {
	var n Names
	refs, err := im.references()
	if err != nil {
		return n, err
	}
	for _, r := range refs {
		switch r.kind {
		case refSoname:
			n.Soname = r.text
		case refNeeded:
			n.Needed = append(n.Needed, r.text)
		case refRunPath:
			n.RunPath = append(n.RunPath, r.text)
		case refDefined:
			n.Defined = append(n.Defined, r.text)
		case refUndefined:
			n.Undefined = append(n.Undefined, r.text)
		case refVersionFile, refVersion:
		}
	}
	return n, nil
}

// refKind says what a dynamic string is used as.
type refKind int

const (
	refSoname refKind = iota
	refNeeded
	refRunPath
	refDefined
	refUndefined
	refVersionFile // the library that a needed version belongs to
	refVersion     // the name of a version, needed or defined
)

// reference is one use of a dynamic string. Linkers share tails between strings,
// so several references may overlap.
type reference struct {
	kind refKind
	off  uint32
	text string
}

// references lists every use of a dynamic string in the library.
func (im *image) references() ([]reference, error) {
	var refs []reference
	add := func(kind refKind, off uint64, what string) error {
		text, err := im.str(off)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		refs = append(refs, reference{kind, uint32(off), text})
		return nil
	}

	for i := 1; i < im.symbolCount(); i++ {
		s := im.symbol(i)
		if s.name == 0 {
			continue // a section's symbol
		}
		kind := refUndefined
		if s.defined() {
			kind = refDefined
		}
		if err := add(kind, uint64(s.name), fmt.Sprintf("dynamic symbol %d", i)); err != nil {
			return nil, err
		}
	}
	for _, e := range im.dynamicEntries() {
		var kind refKind
		switch e.tag {
		case elf.DT_SONAME:
			kind = refSoname
		case elf.DT_NEEDED:
			kind = refNeeded
		case elf.DT_RUNPATH, elf.DT_RPATH:
			kind = refRunPath
		case elf.DT_AUXILIARY, elf.DT_FILTER:
			return nil, fmt.Errorf("%v: a filter library is not handled", e.tag)
		default:
			continue
		}
		if err := add(kind, e.value, e.tag.String()); err != nil {
			return nil, err
		}
	}
	if err := im.versionReferences(add); err != nil {
		return nil, err
	}
	return refs, nil
}

// versionReferences walks the version tables, whose records are chained by
// relative offsets: Elf64_Verneed with its Vernaux, Elf64_Verdef with its Verdaux.
func (im *image) versionReferences(add func(refKind, uint64, string) error) error {
	const needSize, needAuxSize, defSize, defAuxSize = 16, 16, 20, 8

	err := chain(im.verneed, 0, needSize, 12, func(need []byte, at uint64) error {
		if err := add(refVersionFile, uint64(le.Uint32(need[4:])), "needed version's file"); err != nil {
			return err
		}
		return chain(im.verneed, at+uint64(le.Uint32(need[8:])), needAuxSize, 12, func(aux []byte, _ uint64) error {
			return add(refVersion, uint64(le.Uint32(aux[8:])), "needed version")
		})
	})
	if err != nil {
		return fmt.Errorf("versions needed: %w", err)
	}
	err = chain(im.verdef, 0, defSize, 16, func(def []byte, at uint64) error {
		return chain(im.verdef, at+uint64(le.Uint32(def[12:])), defAuxSize, 4, func(aux []byte, _ uint64) error {
			return add(refVersion, uint64(le.Uint32(aux)), "defined version")
		})
	})
	if err != nil {
		return fmt.Errorf("versions defined: %w", err)
	}
	return nil
}

// chain calls visit for each record of a list whose records hold, at nextAt, the
// distance to the next one, or 0 at the end.
func chain(table []byte, at uint64, size, nextAt int, visit func(record []byte, at uint64) error) error {
	if len(table) == 0 {
		return nil
	}
	for {
		if at > uint64(len(table)) || uint64(len(table))-at < uint64(size) {
			return fmt.Errorf("a record at %d lies outside the table of %d bytes", at, len(table))
		}
		record := table[at : at+uint64(size)]
		if err := visit(record, at); err != nil {
			return err
		}
		next := uint64(le.Uint32(record[nextAt:]))
		if next == 0 {
			return nil
		}
		at += next // grows, so the walk ends
	}
}
