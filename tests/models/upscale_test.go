package models

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	samplePicture = root + "/examples/data/sample.png"
	models        = root + "/dist/esrgan"
)

// upscaleModel is the folder of the model for x2, as it was provisioned or, else,
// laid out from the test data.
func upscaleModel(t *testing.T) string {
	t.Helper()
	if provisioned := filepath.Join(models, "x2"); exists(provisioned) {
		return provisioned
	}
	dir := t.TempDir()
	for name, file := range map[string]string{"model.json": "x2_model.json", "group1-shard1of1.bin": "x2_group1-shard1of1.bin"} {
		path, err := filepath.Abs(shared(t, "esrgan-slim", file))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func encode(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func decode(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	out := image.NewNRGBA(img.Bounds())
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, img.At(x, y))
		}
	}
	return out
}

// upscale runs the program on the CPU and gives the picture that it wrote.
func upscale(t *testing.T, input string, args ...string) *image.NRGBA {
	t.Helper()
	output := filepath.Join(t.TempDir(), "larger.png")
	works(t, "upscale", append([]string{"--backend", "cpu", "--model", upscaleModel(t), input, output}, args...)...)
	require.False(t, exists(output+".part"))
	return decode(t, output)
}

func TestUpscaleIsGolden(t *testing.T) {
	golden := readFloats(t, shared(t, "esrgan-slim", "golden_x2_out_256x256x3_f32.bin"))
	onEachBackend(t, func(t *testing.T, backend string) {
		got := upscale(t, shared(t, "esrgan-slim", "fixture_128.png"), "--backend", backend)
		require.Equal(t, image.Rect(0, 0, 256, 256), got.Rect)
		worst, differ := 0.0, 0
		for i, want := range golden {
			pixel, channel := i/3, i%3
			want := math.Round(min(max(float64(want), 0), 255))
			d := math.Abs(want - float64(got.Pix[4*pixel+channel]))
			if d > 0 {
				differ++
			}
			worst = max(worst, d)
			require.LessOrEqual(t, d, 1.0, "channel %d at %d, %d", channel, pixel%256, pixel/256)
		}
		t.Logf("largest difference %g levels, in %d of %d values", worst, differ, len(golden))
		for i := 3; i < len(got.Pix); i += 4 {
			require.EqualValues(t, 255, got.Pix[i])
		}
	})
}

// Windows give what the whole picture at once gives, at its borders too: exactly
// where sums do not depend on a window's size, and else but for rare rounding.
func TestUpscaleWindowsAreSeamless(t *testing.T) {
	for backend, c := range map[string]struct {
		tolerated int
		tiles     []string
	}{"reference": {0, []string{"50"}}, "cpu": {20, []string{"50", "119", "128"}}} {
		t.Run(backend, func(t *testing.T) {
			whole := upscale(t, samplePicture, "--backend", backend, "--tile", "4096")
			require.Equal(t, image.Rect(0, 0, 320, 240), whole.Rect)
			for _, tile := range c.tiles {
				got := upscale(t, samplePicture, "--backend", backend, "--tile", tile)
				require.Equal(t, whole.Rect, got.Rect)
				differ := 0
				for i := range whole.Pix {
					if d := int(whole.Pix[i]) - int(got.Pix[i]); d != 0 {
						require.LessOrEqual(t, max(d, -d), 1, "value %d with windows of %s", i, tile)
						differ++
					}
				}
				t.Logf("%d of %d values differ with windows of %s", differ, len(whole.Pix), tile)
				require.LessOrEqual(t, differ, c.tolerated)
			}
		})
	}
}

func TestUpscaleTakesAnySize(t *testing.T) {
	for _, size := range []image.Point{{1, 1}, {1, 40}, {45, 2}, {33, 32}} {
		img := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range img.Pix {
			img.Pix[i] = 255
		}
		got := upscale(t, write(t, "in.png", encode(t, img)), "--tile", "32")
		require.Equal(t, image.Rectangle{Max: size.Mul(2)}, got.Rect)
	}
}

