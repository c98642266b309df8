package elfrename

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// base and plugin are two libraries, of which the second needs the first.
const base = `
int ggml_answer(void) { return 42; }
int ggml_data = 7;
__attribute__((weak)) int ggml_weak(void) { return 1; }
int unruled(void) { return 5; }
int ggml_calls_unruled(void) { return unruled(); }
int answer(void) { return 6; }
`

const plugin = `
int ggml_answer(void);
extern int ggml_data;
int ggml_plugin(void) { return ggml_answer() + ggml_data; }
`

// host opens the renamed libraries and looks names up as a program would.
const host = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
typedef int (*fn)(void);
int main(int argc, char **argv) {
	void *b = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void *p = b ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : 0;
	if (!p) { puts(dlerror()); return 1; }
	if (dlsym(b, "ggml_answer") || dlsym(p, "ggml_plugin")) { puts("an old name is left"); return 1; }
	fn names[] = {(fn)dlsym(b, "qtsg_answer"), (fn)dlsym(b, "qtsg_weak"), (fn)dlsym(p, "qtsg_plugin"),
		(fn)dlsym(b, "qtsg_calls_unruled"), (fn)dlsym(b, "answer")};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!names[i]) { printf("name %u is not found\n", i); return 1; }
		printf("%d ", names[i]());
	}
	return 0;
}
`

// interposer brings everything that could be bound to by mistake.
const interposer = `
int ggml_answer(void) { return -1; }
int ggml_data = -1;
int ggml_weak(void) { return -1; }
int unruled(void) { return -1; }
`

var edit = Edit{
	Symbol: func(s string) string { return strings.ReplaceAll(s, "ggml", "qtsg") },
	Library: func(s string) string {
		return strings.TrimSuffix(strings.Replace(s, "libggml", "libqtsg", 1), ".0")
	},
	RunPath: "$ORIGIN",
	Protect: true,
}

// compile makes a shared library or program of C text.
func compile(t testing.TB, out, text string, args ...string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	src := out + ".c"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(cc, append([]string{"-o", out, src}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, msg)
	}
}

// library compiles a shared library and returns its bytes.
func library(t testing.TB, dir, name, text string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(dir, name)
	compile(t, out, text, append([]string{"-shared", "-fPIC", "-Wl,-soname," + name}, args...)...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func requireELF(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elf.Open(self); err != nil {
		t.Skip("not a system of ELF files")
	}
}

// TestRename loads renamed libraries, with each kind of hash table, while
// another library brings the old names and an unruled one into the global scope.
func TestRename(t *testing.T) {
	requireELF(t)
	for _, style := range []string{"gnu", "sysv", "both"} {
		t.Run(style, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			hash := "-Wl,--hash-style=" + style
			for name, data := range map[string][]byte{
				"libqtsg-base.so":   library(t, dir, "libggml-base.so.0", base, hash, "-Wl,-rpath,$ORIGIN:/somewhere"),
				"libqtsg-plugin.so": library(t, dir, "libggml-plugin.so", plugin, hash, "-Wl,-rpath,$ORIGIN:", "-L"+dir, "-l:libggml-base.so.0"),
			} {
				renamed, err := Rename(data, edit)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if len(renamed) != len(data) {
					t.Errorf("%s: %d bytes became %d", name, len(data), len(renamed))
				}
				names, err := Read(renamed)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if names.Soname != name || !slices.Equal(names.RunPath, []string{"$ORIGIN"}) {
					t.Errorf("%s: soname %q, run path %q", name, names.Soname, names.RunPath)
				}
				for _, n := range slices.Concat(names.Needed, names.Defined, names.Undefined) {
					if strings.Contains(n, "ggml") {
						t.Errorf("%s: %s is left", name, n)
					}
				}
				if err := os.WriteFile(filepath.Join(out, name), renamed, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			names, err := Read(must(t, filepath.Join(out, "libqtsg-plugin.so")))
			if err != nil || !slices.Contains(names.Needed, "libqtsg-base.so") {
				t.Errorf("the plugin needs %q (%v), not the renamed base", names.Needed, err)
			}

			library(t, out, "interposer.so", interposer)
			compile(t, filepath.Join(out, "host"), host, "-ldl")
			cmd := exec.Command(filepath.Join(out, "host"), filepath.Join(out, "libqtsg-base.so"), filepath.Join(out, "libqtsg-plugin.so"))
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(out, "interposer.so"))
			got, err := cmd.CombinedOutput()
			if want := "42 1 49 5 6 "; err != nil || string(got) != want {
				t.Errorf("the host got %q (%v), want %q", got, err, want)
			}
		})
	}
}

func must(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRenameKeepsHashSize is about speed: with its buckets gone a table still
// works, but each look-up walks every symbol.
func TestRenameKeepsHashSize(t *testing.T) {
	requireELF(t)
	data := library(t, t.TempDir(), "libggml-base.so", base, "-Wl,--hash-style=gnu")
	renamed, err := Rename(data, edit)
	if err != nil {
		t.Fatal(err)
	}
	before, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := parse(renamed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.gnuHash[:16], after.gnuHash[:16]) {
		t.Errorf("the GNU hash's header changed from % x to % x", before.gnuHash[:16], after.gnuHash[:16])
	}
}

func TestRefusals(t *testing.T) {
	requireELF(t)
	dir := t.TempDir()
	lib := library(t, dir, "libggml-base.so", base)
	damaged := func(change func(im *image)) []byte {
		im, err := parse(lib)
		if err != nil {
			t.Fatal(err)
		}
		change(im)
		return im.data
	}
	with := func(change func(e *Edit)) Edit {
		e := edit
		change(&e)
		return e
	}
	program := filepath.Join(dir, "object")
	compile(t, program, base, "-c")

	tests := []struct {
		name string
		data []byte
		edit Edit
		want string
	}{
		{"empty", nil, edit, "not an ELF file"},
		{"text", []byte("#!/bin/sh\nexit 0\n"), edit, "not an ELF file"},
		{"truncated", lib[:len(lib)/2], edit, ""},
		{"object file", must(t, program), edit, "not a shared library"},
		{"longer symbol", lib, with(func(e *Edit) {
			e.Symbol = func(s string) string { return s + "_" }
		}), "another length"},
		{"longer library", lib, with(func(e *Edit) {
			e.Library = func(s string) string { return s + "_" }
		}), "does not fit"},
		{"colliding", lib, with(func(e *Edit) {
			e.Symbol = func(s string) string { return strings.NewReplacer("ggml_weak", "ggml_data").Replace(s) }
		}), "both become"},
		// answer is stored as the tail of ggml_answer.
		{"shared bytes", lib, with(func(e *Edit) {
			e.Symbol = func(s string) string {
				if s == "ggml_answer" {
					return "ggml_ANSWER"
				}
				return s
			}
		}), "shares bytes"},
		{"symbol name outside", damaged(func(im *image) {
			le.PutUint32(im.dynsym[symSize:], 1<<30)
		}), edit, "outside"},
		{"no buckets", damaged(func(im *image) {
			le.PutUint32(im.gnuHash, 0)
		}), edit, "no buckets"},
		{"too many buckets", damaged(func(im *image) {
			le.PutUint32(im.gnuHash, 1<<31)
		}), edit, "too few"},
		{"unterminated strings", damaged(func(im *image) {
			im.dynstr[len(im.dynstr)-1] = 'x'
		}), edit, "zero byte"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Rename(tt.data, tt.edit)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestDamage holds that a damaged library is never a reason to panic or hang:
// each byte in turn is given extreme values.
func TestDamage(t *testing.T) {
	requireELF(t)
	lib := library(t, t.TempDir(), "libggml-base.so", base, "-Wl,--hash-style=both", "-Wl,-rpath,$ORIGIN:", "-Wl,-z,max-page-size=4096", "-s")
	for i, b := range lib {
		for _, v := range []byte{0, 1, 0x7f, 0xff} {
			lib[i] = v
			_, _ = Rename(lib, edit)
		}
		lib[i] = b
	}
}
