// Package swift compares what the examples in Swift gave, run by `make test-swift`,
// with what the programs in C give, and what the documentation's gave with what it says.
package swift

import (
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if os.Getenv("QTSACCEL_TEST_SWIFT") != "1" {
		println("the examples in Swift are left out: make test-swift runs them")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func dist(elem ...string) string {
	return filepath.Join(append([]string{"..", "..", "dist"}, elem...)...)
}

// given gives the path of what an example gave, or skips where it was not run.
func given(t *testing.T, name string) string {
	t.Helper()
	path := dist("swift", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the example was not run (no swift, or no QTSACCEL_SHARED_DATA): %v", err)
	}
	return path
}

// program runs the example in C.
func program(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(dist("bin", name), append([]string{"--backend", "cpu"}, args...)...).Output()
	require.NoError(t, err)
	return string(out)
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func shared(elem ...string) string {
	return filepath.Join(append([]string{os.Getenv("QTSACCEL_SHARED_DATA")}, elem...)...)
}

func TestStory(t *testing.T) {
	got := text(t, given(t, "story.txt"))
	require.Greater(t, len(got), 60)
	require.Equal(t, program(t, "story", "--model", shared("stories260k", "stories260K_f32.gguf"), "--tokens", "60", "Zoë saw"), got)
}

func TestVAD(t *testing.T) {
	got := text(t, given(t, "vad.txt"))
	require.Equal(t, 4, strings.Count(got, "\n"))
	require.Equal(t, program(t, "vad", "--model", shared("silero-vad", "silero_vad_v6.2_16k_from_onnx.safetensors"),
		shared("silero-vad", "jfk.wav")), got)
}

func TestUpscale(t *testing.T) {
	got := picture(t, given(t, "upscale.png"))
	to := filepath.Join(t.TempDir(), "c.png")
	program(t, "upscale", "--model", dist("esrgan", "x2"), filepath.Join("..", "..", "examples", "data", "sample.png"), to)
	want := picture(t, to)
	require.Equal(t, want.Bounds(), got.Bounds())
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
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

// The documentation's programs print what it says.
func TestDocumentation(t *testing.T) {
	expected, err := os.ReadDir(dist("swift-docs", "expected"))
	require.NoError(t, err)
	require.NotEmpty(t, expected)
	for _, e := range expected {
		want := text(t, dist("swift-docs", "expected", e.Name()))
		require.Equal(t, want, text(t, given(t, "docs-"+e.Name()+".txt")), e.Name())
	}
}

func TestExamplesAreShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "swift", "programs", "Sources", "*", "*.swift"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.LessOrEqual(t, strings.Count(text(t, f), "\n"), 80, f)
	}
}