// Transparency is enlarged bilinearly, and the colours as without it.
func TestUpscaleKeepsAlpha(t *testing.T) {
	opaque := image.NewNRGBA(image.Rect(0, 0, 31, 23))
	sheer := image.NewNRGBA(opaque.Rect)
	alpha := func(x, y int) float64 { return float64((x*x*7 + y*31) % 256) }
	for y := range 23 {
		for x := range 31 {
			c := color.NRGBA{uint8(8 * x), uint8(11 * y), uint8(128 + 4*(x-y)), 255}
			opaque.SetNRGBA(x, y, c)
			c.A = uint8(alpha(x, y))
			sheer.SetNRGBA(x, y, c)
		}
	}
	without := upscale(t, write(t, "opaque.png", encode(t, opaque)))
	got := upscale(t, write(t, "sheer.png", encode(t, sheer)))
	for y := range 46 {
		for x := range 62 {
			have, want := got.NRGBAAt(x, y), without.NRGBAAt(x, y)
			// The centre of the pixel in the small picture's coordinates.
			cx, cy := (float64(x)+0.5)/2-0.5, (float64(y)+0.5)/2-0.5
			x0, y0 := int(math.Floor(cx)), int(math.Floor(cy))
			fx, fy := cx-float64(x0), cy-float64(y0)
			at := func(x, y int) float64 { return alpha(min(max(x, 0), 30), min(max(y, 0), 22)) }
			a := (1-fy)*((1-fx)*at(x0, y0)+fx*at(x0+1, y0)) + fy*((1-fx)*at(x0, y0+1)+fx*at(x0+1, y0+1))
			require.InDelta(t, a, float64(have.A), 0.51, "alpha at %d, %d", x, y)
			have.A = 255
			require.Equal(t, want, have, "at %d, %d", x, y)
		}
	}
}

// What a PNG can hold besides 8-bit RGB is read as the same picture.
func TestUpscaleReadsOtherPNGs(t *testing.T) {
	rgb, grey := image.NewNRGBA(image.Rect(0, 0, 20, 20)), image.NewGray(image.Rect(0, 0, 20, 20))
	deep, palette := image.NewNRGBA64(rgb.Rect), image.NewPaletted(rgb.Rect, nil)
	for v := range 20 {
		palette.Palette = append(palette.Palette, color.Gray{uint8(12 * v)})
	}
	for y := range 20 {
		for x := range 20 {
			v := uint8((x ^ y) % 20 * 12)
			for _, img := range []interface{ Set(x, y int, c color.Color) }{rgb, grey, deep, palette} {
				img.Set(x, y, color.Gray{v})
			}
		}
	}
	want := upscale(t, write(t, "rgb.png", encode(t, rgb)))
	for name, img := range map[string]image.Image{"grey": grey, "16 bits": deep, "palette": palette} {
		require.Equal(t, want.Pix, upscale(t, write(t, "in.png", encode(t, img))).Pix, name)
	}
}

func TestUpscaleTellsWhatItDoes(t *testing.T) {
	output := filepath.Join(t.TempDir(), "larger.png")
	r := run(t, "upscale", "--backend", "cpu", "--model", upscaleModel(t), samplePicture, output)
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `^cpu \(.+\), \d+\.\d\d s, `+regexp.QuoteMeta(output)+`\n$`, r.stdout)
	shown := strings.Fields(strings.ReplaceAll(r.stderr, "%", ""))
	require.Equal(t, "0", shown[0])
	require.Equal(t, "100", shown[len(shown)-1])

	r = run(t, "upscale", "--help")
	require.Zero(t, r.code)
	require.Contains(t, r.stdout, "usage: upscale")
}

func TestUpscaleReplacesOutput(t *testing.T) {
	output := write(t, "larger.png", []byte("an older result"))
	works(t, "upscale", "--backend", "cpu", "--model", upscaleModel(t), samplePicture, output)
	require.Equal(t, image.Rect(0, 0, 320, 240), decode(t, output).Rect)
}

