package oplevel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"qtsaccel/core/abi"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Geometry is a convolution over an image with its channels last: x [h*w, c_in] to
// y [oh*ow, n_out] with a kernel of k by k and a padding of k/2, rounded down, zeros
// on all sides.
type Geometry struct {
	H, W, CIn, K, Stride, OH, OW int64
}

// Norm is what is done to the input as it is loaded, before it is padded.
type Norm struct {
	Kind        NormKind
	SiLU        bool // afterwards
	Groups      int64
	Eps         float64
	Gamma, Beta unsafe.Pointer // c_in float32 each, or nil: 1 and 0
}

// NormKind is the kind of a norm; the values are the header's.
type NormKind int32

// The kinds of norms.
const (
	NoNorm    NormKind = abi.NormNone
	GroupNorm NormKind = abi.NormGroup // over a group's channels of all pixels
	LayerNorm NormKind = abi.NormLayer // over each pixel's channels
)

// padding is the number of zeros on each side.
func (g *Geometry) padding() int64 { return g.K / 2 }

func (g *Geometry) window() int64 { return g.K * g.K * g.CIn }

// check finds sizes that are wrong, and an output that does not follow from them.
func (g *Geometry) check() error {
	for _, size := range []struct {
		name string
		v    int64
	}{{"h", g.H}, {"w", g.W}, {"c_in", g.CIn}, {"k", g.K}, {"stride", g.Stride}} {
		if size.v < 1 || size.v > math.MaxInt32 {
			return status.Errorf(status.InvalidArgument, "%s is %d, want 1 to 2^31 - 1", size.name, size.v)
		}
	}
	for _, side := range []struct {
		out, in string
		got, n  int64
	}{{"oh", "h", g.OH, g.H}, {"ow", "w", g.OW, g.W}} {
		if want := (side.n+2*g.padding()-g.K)/g.Stride + 1; side.got != want {
			return status.Errorf(status.ShapeMismatch, "%s is %d, want (%s + 2*%d - k) / stride + 1 = (%d + 2*%d - %d) / %d + 1 = %d",
				side.out, side.got, side.in, g.padding(), side.n, g.padding(), g.K, g.Stride, want)
		}
	}
	if _, err := f32Bytes("kernel", g.K, g.K, g.CIn); err != nil {
		return err
	}
	_, err := f32Bytes("windows", g.OH, g.OW, g.window())
	return err
}

func (n *Norm) check(channels int64) error {
	switch n.Kind {
	case NoNorm, LayerNorm:
	case GroupNorm:
		if n.Groups < 1 || channels%n.Groups != 0 {
			return status.Errorf(status.ShapeMismatch, "groups is %d, which does not divide the %d channels", n.Groups, channels)
		}
	default:
		return status.Errorf(status.InvalidArgument, "the norm's kind is %d, want 0 to 2", int32(n.Kind))
	}
	if n.Kind == NoNorm && (n.Gamma != nil || n.Beta != nil) {
		return status.Errorf(status.InvalidArgument, "gamma or beta is given, but the norm's kind is none")
	}
	if n.Kind != NoNorm && !(n.Eps >= 0 && n.Eps <= math.MaxFloat32) {
		return status.Errorf(status.InvalidArgument, "the norm's eps is %v, want 0 or more", n.Eps)
	}
	return nil
}

// Conv2D convolves x, normalised as norm says unless it is nil, into the product's y. The
// product's weight is [n_out, k, k, c_in] or the same as a matrix.
func (c *Calls) Conv2D(x unsafe.Pointer, g Geometry, norm *Norm, j Product, flags Flags) error {
	if err := c.checkConv2D(x, &g, norm, &j, flags); err != nil {
		return status.Wrapf(err, "conv2d")
	}
	r := c.begin("conv2d", flags)
	defer c.end(r)
	return c.conv2d(r, x, &g, norm, &j)
}

