// Command drawsample draws examples/data/sample.png, the picture that `make demo`
// enlarges: gradients, edges at all angles, thin lines, texture and lettering.
//
//	go run ./examples/data/drawsample examples/data/sample.png
//
// The picture is dedicated to the public domain (CC0).
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
)

const (
	width, height = 160, 120
	samples       = 8 // along each side of a pixel, so that edges are smooth as in a photo
	horizon       = 72.0
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: drawsample OUTPUT.png")
		os.Exit(1)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "drawsample:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(f, draw()); err != nil {
		f.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.Close()
}

func draw() image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for py := range height {
		for px := range width {
			var sum rgb
			for s := range samples * samples {
				x := float64(px) + (float64(s%samples)+0.5)/samples
				y := float64(py) + (float64(s/samples)+0.5)/samples
				sum = sum.add(scene(x, y).times(1.0 / (samples * samples)))
			}
			img.Set(px, py, color.NRGBA{level(sum[0]), level(sum[1]), level(sum[2]), 255})
		}
	}
	return img
}

// rgb is a colour, each part from 0 to 1.
type rgb [3]float64

func (c rgb) add(d rgb) rgb            { return rgb{c[0] + d[0], c[1] + d[1], c[2] + d[2]} }
func (c rgb) times(f float64) rgb      { return rgb{c[0] * f, c[1] * f, c[2] * f} }
func mix(c, d rgb, t float64) rgb      { return c.times(1 - t).add(d.times(t)) }
func level(v float64) uint8            { return uint8(math.Round(255 * clamp(v))) }
func clamp(v float64) float64          { return min(max(v, 0), 1) }
func ramp(from, to, v float64) float64 { return clamp((v - from) / (to - from)) }

// scene is the colour at a point: the lake shows the land above it, rippled.
func scene(x, y float64) rgb {
	if c, ok := foreground(x, y); ok {
		return c
	}
	if y < horizon {
		return land(x, y)
	}
	depth := y - horizon
	ripple := math.Sin(depth*2.6-9*math.Sqrt(depth)+x*0.05) * (0.4 + depth*0.06)
	mirrored := land(x+ripple, 2*horizon-y+0.5*ripple)
	return mix(mirrored, rgb{0.10, 0.20, 0.32}, 0.25+0.35*ramp(0, 50, depth))
}

// land is the sky with the sun, two ranges of mountains, and the lighthouse.
func land(x, y float64) rgb {
	c := mix(rgb{0.22, 0.38, 0.66}, rgb{0.98, 0.78, 0.55}, math.Pow(ramp(0, horizon, y), 1.4))
	sun := math.Hypot(x-104, y-26)
	c = mix(c, rgb{1, 0.92, 0.72}, 0.8*math.Exp(-sun/16))
	if sun < 8 {
		c = rgb{1, 0.97, 0.86}
	}
	for i, base := range []float64{46, 60} {
		if y > ridge(x, base, float64(i)) {
			shade := 0.06*math.Sin(0.5*x+0.9*y+2*math.Sin(0.13*x)) + 0.03*math.Sin(1.1*x-0.8*y)
			c = mix(rgb{0.45, 0.47, 0.62}, rgb{0.16, 0.30, 0.27}, float64(i)).times(1 + shade)
		}
	}
	return lighthouse(c, x, y)
}

// ridge is the height of a range of mountains.
func ridge(x, base, n float64) float64 {
	y := base + 9*math.Sin(x*0.045+2*n) + 4*math.Abs(math.Sin(x*0.11+n))
	return y + 1.5*math.Abs(math.Sin(x*0.37+3*n)) + 0.6*math.Sin(x*1.1)
}

func lighthouse(c rgb, x, y float64) rgb {
	const axis, top = 38.0, 22.0
	half := 3.6 + 0.045*(y-top)
	side := (x - axis) / half // -1 to 1 across the tower
	light := 1 - 0.35*ramp(-0.6, 1, side)
	switch {
	case math.Hypot(x-axis, (y-top+8)*0.9) < 4 && y < top-8: // dome
		return rgb{0.55, 0.14, 0.12}.times(light)
	case math.Abs(x-axis) < 3 && y >= top-8 && y < top-1: // lamp, behind bars
		if math.Abs(math.Mod(x-axis+12, 2)-1) < 0.2 {
			return rgb{0.15, 0.13, 0.15}
		}
		return rgb{1, 0.93, 0.6}
	case math.Abs(x-axis) < 5.4 && y >= top-1 && y < top+1: // gallery
		return rgb{0.2, 0.17, 0.2}
	case math.Abs(side) < 1 && y >= top+1 && y < horizon: // tower, striped
		if math.Mod(y-top+math.Sqrt(max(0, 1-side*side)), 14) < 7 {
			return rgb{0.80, 0.18, 0.15}.times(light)
		}
		return rgb{0.95, 0.93, 0.90}.times(light)
	}
	return c
}

