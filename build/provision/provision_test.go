package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qtsaccel/build/provision/elfrename"
)

// hostProject returns the repository's project, as the command sees it.
func hostProject(t *testing.T) *project {
	t.Helper()
	p, err := openProject()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProvisioned computes products with what is in dist/, whichever route it
// came by, while another ggml is preloaded if there is one.
func TestProvisioned(t *testing.T) {
	p := hostProject(t)
	if p.host.os != "linux" {
		t.Skip("libraries are renamed on Linux only")
	}
	if _, err := os.Stat(p.dist(versionFile)); err != nil {
		t.Skip("ggml is not provisioned")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	program := filepath.Join(t.TempDir(), "product")
	if msg, err := exec.Command(cc, "-Wall", "-Werror", "-I", p.dist(includeDir), "-o", program, "testdata/product.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, msg)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(readText(t, p.dist(versionFile)), "version: "), "\n")

	preloads := map[string]string{"alone": ""}
	for _, other := range []string{"older", "same"} {
		lib := p.dist("other-ggml", other, "libggml-base.so")
		if _, err := os.Stat(lib); err == nil {
			preloads["with "+other] = lib + ":" + p.dist("other-ggml", other, "libggml-cpu-x64.so")
		}
	}
	kinds := []string{"libqtsg-cpu"}
	if drivers, err := filepath.Glob("/usr/share/vulkan/icd.d/lvp*.json"); err == nil && len(drivers) > 0 {
		kinds = append(kinds, "libqtsg-vulkan")
	}
	for name, preload := range preloads {
		for _, kind := range kinds {
			t.Run(kind+" "+name, func(t *testing.T) {
				cmd := exec.Command(program, p.dist(libraryDir), kind)
				// ggml passes software devices over unless one is named.
				cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload, "GGML_VK_VISIBLE_DEVICES=0")
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), version+": ") {
					t.Errorf("%v\n%s\nwant ggml %s", err, out, version)
				}
				t.Logf("%s", out)
			})
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPrebuiltPlatforms provisions for each platform from the packages that are
// in dist/download; it fetches nothing.
func TestPrebuiltPlatforms(t *testing.T) {
	tests := []struct {
		host platform
		want []string
	}{
		{platform{"linux", "amd64"}, []string{"libqtsg-base.so", "libqtsg-cpu-haswell.so", "libqtsg-vulkan.so"}},
		{platform{"linux", "arm64"}, []string{"libqtsg-base.so", "libqtsg-cpu-armv8.0_1.so"}},
		{platform{"darwin", "arm64"}, []string{"libggml-base.dylib", "libggml-cpu-apple_m1.so", "libggml-metal.so"}},
		{platform{"darwin", "amd64"}, []string{"libggml-base.dylib", "libggml-cpu-haswell.so"}},
	}
	host := hostProject(t)
	for _, tt := range tests {
		t.Run(tt.host.String(), func(t *testing.T) {
			p := &project{root: t.TempDir(), pins: host.pins, env: func(string) string { return "" }, host: tt.host}
			libs, err := p.pins.npm(tt.host.pinPrefix())
			if err != nil {
				t.Fatal(err)
			}
			source, err := p.pins.ggmlSource(tt.host)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(p.dist("download"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, pkg := range []npmPackage{libs, source} {
				from := host.dist("download", pkg.file())
				if _, err := os.Stat(from); err != nil {
					t.Skipf("%s is not in dist/download", pkg.file())
				}
				if err := os.Symlink(from, p.dist("download", pkg.file())); err != nil {
					t.Fatal(err)
				}
			}

			if err := provisionGGML(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			for _, name := range tt.want {
				data, err := os.ReadFile(p.dist(libraryDir, name))
				if err != nil {
					t.Error(err)
				}
				if !tt.host.renames() || err != nil {
					continue
				}
				names, err := elfrename.Read(data)
				if err != nil {
					t.Fatal(err)
				}
				if name != "libqtsg-base.so" && !slices.Contains(names.Needed, "libqtsg-base.so") {
					t.Errorf("%s needs %q", name, names.Needed)
				}
			}
			for _, name := range []string{includeDir + "/ggml.h", includeDir + "/gguf.h", licenceFile, versionFile} {
				if _, err := os.Stat(p.dist(name)); err != nil {
					t.Error(err)
				}
			}

			// A second run changes nothing; one after a loss makes it good.
			before, err := os.Stat(p.dist(libraryDir))
			if err != nil {
				t.Fatal(err)
			}
			if err := provisionGGML(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if after, err := os.Stat(p.dist(libraryDir)); err != nil || !os.SameFile(before, after) {
				t.Errorf("a second run did the work again (%v)", err)
			}
			lost := p.dist(libraryDir, tt.want[1])
			if err := os.Remove(lost); err != nil {
				t.Fatal(err)
			}
			if err := provisionGGML(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(lost); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(p.dist(".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestRenameNames(t *testing.T) {
	for old, want := range map[string]string{
		"libggml-base.so":            "libqtsg-base.so",
		"libggml-base.so.0":          "libqtsg-base.so",
		"libggml-base.so.0.27.0":     "libqtsg-base.so",
		"libggml-cpu-armv8.2_1.so":   "libqtsg-cpu-armv8.2_1.so",
		"libggml-cpu-armv8.2_1.so.0": "libqtsg-cpu-armv8.2_1.so",
		"libggml.so.0":               "libqtsg.so",
		"libstdc++.so.6":             "libstdc++.so.6",
		"libvulkan.so.1":             "libvulkan.so.1",
	} {
		if got := renameLibrary(old); got != want || len(got) > len(old) {
			t.Errorf("library %s becomes %s, want %s", old, got, want)
		}
	}
	if got := unversioned("libggml-base.0.27.0.dylib"); got != "libggml-base.dylib" {
		t.Errorf("got %s", got)
	}
	for old, want := range map[string]string{
		"ggml_mul_mat":                   "qtsg_mul_mat",
		"gguf_init_from_file":            "qtsu_init_from_file",
		"dequantize_row_q4_0":            "deqts_tize_row_q4_0",
		"_Z14gguf_type_size9gguf_type":   "_Z14qtsu_type_size9qtsu_type",
		"iq2xs_init_impl":                "qt2xs_init_impl",
		"llamafile_sgemm":                "qtsa_file_sgemm",
		"_ZN4ggml3cpu13tensor_traitsE":   "_ZN4qtsg3cpu13tensor_traitsE",
		"malloc":                         "malloc",
		"_ZNSt6vectorIiSaIiEE7reserveEm": "_ZNSt6vectorIiSaIiEE7reserveEm",
	} {
		if got := renameSymbol(old); got != want || len(got) != len(old) {
			t.Errorf("symbol %s becomes %s, want %s", old, got, want)
		}
	}
}

// TestCheckLinks needs a name to be ours only where it is looked for in another
// library.
func TestCheckLinks(t *testing.T) {
	// As GCC 13 leaves it; libstdc++ has it, too.
	const replace = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm"
	s := &stage{names: map[string]elfrename.Names{
		"base":   {Defined: []string{"qtsg_new", "inner", "shared", replace}, Undefined: []string{"malloc", "inner"}},
		"plugin": {Undefined: []string{"qtsg_new", "malloc", replace}},
	}}
	if err := s.checkLinks(); err != nil {
		t.Error(err)
	}
	s.names["other"] = elfrename.Names{Undefined: []string{"shared"}}
	if err := s.checkLinks(); err == nil || !strings.Contains(err.Error(), "other needs shared of base") {
		t.Errorf("got %v", err)
	}
}

// TestStandard has what GCC 13 exports from a library that libstdc++ is linked into, and
// names that are somebody's own.
func TestStandard(t *testing.T) {
	for name, want := range map[string]bool{
		"__cxa_begin_catch":             true,
		"__gxx_personality_v0":          true,
		"_Znwm":                         true,
		"_ZdaPvSt11align_val_t":         true,
		"_ZSt20__throw_length_errorPKc": true,
		"_ZNSt13runtime_errorC1ERKSs":   true,
		"_ZNSs6assignEPKc":              true,
		"_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv": true,
		"_ZTVSt9exception":                        true,
		"_ZTSNSt3_V214error_categoryE":            true,
		"_ZTIN10__cxxabiv117__class_type_infoE":   true,
		"_ZN9__gnu_cxx20recursive_init_errorD2Ev": true,
		"_ZGTtNSt12length_errorC1EPKc":            true,
		"_ZThn16_NSdD1Ev":                         true,

		"shared":                           false,
		"_Z6sharedPKc":                     false,
		"_Z4noneSt6vectorIiSaIiEE":         false,
		"_ZN5other4makeESt8functionIFvvEE": false,
		"_ZTV6plugin":                      false,
		"_ZN4Some3stdEv":                   false,
	} {
		if standard(name) != want {
			t.Errorf("standard(%s) = %v", name, !want)
		}
	}
}
