// Package cpp tests qtsaccel.hpp: it compiles the programs under programs/, and runs
// the examples in C++ beside those in C.
package cpp

import (
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

var lib = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("make", "-s", "-C", "../..", "lib").CombinedOutput()
})

// library gives the folder that the library is in.
func library(t *testing.T) string {
	t.Helper()
	out, err := lib()
	require.NoError(t, err, "make lib: %s", out)
	folder := filepath.Join(root(t), "dist", "lib")
	// Seen by the test cache, which knows nothing of what programs load.
	_, err = os.Stat(filepath.Join(folder, "libqtsaccel.so"))
	require.NoError(t, err)
	return folder
}

// output runs a command that must succeed, on a backend, and gives what it prints.
func output(t *testing.T, backend, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "QTSACCEL_BACKEND="+backend)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %q\n%s%s", program, args, out, stderr.String())
	return string(out)
}

// compilers are those that are here.
func compilers(t *testing.T) []string {
	t.Helper()
	found := []string{"g++"}
	if _, err := exec.LookPath("clang++"); err == nil {
		found = append(found, "clang++")
	} else {
		t.Log("clang++ is not here and left out")
	}
	return found
}

var strict = []string{"-Wall", "-Wextra", "-pedantic", "-Werror"}

func compile(t *testing.T, compiler string, args ...string) {
	t.Helper()
	all := append(append([]string{}, strict...), "-I", filepath.Join(root(t), "include"))
	out, err := exec.Command(compiler, append(all, args...)...).CombinedOutput()
	require.NoError(t, err, "%s %q\n%s", compiler, args, out)
}

// The header may be included twice, and in two files of one program.
func TestHeadersStandAlone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one.cpp": "#include \"qtsaccel.hpp\"\n#include \"qtsaccel.hpp\"\nint other();\nint main() { return other(); }\n",
		"two.cpp": "#include \"qtsaccel.hpp\"\nint other() { qtsa::attributes a; return (int)a.size(); }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	folder := library(t)
	for _, compiler := range compilers(t) {
		compile(t, compiler, "-std=c++17", "-o", filepath.Join(dir, "both"), filepath.Join(dir, "one.cpp"),
			filepath.Join(dir, "two.cpp"), "-L"+folder, "-lqtsaccel", "-Wl,-rpath,"+folder)
		output(t, "cpu", filepath.Join(dir, "both"))
	}
}

func TestPrograms(t *testing.T) {
	folder := library(t)
	for name, flags := range map[string][]string{"values": nil, "graphs": nil, "results": {"-fno-exceptions", "-fno-rtti"}} {
		for _, compiler := range compilers(t) {
			for _, version := range []string{"c++17", "c++20"} {
				t.Run(name+" "+compiler+" "+version, func(t *testing.T) {
					program := filepath.Join(t.TempDir(), name)
					args := append([]string{"-std=" + version, "-O1", "-o", program, filepath.Join("programs", name+".cpp")}, flags...)
					compile(t, compiler, append(args, "-L"+folder, "-lqtsaccel", "-Wl,-rpath,"+folder, "-lpthread")...)
					for _, backend := range []string{"cpu", "reference"} {
						require.Equal(t, "ok\n", output(t, backend, program))
					}
				})
			}
		}
	}
}

// What is no size does not compile, and neither does what would change by itself.
func TestWhatDoesNotCompile(t *testing.T) {
	const before = `#include "qtsaccel.hpp"
using namespace qtsa;
void f(graph &g, dim n, tensor x, session &s, const std::vector<float> &fixed) {
	(void)g, (void)n, (void)x, (void)s, (void)fixed;
	`
	write := func(body string) string {
		name := filepath.Join(t.TempDir(), "f.cpp")
		require.NoError(t, os.WriteFile(name, []byte(before+body+"\n}\n"), 0o600))
		return name
	}
	for _, body := range []string{
		"g.input(\"x\", QTSA_DTYPE_F32, {n, n + 1, 2 * n, n / 2, 4});",
		"ops::reshape(x, {n, -1}); ops::arange(g, n - 1); ops::slice(x, 0, ops::slice_attrs().end(n));",
		"s.write(\"s\", fixed); s.write(\"s\", span(fixed)); std::vector<float> v; s.read(\"s\", v);",
	} {
		compile(t, "g++", "-std=c++17", "-fsyntax-only", write(body))
	}
	for _, body := range []string{
		"g.input(\"x\", QTSA_DTYPE_F32, {2.5});",
		"g.input(\"x\", QTSA_DTYPE_F32, std::vector<float>{2});",
		"ops::arange(g, 2.5);",
		"ops::arange(g, 3, ops::arange_attrs().start(n));", // a float attribute
		"std::int64_t i = n;",
		"dim m = n + 0.5;",
		"std::vector<int> v(n);",
		"s.read(\"s\", fixed);",
	} {
		args := append(append([]string{}, strict...), "-I", filepath.Join(root(t), "include"), "-std=c++17", "-fsyntax-only", write(body))
		out, err := exec.Command("g++", args...).CombinedOutput()
		require.Error(t, err, "%s compiles", body)
		require.Contains(t, string(out), "error:", body)
	}
}

