package oplevel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"qtsaccel/core/backend"
	"qtsaccel/core/cache"
	"qtsaccel/core/ops"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// A calibration times four calls on the device and on its CPU fallback: one that is
// all overhead, one that is all transfer, and large ones of each class. It ends with
// the call in which its budget is used up, leaving out what there is no time for.
const (
	// answerBudget is for a calibration that somebody waits for, and how long the first
	// answer waits for one that goes on meanwhile.
	answerBudget      = 900 * time.Millisecond
	calibrationBudget = 3 * time.Second
	// sampleBudget is what repeating one call may take. Half of it for a single call
	// is reason enough not to try a larger one.
	sampleBudget = 20 * time.Millisecond
)

// bench has the memory and the deadline of a calibration.
type bench struct {
	deadline time.Time
	x, y     []float32
	done     work // of the last call
}

const (
	benchFloats = 1 << 18
	benchSide   = 768
)

// sample is a call of a calibration, in a size.
type sample struct {
	class ops.Cost
	shape tensor.Shape // of its matrix
	run   func(c *Calls, m *Matrix, b *bench, size int64) error
}

// sizes are tried one after the other, as long as there is time: the larger, the more
// it tells of the rate, and on a slow device the smallest tells enough.
var sizes = []int64{4, 16, 32}

// samples gives the calls of the classes that compute much.
func samples() []sample {
	return []sample{
		{
			ops.MatmulCost,
			tensor.Shape{benchSide, benchSide},
			func(c *Calls, m *Matrix, b *bench, n int64) error { return b.matmul(c, m, 4*n, benchSide) },
		},
		{
			ops.ConvCost,
			tensor.Shape{64, 9 * 64},
			func(c *Calls, m *Matrix, b *bench, n int64) error {
				return b.silently(c, "conv2d", func(r *request) error {
					g := Geometry{H: n, W: n, CIn: 64, K: 3, Stride: 1, OH: n, OW: n}
					return c.conv2d(r, b.in(), &g, nil, &Product{Weight: m, Y: b.out(), NOut: 64})
				})
			},
		},
		{
			ops.AttentionCost,
			tensor.Shape{1, 1},
			func(c *Calls, _ *Matrix, b *bench, n int64) error {
				return b.silently(c, "attention", func(r *request) error {
					h := Heads{TQ: 8 * n, TK: 8 * n, Heads: 8, KVHeads: 8, Dim: 64}
					return c.attention(r, b.in(), b.in(), b.in(), &h, b.out())
				})
			},
		},
	}
}

// silently makes a call that does not count in the statistics, and takes its work down.
func (b *bench) silently(c *Calls, op string, call func(r *request) error) error {
	r := c.begin(op, 0)
	defer c.end(r)
	r.silent = true
	err := call(r)
	b.done = r.work
	return err
}

func (b *bench) in() unsafe.Pointer  { return unsafe.Pointer(unsafe.SliceData(b.x)) }
func (b *bench) out() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b.y)) }

func (b *bench) matmul(c *Calls, m *Matrix, t, side int64) error {
	return b.silently(c, "matmul", func(r *request) error {
		return c.matmul(r, b.in(), t, side, []Product{{Weight: m, Y: b.out(), NOut: side}})
	})
}

// transfer moves as many bytes as there are, and computes next to nothing.
func (b *bench) transfer(c *Calls) error {
	return b.silently(c, "neg", func(r *request) error {
		r.floats(b.in(), benchFloats)
		r.output(b.out(), 4*benchFloats)
		return c.run(r, func(b *builder) { b.output(b.op("neg", []ops.Ref{b.input(f32(benchFloats))})) })
	})
}

func (b *bench) late() bool { return time.Now().After(b.deadline) }

// time gives the seconds that a call takes at its best; NaN without time left.
func (b *bench) time(call func() error) (float64, error) {
	if b.late() {
		return math.NaN(), nil
	}
	if err := call(); err != nil { // builds what it takes
		return 0, err
	}
	if b.late() {
		return math.NaN(), nil
	}
	best, begun := math.Inf(1), time.Now()
	for range 8 {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start).Seconds())
		if time.Since(begun) > sampleBudget || b.late() {
			break
		}
	}
	return best, nil
}

// speed is what a backend was found to do.
type speed struct {
	overhead, secondsPerByte float64
	secondsPerFlop           [ops.Costs]float64 // NaN: not measured
}

func (c *Calls) measure(cpu *Calls, budget time.Duration) (*thresholds, error) {
	b := &bench{x: make([]float32, benchFloats), y: make([]float32, benchFloats)}
	for i := range b.x {
		b.x[i] = float32(i%31) / 32
	}
	// The CPU first: a device's first use may take all the time that there is.
	begun := time.Now()
	b.deadline = begun.Add(answerBudget / 2)
	host, err := cpu.speed(b)
	if err != nil {
		return nil, err
	}
	b.deadline = begun.Add(budget)
	device, err := c.speed(b)
	if err != nil {
		return nil, err
	}
	return compare(host, device), nil
}