func (c *Calls) conv2d(r *request, x unsafe.Pointer, g *Geometry, norm *Norm, j *Product) error {
	var n Norm
	if norm != nil {
		n = *norm
	}
	r.numbers(g.H, g.W, g.CIn, g.K, g.Stride, int64(n.Kind), n.Groups, int64(math.Float64bits(n.Eps)), int64(j.Activation))
	r.matrix(j.Weight)
	r.flag(n.SiLU)
	r.floats(x, g.H*g.W*g.CIn)
	for _, p := range [...]unsafe.Pointer{n.Gamma, n.Beta} {
		r.flag(p != nil)
		if p != nil {
			r.floats(p, g.CIn)
		}
	}
	r.flag(j.Bias != nil)
	if j.Bias != nil {
		r.floats(j.Bias, j.NOut)
	}
	widen := c.loses(rangeOf(j.Weight.dtype()), x, 1, g.H*g.W*g.CIn)
	r.flag(widen)
	normalised := n.Kind != NoNorm || n.SiLU
	tile, pixels := g.tilePixels(normalised), g.OH*g.OW
	// A norm takes about four images beside; those, too, must fit into a few tiles.
	whole := c.info.GathersWindows && g.K > 1 && !j.Weight.dtype().Quantised() && (!normalised || g.H*g.W*g.CIn <= 3*tileBytes/(4*4))
	if whole {
		tile = pixels
	}
	if tiles, blocks := pixels/tile, g.H*g.W/normBlock(g.CIn); max(tiles, blocks) > maxTiles {
		return status.Errorf(status.Unsupported, "conv2d: %d output pixels with windows of %d elements come to %d tiles, a norm's sums to %d; %d are the most",
			pixels, g.window(), tiles, blocks, maxTiles)
	}
	for first := int64(0); first < pixels; first += tile {
		r.output(unsafe.Add(j.Y, 4*first*j.NOut), 4*min(tile, pixels-first)*j.NOut)
	}
	r.shape(1, g.CIn, g.H, g.W)
	r.shape(j.NOut, g.CIn, g.K, g.K)
	r.shape(1, j.NOut, g.OH, g.OW)
	r.countWork(conv2dOp, 2)
	return c.run(r, func(b *builder) {
		if whole {
			b.wholeConv2d(g, &n, j, widen)
		} else {
			b.conv2d(g, &n, j, widen, tile)
		}
	})
}

func (c *Calls) checkConv2D(x unsafe.Pointer, g *Geometry, norm *Norm, j *Product, flags Flags) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := g.check(); err != nil {
		return err
	}
	if norm != nil {
		if err := norm.check(g.CIn); err != nil {
			return err
		}
	}
	if err := notNull("x", x); err != nil {
		return err
	}
	xBytes, err := f32Bytes("x", g.H, g.W, g.CIn)
	if err != nil {
		return err
	}
	if err := j.check(c, -1, g.window()); err != nil {
		return err
	}
	if s := j.Weight.shape; len(s) > 2 && !s.Equal(tensor.Shape{j.NOut, g.K, g.K, g.CIn}) {
		return status.Errorf(status.ShapeMismatch, "the weight is %v, want [n_out, k, k, c_in] = %v", s, tensor.Shape{j.NOut, g.K, g.K, g.CIn})
	}
	if err := notNull("y", j.Y); err != nil {
		return err
	}
	yBytes, err := f32Bytes("y", g.OH, g.OW, j.NOut)
	if err != nil {
		return err
	}
	y := regionOf("y", -1, j.Y, yBytes)
	others := [...]region{regionOf("x", -1, x, xBytes), regionOf("bias", -1, j.Bias, 4*j.NOut), {}, {}}
	if norm != nil {
		others[2], others[3] = regionOf("gamma", -1, norm.Gamma, 4*g.CIn), regionOf("beta", -1, norm.Beta, 4*g.CIn)
	}
	for _, o := range others {
		if err := apart(y, o); err != nil {
			return err
		}
	}
	return nil
}

// tileBytes bounds what a tile of the output takes in scratch memory: its windows,
// and its part of the input in the forms that it goes through.
const tileBytes = 16 << 20

// maxTiles bounds the pieces that a call is made of, each of which takes operators.
const maxTiles = 1 << 16

// normBlock is how many pixels are summed up at a time, in four forms.
func normBlock(channels int64) int64 { return max(1, tileBytes/(4*4*channels)) }

// tilePixels is how many pixels of the output are computed at a time: whole rows, or
// where one row is too much, a part of it.
func (g *Geometry) tilePixels(normalised bool) int64 {
	forms := int64(2) // dense and with the zeros; and what norms compute between
	if normalised {
		forms = 5
	}
	if max(g.W*g.CIn, g.OW*g.window()) <= tileBytes/4 {
		rowIn := forms * 4 * g.W * g.CIn
		row := 4*g.OW*g.window() + g.Stride*rowIn
		if rows := (tileBytes - g.K*rowIn) / row; rows >= 1 {
			return min(rows, g.OH) * g.OW
		}
	}
	return min(max(tileBytes/(4*g.window()), 1), g.OW)
}

