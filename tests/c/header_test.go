package c

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var functionForm = regexp.MustCompile(`(?m)^QTSA_API [^(]*?(\w+)\(`)

// headerFunctions lists the functions of the header, sorted.
func headerFunctions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "include", "qtsaccel.h"))
	require.NoError(t, err)
	var names []string
	for _, m := range functionForm.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	sort.Strings(names)
	require.NotEmpty(t, names)
	return names
}

// The header stands alone, may be included twice, and is clean in every language
// version that a host may be written in.
func TestHeaderCompiles(t *testing.T) {
	source := filepath.Join(t.TempDir(), "twice")
	const text = `#include "qtsaccel.h"
#include "qtsaccel.h"
#include "layout.h"
int main(void) { return qtsa_attr_int("x", QTSA_DTYPE_F32).type == QTSA_ATTR_INT ? 0 : 1; }
`
	for _, c := range []struct {
		language, ending string
		versions         []string
	}{
		{"c", ".c", []string{"c99", "c11", "c17", "c2x"}},
		{"c++", ".cpp", []string{"c++11", "c++14", "c++17", "c++20"}},
	} {
		require.NoError(t, os.WriteFile(source+c.ending, []byte(text), 0o600))
		for _, v := range c.versions {
			t.Run(v, func(t *testing.T) {
				gcc(t, "-x", c.language, "-std="+v, "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "-o", os.DevNull,
					"-I", filepath.Join(root(t), "include"), "-I", "programs", source+c.ending)
			})
		}
	}
}

// What the header declares is what the library shows, and nothing besides.
func TestLibraryShowsTheHeadersFunctions(t *testing.T) {
	if withASan() {
		t.Skip("the library with the address sanitizer shows the hooks for tests, too")
	}
	out, err := exec.Command("nm", "-D", "--defined-only", filepath.Join(product.in(t), "libqtsaccel.so")).Output()
	require.NoError(t, err)
	var shown []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		require.Len(t, f, 3, line)
		shown = append(shown, f[2])
	}
	sort.Strings(shown)
	require.Equal(t, headerFunctions(t), shown)
}

// The library starts without ggml or a driver, under the name that hosts are
// linked against, and stays where it is once loaded.
func TestLibrarysDynamicSection(t *testing.T) {
	f, err := elf.Open(filepath.Join(product.in(t), "libqtsaccel.so"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	needed, err := f.DynString(elf.DT_NEEDED)
	require.NoError(t, err)
	for _, n := range needed {
		require.NotRegexp(t, `ggml|qtsg|libcuda|libvulkan`, n)
	}
	soname, err := f.DynString(elf.DT_SONAME)
	require.NoError(t, err)
	require.Equal(t, []string{"libqtsaccel.so.0"}, soname)
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	require.NoError(t, err)
	require.Len(t, flags, 1)
	require.NotZero(t, elf.DynFlag1(flags[0])&elf.DF_1_NODELETE, "dlclose must do nothing")
	// dlopen() has 512 bytes for the static thread-local storage of all libraries
	// together (glibc.rtld.optional_static_tls), and Go makes all of ours static.
	for _, p := range f.Progs {
		if p.Type == elf.PT_TLS {
			require.LessOrEqual(t, p.Memsz, uint64(256), "thread-local storage")
		}
	}
	t.Log("needed:", needed)
}