var examples = sync.OnceValues(func() ([]byte, error) {
	for _, language := range []string{"c", "cpp"} {
		if out, err := exec.Command("make", "-s", "-C", "../../examples/"+language).CombinedOutput(); err != nil {
			return out, err
		}
	}
	return nil, nil
})

// example gives the paths of an example in C++ and in C.
func example(t *testing.T, name string) (cpp, c string) {
	t.Helper()
	library(t)
	out, err := examples()
	require.NoError(t, err, "%s", out)
	source, err := os.ReadFile(filepath.Join(root(t), "examples", "cpp", name+".cpp"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(source), "\n"), 80, "%s.cpp has grown", name)
	bin := filepath.Join(root(t), "dist", "bin")
	return filepath.Join(bin, "cpp", name), filepath.Join(bin, name)
}

// shared gives the path of a file of the test data, or skips the test.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	data := os.Getenv("QTSACCEL_SHARED_DATA")
	if data == "" {
		t.Skip("QTSACCEL_SHARED_DATA does not say where the test data is")
	}
	return filepath.Join(append([]string{data}, elem...)...)
}

func TestStory(t *testing.T) {
	cpp, c := example(t, "story")
	model, tokens := shared(t, "stories260k", "stories260K_f32.gguf"), shared(t, "stories260k", "tok512.bin")
	for _, backend := range []string{"cpu", "reference"} {
		for _, prompt := range []string{"", "Once upon a time", "Zoë saw"} {
			want := output(t, backend, c, "--model", model, "--tokens", "60", prompt)
			require.Greater(t, len(want), 60)
			require.Equal(t, want, output(t, backend, cpp, model, tokens, "60", prompt))
		}
	}
}

func TestVAD(t *testing.T) {
	cpp, c := example(t, "vad")
	model := shared(t, "silero-vad", "silero_vad_v6.2_16k_from_onnx.safetensors")
	sound := shared(t, "silero-vad", "jfk.wav")
	want := output(t, "cpu", c, "--model", model, sound)
	require.Equal(t, 4, strings.Count(want, "\n"))
	require.Equal(t, want, output(t, "cpu", cpp, model, sound))
}

func TestUpscale(t *testing.T) {
	cpp, c := example(t, "upscale")
	model := filepath.Join(root(t), "dist", "esrgan", "x2")
	if _, err := os.Stat(model); err != nil {
		t.Skip("ESRGAN's weights are not here: make test-data")
	}
	sample, dir := filepath.Join(root(t), "examples", "data", "sample.png"), t.TempDir()
	output(t, "cpu", c, "--model", model, sample, filepath.Join(dir, "c.png"))
	output(t, "cpu", cpp, model, sample, filepath.Join(dir, "cpp.png"))
	want, got := picture(t, filepath.Join(dir, "c.png")), picture(t, filepath.Join(dir, "cpp.png"))
	require.Equal(t, want.Bounds(), got.Bounds())
	b := want.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			wr, wg, wb, _ := want.At(x, y).RGBA()
			gr, gg, gb, _ := got.At(x, y).RGBA()
			for i, pair := range [][2]uint32{{wr, gr}, {wg, gg}, {wb, gb}} {
				require.InDelta(t, pair[0]>>8, pair[1]>>8, 1, "pixel %d, %d, channel %d", x, y, i)
			}
		}
	}
}

func picture(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	p, err := png.Decode(f)
	require.NoError(t, err)
	return p
}
