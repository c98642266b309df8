package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"qtsaccel/build/provision/elfrename"
)

// symbolRules turn ggml's names into ours wherever they occur in a symbol, C++
// names included; old and new are of one length. The first two cover all but a
// few of what it exports.
var symbolRules = strings.NewReplacer(
	"ggml", "qtsg",
	"gguf", "qtsu",
	"quantize", "qts_tize",
	"llamafile", "qtsa_file",
	"iq2xs_", "qt2xs_",
	"iq3xs_", "qt3xs_",
)

// renameVersion is raised when a change of the rules or of the edit makes
// libraries that were provisioned before stale.
const renameVersion = "1"

func renameSymbol(name string) string { return symbolRules.Replace(name) }

// renameLibrary returns our name for one of ggml's libraries: libqtsg-base.so for
// libggml-base.so, and for libggml-base.so.0 too, so that plugins find the base
// under one name whichever way it came. Other libraries keep their names.
func renameLibrary(name string) string {
	if rest, ok := strings.CutPrefix(name, "libggml"); ok {
		return unversioned("libqtsg" + rest)
	}
	return name
}

// foreign matches the C++ standard library's names, which every C++ library
// carries copies of and shares.
var foreign = regexp.MustCompile(`^_Z[A-Z]*(N[KVO]*)?(S[a-z]|N9__gnu_cxx|9__gnu_cxx)`)

// own says whether a symbol bears one of our names.
func own(name string) bool {
	return strings.Contains(name, "qts") || strings.Contains(name, "qt2xs_") || strings.Contains(name, "qt3xs_")
}

// renameELF returns a library of ggml under our names, checked.
func renameELF(data []byte) ([]byte, error) {
	renamed, err := elfrename.Rename(data, elfrename.Edit{
		Symbol:  renameSymbol,
		Library: renameLibrary,
		RunPath: "$ORIGIN",
		Protect: func(name string) bool { return !own(name) && !foreign.MatchString(name) },
	})
	if err != nil {
		return nil, err
	}
	names, err := elfrename.Read(renamed)
	if err != nil {
		return nil, fmt.Errorf("reading it back: %w", err)
	}
	return renamed, checkNames(names)
}

// checkNames refuses a library in which a name of ggml's is left.
func checkNames(n elfrename.Names) error {
	all := slices.Concat([]string{n.Soname}, n.Needed, n.Defined, n.Undefined)
	for _, name := range all {
		if strings.Contains(name, "ggml") || strings.Contains(name, "gguf") {
			return fmt.Errorf("%s kept its name", name)
		}
	}
	for _, rp := range n.RunPath {
		if rp != "$ORIGIN" {
			return fmt.Errorf("its run path is %q", rp)
		}
	}
	if len(n.Defined) == 0 {
		return errors.New("it defines no symbols")
	}
	return nil
}

// installLibrary copies a library of ggml into a stage, under our name and with
// our symbols where the platform needs that.
func (s *stage) installLibrary(from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	name := filepath.Base(from)
	if s.p.host.renames() {
		if data, err = renameELF(data); err != nil {
			return fmt.Errorf("renaming the symbols of %s: %w", from, err)
		}
		name = renameLibrary(name)
	}
	return os.WriteFile(s.path(libraryDir, name), data, 0o755)
}