// foreground is the boat and the sign.
func foreground(x, y float64) (rgb, bool) {
	switch {
	case y > 92 && y < 96 && math.Abs(x-118) < 19-1.2*(y-92): // hull
		return mix(rgb{0.42, 0.20, 0.10}, rgb{0.2, 0.09, 0.05}, ramp(92, 96, y)), true
	case segment(x, y, 116, 92, 116, 54) < 0.55: // mast
		return rgb{0.30, 0.20, 0.12}, true
	case segment(x, y, 116, 55, 136, 92) < 0.22, segment(x, y, 116, 55, 100, 92) < 0.22: // stays
		return rgb{0.15, 0.15, 0.18}, true
	case x > 117.2 && y < 89 && y > 57+1.85*(x-117.2): // sails
		return mix(rgb{1, 0.97, 0.90}, rgb{0.85, 0.72, 0.6}, ramp(117, 134, x)), true
	case x < 114.8 && y < 89 && y > 60+2.2*(114.8-x):
		return mix(rgb{0.93, 0.55, 0.25}, rgb{0.75, 0.30, 0.16}, ramp(60, 89, y)), true
	case x > 8 && x < 84 && y > 92 && y < 112:
		return sign(x, y), true
	case y >= 112 && (math.Abs(x-18) < 1.5 || math.Abs(x-74) < 1.5):
		return rgb{0.24, 0.15, 0.09}, true
	}
	return rgb{}, false
}

// sign is a board with the name on it.
func sign(x, y float64) rgb {
	if letters(x-13, y-95.5) < 0.95 {
		return rgb{0.13, 0.10, 0.08}
	}
	grain := math.Sin(2.2*y+1.5*math.Sin(0.09*x)+0.6*math.Sin(0.31*x+y)) * 0.06
	edge := min(x-8, 84-x, y-92, 112-y)
	return rgb{0.86, 0.70, 0.46}.times((1 + grain) * (0.75 + 0.25*ramp(0, 1.5, edge)))
}

// strokes are the letters of "qtsaccel" as polylines in a field 6 wide; the
// lines for ascenders and descenders lie at 0 and 13, for the rest at 4 and 10.
var strokes = [][]float64{
	{5, 4, 2, 4, 0.5, 5.5, 0.5, 8.5, 2, 10, 5, 10},
	{5, 4, 5, 13},
	{9, 1, 9, 8.5, 10.5, 10, 12, 10},
	{7, 4, 12, 4},
	{20, 4.5, 18.5, 4, 16.5, 4, 15.5, 5.5, 16.5, 6.8, 19, 7.3, 20, 8.5, 19, 10, 17, 10, 15.3, 9.5},
	{24, 4.5, 26, 4, 28, 4.5, 28.5, 6, 28.5, 10},
	{28.5, 7, 25, 7, 24, 8.5, 25, 10, 28.5, 9.5},
	{37, 4.5, 35, 4, 33, 5, 32.5, 7, 33, 9, 35, 10, 37, 9.5},
	{45, 4.5, 43, 4, 41, 5, 40.5, 7, 41, 9, 43, 10, 45, 9.5},
	{49, 7, 54, 7, 53.5, 5, 51.5, 4, 49.5, 5, 49, 7, 49.5, 9, 51.5, 10, 53.5, 9.5},
	{58, 0, 58, 8.5, 59.5, 10, 61, 10},
}

// letters is the distance of a point from the nearest stroke.
func letters(x, y float64) float64 {
	nearest := math.Inf(1)
	for _, s := range strokes {
		for i := 0; i+3 < len(s); i += 2 {
			nearest = min(nearest, segment(x, y, 1.05*s[i], s[i+1], 1.05*s[i+2], s[i+3]))
		}
	}
	return nearest
}

// segment is the distance of a point from the line between two others.
func segment(x, y, x0, y0, x1, y1 float64) float64 {
	dx, dy := x1-x0, y1-y0
	t := clamp(((x-x0)*dx + (y-y0)*dy) / (dx*dx + dy*dy))
	return math.Hypot(x-x0-t*dx, y-y0-t*dy)
}