// conv2d writes the convolution tile by tile: the rows of the input that a tile
// needs, normalised, with a row of zeros put under them; from these the pixels of
// each window fetched by number; and the product with the weight.
func (b *builder) conv2d(g *Geometry, n *Norm, j *Product, widen bool, tile int64) {
	x := b.input(f32(g.H*g.W, g.CIn))
	load := b.norm(x, g, *n)
	weight := b.rows(j.Weight, widen)
	bias := ops.None
	if j.Bias != nil {
		bias = b.input(f32(j.NOut))
	}
	numbers := map[tileKey]ops.Ref{} // tiles in the middle share theirs
	for first := int64(0); first < g.OH*g.OW && b.err == nil; first += tile {
		end := min(first+tile, g.OH*g.OW)
		windows := b.windows(x, load, g, first, end, numbers)
		in := []ops.Ref{windows, weight}
		if bias != ops.None {
			in = append(in, bias)
		}
		b.output(b.activate(b.op("linear", in), j.Activation))
	}
}

// wholeConv2d writes the convolution as one, for a backend that gathers windows itself.
func (b *builder) wholeConv2d(g *Geometry, n *Norm, j *Product, widen bool) {
	x := b.input(f32(g.H*g.W, g.CIn))
	image := b.reshape(b.norm(x, g, *n)(x), 1, g.H, g.W, g.CIn)
	weight := b.reshape(b.rows(j.Weight, widen), j.NOut, g.K, g.K, g.CIn)
	first := ops.IntsAttr("axes", 0, 3, 1, 2)
	in := []ops.Ref{b.op("transpose", []ops.Ref{image}, first), b.op("transpose", []ops.Ref{weight}, first)}
	if j.Bias != nil {
		in = append(in, b.input(f32(j.NOut)))
	}
	y := b.op("conv2d", in, ops.IntsAttr("stride", g.Stride, g.Stride), ops.IntsAttr("padding", g.padding()))
	y = b.op("transpose", []ops.Ref{y}, ops.IntsAttr("axes", 0, 2, 3, 1))
	b.output(b.activate(b.reshape(y, g.OH*g.OW, j.NOut), j.Activation))
}

// windows gives the windows of pixels [first, end) of the output, one a row.
func (b *builder) windows(x ops.Ref, load func(ops.Ref) ops.Ref, g *Geometry, first, end int64, numbers map[tileKey]ops.Ref) ops.Ref {
	top := max(0, first/g.OW*g.Stride-g.padding())
	bottom := min(g.H, (end-1)/g.OW*g.Stride-g.padding()+g.K)
	if bottom <= top { // the windows meet padding only
		top, bottom = 0, 1
	}
	part := x
	if top > 0 || bottom < g.H {
		part = b.op("slice", []ops.Ref{x}, ops.IntAttr("axis", 0), ops.IntAttr("start", top*g.W), ops.IntAttr("end", bottom*g.W))
	}
	part = load(part)
	if g.K == 1 && g.Stride == 1 && end-first == (bottom-top)*g.W {
		return part
	}
	part = b.op("pad", []ops.Ref{part}, ops.IntsAttr("pads", 0, 0, 1, 0))
	key := g.tileKey(first, end, top, bottom)
	at, ok := numbers[key]
	if !ok {
		at = b.constant(tensor.Type{DType: tensor.I32, Shape: tensor.Shape{(end - first) * g.K * g.K}}, func(ids []byte) {
			g.pixelNumbers(ids, first, end, top, bottom)
		})
		numbers[key] = at
	}
	return b.reshape(b.op("embedding", []ops.Ref{part, at}), end-first, g.window())
}

// tileKey is what the numbers of a tile's pixels depend on: how many there are, in which
// column the first is, how far below the part of the input its window begins, and how
// many rows that part has.
type tileKey struct{ pixels, column, down, rows int64 }

func (g *Geometry) tileKey(first, end, top, bottom int64) tileKey {
	return tileKey{end - first, first % g.OW, first/g.OW*g.Stride - g.padding() - top, bottom - top}
}

// pixelNumbers writes, as i32, for each pixel of the output and each element of the
// kernel the pixel of the input that they meet, counted from row top; where they meet
// padding, the number behind that of the last pixel above row bottom.
func (g *Geometry) pixelNumbers(ids []byte, first, end, top, bottom int64) {
	for p := first; p < end; p++ {
		y, x := p/g.OW*g.Stride-g.padding(), p%g.OW*g.Stride-g.padding()
		for ky := range g.K {
			for kx := range g.K {
				id := (bottom - top) * g.W
				if iy, ix := y+ky, x+kx; iy >= 0 && iy < g.H && ix >= 0 && ix < g.W {
					id = (iy-top)*g.W + ix
				}
				binary.LittleEndian.PutUint32(ids, uint32(id))
				ids = ids[4:]
			}
		}
	}
}