func (c *Calls) speed(b *bench) (s speed, err error) {
	tiny, err := c.NewMatrix(tensor.Type{DType: tensor.F32, Shape: tensor.Shape{32, 32}}, make([]byte, 4*32*32))
	if err != nil {
		return s, err
	}
	defer tiny.Release()
	if s.overhead, err = b.time(func() error { return b.matmul(c, tiny, 1, 32) }); err != nil {
		return s, err
	}
	moving, err := b.time(func() error { return b.transfer(c) })
	if err != nil {
		return s, err
	}
	const moved = 8 * benchFloats
	s.secondsPerByte = max(moving-s.overhead, 0) / moved
	// Element by element, what the call takes is what moving takes.
	s.secondsPerFlop[ops.OtherCost] = s.secondsPerByte * 8
	for _, h := range samples() {
		m, err := c.NewMatrix(tensor.Type{DType: tensor.F32, Shape: h.shape}, make([]byte, 4*h.shape.Elements()))
		if err != nil {
			return s, err
		}
		err = s.rate(c, m, b, h)
		m.Release()
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// rate finds how long an operation of a class takes, from the largest call that there
// is time for.
func (s *speed) rate(c *Calls, m *Matrix, b *bench, h sample) error {
	s.secondsPerFlop[h.class] = math.NaN()
	for _, n := range sizes {
		took, err := b.time(func() error { return h.run(c, m, b, n) })
		if err != nil || math.IsNaN(took) {
			return err
		}
		w := b.done
		computing := took - s.overhead - s.secondsPerByte*float64(w.up+w.down)
		// No faster than half of what was seen: the parts were measured apart.
		s.secondsPerFlop[h.class] = max(computing, took/2) / w.flops
		if took > sampleBudget.Seconds()/2 {
			return nil
		}
	}
	return nil
}

// never is more operations than any call has.
const never = math.MaxFloat64

// compare solves for the operations from which on the device is faster.
func compare(host, device speed) *thresholds {
	t := &thresholds{of: builtIn.of, source: "measured"}
	for class := range t.of {
		saved := host.secondsPerFlop[class] - device.secondsPerFlop[class]
		if ops.Cost(class) == ops.OtherCost { // the CPU's time is for elements, and nothing is moved there
			saved = host.secondsPerFlop[class]
		}
		switch {
		case math.IsNaN(saved) || math.IsNaN(device.overhead) || math.IsNaN(device.secondsPerByte):
			// There was no time left for it: what is built in stands.
		case saved <= 0:
			t.of[class] = Threshold{MinFlops: never}
		default:
			t.of[class] = Threshold{
				MinFlops:     min(max(device.overhead-host.overhead, 0)/saved, never),
				FlopsPerByte: min(max(device.secondsPerByte, 0)/saved, never),
			}
		}
	}
	return t
}

// CalibrationWanted is what the environment says; INVALID_ARGUMENT where that is
// nothing known.
func CalibrationWanted(getenv func(string) string) (Calibration, error) {
	const variable = "QTSACCEL_CALIBRATE"
	switch value := strings.ToLower(strings.TrimSpace(getenv(variable))); value {
	case "", "auto":
		return CalibrateAuto, nil
	case "force":
		return CalibrateForce, nil
	case "off":
		return CalibrateOff, nil
	default:
		return CalibrateAuto, status.Errorf(status.InvalidArgument, "unknown calibration %q (from %s); known: auto, force, off", value, variable)
	}
}

// calibrationForm changes when what is measured does.
const calibrationForm = 1

// calibrationID tells devices, versions and what they are compared with apart.
func (c *Calls) calibrationID(cpu *Calls) string {
	id := func(i backend.Info) string {
		return fmt.Sprintf("%s\n%s\n%s\n%s\n%d", i.Name, i.Description, i.Library, i.Plugin, i.Threads)
	}
	return fmt.Sprintf("%d\n%s\n%s", calibrationForm, id(c.info), id(cpu.info))
}

// kept is the content of a file of remembered thresholds.
type kept struct {
	ID         string               `json:"id"`
	Thresholds map[string]Threshold `json:"thresholds"`
}

// calibrationFile is the file that a calibration is kept in.
func calibrationFile(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8]) + ".json"
}

// calibrations is the folder of such files.
func (c *Calls) calibrations() string { return cache.Dir(c.getenv, "calibration") }

// remembered gives the thresholds of an earlier calibration; nil if there are none.
// Whatever is wrong with the file, it is as if it were not there.
func (c *Calls) remembered(id string) *thresholds {
	data := cache.Load(c.calibrations(), calibrationFile(id))
	var k kept
	if json.Unmarshal(data, &k) != nil || k.ID != id {
		return nil
	}
	t := &thresholds{source: "remembered"}
	for _, class := range classes {
		v, ok := k.Thresholds[class.String()]
		if !ok || !v.valid() {
			return nil
		}
		t.of[class] = v
	}
	return t
}

// remember keeps thresholds.
func (c *Calls) remember(id string, t *thresholds) {
	if data, err := json.MarshalIndent(kept{id, t.byClass()}, "", "  "); err == nil {
		cache.Store(c.calibrations(), calibrationFile(id), append(data, '\n'))
	}
}