func TestUpscaleErrors(t *testing.T) {
	model, dir := upscaleModel(t), t.TempDir()
	sample, err := os.ReadFile(samplePicture)
	require.NoError(t, err)
	missing, text := filepath.Join(dir, "missing"), write(t, "text.png", []byte("no picture, only words"))
	cut, output := write(t, "cut.png", sample[:len(sample)/2]), filepath.Join(dir, "larger.png")

	// Models that are none, each with another mistake.
	weights, err := os.ReadFile(filepath.Join(model, "group1-shard1of1.bin"))
	require.NoError(t, err)
	topology, err := os.ReadFile(filepath.Join(model, "model.json"))
	require.NoError(t, err)
	broken := func(topology, weights string) string {
		path := write(t, "model.json", []byte(topology))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "group1-shard1of1.bin"), []byte(weights), 0o600))
		return filepath.Dir(path)
	}
	long, short := string(weights)+"\x00", string(weights[:len(weights)/2])
	renamed := strings.ReplaceAll(string(topology), `"UPN1/kernel"`, `"other/kernel"`)
	negative := strings.ReplaceAll(string(topology), `"shape": [64]`, `"shape": [-64]`)
	foreign := strings.ReplaceAll(string(topology), `"shape": [3, 3, 12, 3]`, `"shape": [3, 3, 3, 12]`)

	for name, c := range map[string]struct {
		words []string
		args  []string
	}{
		"missing picture":      {[]string{missing, "No such file"}, []string{missing, output}},
		"no picture":           {[]string{text, "PNG"}, []string{text, output}},
		"half a picture":       {[]string{cut}, []string{cut, output}},
		"a folder":             {[]string{dir}, []string{dir, output}},
		"output in no folder":  {[]string{missing, "No such file"}, []string{samplePicture, missing + "/larger.png"}},
		"output is a folder":   {[]string{dir, "no file"}, []string{samplePicture, dir}},
		"output is a device":   {[]string{"/dev/null", "no file"}, []string{samplePicture, "/dev/null"}},
		"missing model":        {[]string{missing + "/model.json", "No such file"}, []string{"--model", missing, samplePicture, output}},
		"model without data":   {[]string{"group1-shard1of1.bin"}, []string{"--model", filepath.Dir(write(t, "model.json", topology)), samplePicture, output}},
		"model is no JSON":     {[]string{"weightsManifest"}, []string{"--model", broken("{", ""), samplePicture, output}},
		"model without layer":  {[]string{"UPN1/kernel"}, []string{"--model", broken(renamed, string(weights)), samplePicture, output}},
		"model of no size":     {[]string{"-64"}, []string{"--model", broken(negative, string(weights)), samplePicture, output}},
		"model of other shape": {[]string{"2 times"}, []string{"--model", broken(foreign, string(weights)), samplePicture, output}},
		"data too short":       {[]string{"data ends before"}, []string{"--model", broken(string(topology), short), samplePicture, output}},
		"data too long":        {[]string{"888301"}, []string{"--model", broken(string(topology), long), samplePicture, output}},
		"unknown backend":      {[]string{"abacus"}, []string{"--backend", "abacus", "--model", model, samplePicture, output}},
		"tile too small":       {[]string{"--tile", "32", `"20"`}, []string{"--tile", "20", samplePicture, output}},
		"no output":            {[]string{"usage"}, []string{samplePicture}},
		"unknown option":       {[]string{"--frobnicate", "usage"}, []string{"--frobnicate"}},
		"three pictures":       {[]string{"usage"}, []string{samplePicture, output, output}},
	} {
		t.Run(name, func(t *testing.T) {
			fails(t, c.words, "upscale", append([]string{"--model", model}, c.args...)...)
			require.False(t, exists(output))
			require.False(t, exists(output+".part"))
		})
	}
	info, err := os.Stat("/dev/null")
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice)
}

func TestUpscaleRefusesOtherFactors(t *testing.T) {
	if !exists(models) {
		t.Skip("the models for other factors are not there: make test-data")
	}
	for _, factor := range []string{"x3", "x4", "x8"} {
		fails(t, []string{factor, "2 times"}, "upscale", "--model", filepath.Join(models, factor),
			samplePicture, filepath.Join(t.TempDir(), "larger.png"))
	}
}
