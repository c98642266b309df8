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
const renameVersion = "2"

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

// own says whether a symbol bears one of our names. Others bind inside their
// library only.
func own(name string) bool {
	return strings.Contains(name, "qts") || strings.Contains(name, "qt2xs_") || strings.Contains(name, "qt3xs_")
}

// standard says whether a symbol is of C++'s run-time library: std, what GCC keeps
// beside it, the operators new and delete, or a name that C reserves for the compiler.
// A library of ggml may carry instances of its templates that another takes from there
// (GCC 13 leaves a part of std::string so), or the whole of it where the compiler links
// it statically.
func standard(name string) bool {
	mangled, ok := strings.CutPrefix(name, "_Z")
	if !ok {
		return strings.HasPrefix(name, "__")
	}
	return ofStandardLibrary.MatchString(mangled)
}

// After "_Z", in the Itanium C++ ABI's mangling (5.1.4 to 5.1.9): a virtual table, type
// information, a guard, a thunk or a transactional clone of it, or the entity itself,
// nested and qualified or not.
var ofStandardLibrary = regexp.MustCompile(`^(T[VTISC]|GV|GTt|T(hn?\d+|vn?\d+_n?\d+)_)?(N[VKRO]*)?(S[tabsiod]|9__gnu_cxx|10__cxxabiv1|n[wa]|d[la])`)

// renameELF returns a library of ggml under our names, checked.
func renameELF(data []byte) ([]byte, elfrename.Names, error) {
	renamed, err := elfrename.Rename(data, elfrename.Edit{
		Symbol:  renameSymbol,
		Library: renameLibrary,
		RunPath: "$ORIGIN",
		Protect: true,
	})
	if err != nil {
		return nil, elfrename.Names{}, err
	}
	names, err := elfrename.Read(renamed)
	if err != nil {
		return nil, elfrename.Names{}, fmt.Errorf("reading it back: %w", err)
	}
	return renamed, names, checkNames(names)
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
		var names elfrename.Names
		if data, names, err = renameELF(data); err != nil {
			return fmt.Errorf("renaming the symbols of %s: %w", from, err)
		}
		name = renameLibrary(name)
		s.names[name] = names
	}
	return os.WriteFile(s.path(libraryDir, name), data, 0o755)
}

// checkLinks refuses a stage in which one library needs a name of another's that
// kept its old form: another ggml in the process could answer for it. A new version
// of ggml may bring such a name; symbolRules then wants another line.
func (s *stage) checkLinks() error {
	defined := make(map[string]string)
	for lib, n := range s.names {
		for _, name := range n.Defined {
			defined[name] = lib
		}
	}
	for lib, n := range s.names {
		for _, name := range n.Undefined {
			if by, ok := defined[name]; ok && by != lib && !own(name) && !standard(name) {
				return fmt.Errorf("%s needs %s of %s, which no rule renames", lib, name, by)
			}
		}
	}
	return nil
}
