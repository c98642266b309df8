package oplevel

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"qtsaccel/core/abi"
	"qtsaccel/core/guarded"
	"qtsaccel/core/ops"
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// Threshold says from when on the device should run a call: when its operations are
// MinFlops and FlopsPerByte for each byte that is moved, or more. That is what
//
//	overhead + bytes/bandwidth + flops/rate  <  flops/rate of the CPU
//
// comes to, solved for flops.
type Threshold struct {
	MinFlops     float64 `json:"min_flops"`
	FlopsPerByte float64 `json:"flops_per_byte"`
}

func (t Threshold) met(w work) bool {
	return w.flops >= t.MinFlops+t.FlopsPerByte*float64(w.up+w.down)
}

// valid says whether the numbers mean something, and can be told as JSON, which has no
// infinity.
func (t Threshold) valid() bool {
	return t.MinFlops >= 0 && t.MinFlops <= never && t.FlopsPerByte >= 0 && t.FlopsPerByte <= never
}

// classes are the classes of operators that have a threshold each, as reports list them.
var classes = [ops.Costs]ops.Cost{ops.MatmulCost, ops.ConvCost, ops.AttentionCost, ops.OtherCost}

// The operators of the table that the typed calls' work is counted by.
var linearOp, conv2dOp, attentionOp = mustFind("linear"), mustFind("conv2d"), mustFind("attention")

func mustFind(name string) *ops.Op {
	op, err := ops.Lookup(name)
	if err != nil {
		panic(err) // a mistake in the table
	}
	return op
}

// thresholds are those in force. They never change; another table takes their place.
type thresholds struct {
	of     [ops.Costs]Threshold
	source string
}

func (t *thresholds) byClass() map[string]Threshold {
	m := map[string]Threshold{}
	for _, class := range classes {
		m[class.String()] = t.of[class]
	}
	return m
}

// builtIn is what stands where nothing was measured: a card behind PCIe next to a few
// cores, from what such were found to do. Element by element nothing pays.
var builtIn = thresholds{
	of: [ops.Costs]Threshold{
		ops.MatmulCost: {4e6, 10}, ops.ConvCost: {4e6, 10}, ops.AttentionCost: {4e6, 10}, ops.OtherCost: {1e6, 1},
	},
	source: "built in",
}

// always stands where there is nothing to compare with.
var always = thresholds{source: "no fallback"}

type wants struct {
	mu    sync.Mutex // held while a table is made or waited for
	table atomic.Pointer[thresholds]
	first chan struct{} // closed when the first table is there; nil before it is asked for
}

// lockIdle takes the lock when no measurement goes on.
func (w *wants) lockIdle() {
	w.mu.Lock()
	if w.first != nil {
		<-w.first
	}
}

// Calibration says where the thresholds come from; the values are the header's.
type Calibration int32

// The ways to calibrate.
const (
	CalibrateAuto  Calibration = abi.CalibrateAuto  // measured once for a device and version, then remembered
	CalibrateForce Calibration = abi.CalibrateForce // measured now
	CalibrateOff   Calibration = abi.CalibrateOff   // built in
	CalibrateKeep  Calibration = abi.CalibrateKeep  // as they are, or are found first
)

// OpThreshold is the threshold for an operator's class.
type OpThreshold struct {
	Op string
	Threshold
}

// Calibrate makes the thresholds anew, with those given in the place of what is found.
// Without it, that happens when they are first asked for, as QTSACCEL_CALIBRATE says:
// "auto", "force" or "off". After a failure they are as before.
func (c *Calls) Calibrate(how Calibration, given ...OpThreshold) error {
	if how < CalibrateAuto || how > CalibrateKeep {
		return status.Errorf(status.InvalidArgument, "calibration is %d, want %d to %d", int32(how), CalibrateAuto, CalibrateKeep)
	}
	set := map[ops.Cost]Threshold{}
	for _, g := range given {
		class, err := classOf(g.Op)
		if err != nil {
			return err
		}
		if !g.valid() {
			return status.Errorf(status.InvalidArgument, "threshold of %q: min_flops is %v, flops_per_byte %v, want finite numbers, 0 or more", g.Op, g.MinFlops, g.FlopsPerByte)
		}
		set[class] = g.Threshold
	}
	if how == CalibrateKeep {
		c.thresholds()
	}
	c.wants.lockIdle()
	defer c.wants.mu.Unlock()
	t := c.wants.table.Load()
	if how != CalibrateKeep {
		var err error
		if t, err = c.calibrated(how, answerBudget); err != nil {
			return err
		}
	}
	if len(set) > 0 {
		next := *t
		for class, threshold := range set {
			next.of[class] = threshold
		}
		next.source = "set by the host"
		t = &next
	}
	c.wants.table.Store(t)
	return nil
}

func (c *Calls) calibrated(how Calibration, budget time.Duration) (*thresholds, error) {
	if c.info.OnHost || c.fallback == nil {
		return &always, nil // what has no fallback does all there is to do
	}
	if how == CalibrateOff {
		return &builtIn, nil
	}
	id := c.calibrationID(c.fallback)
	if how == CalibrateAuto {
		if t := c.remembered(id); t != nil {
			return t, nil
		}
	}
	t, err := c.measure(c.fallback, budget)
	if err != nil {
		return nil, status.Wrapf(err, "calibration")
	}
	c.remember(id, t)
	return t, nil
}

// thresholds gives the table in force. The first to ask waits no longer than
// answerBudget for it: where a measurement takes longer, since a driver compiles kernels
// first, what is built in stands until it is there.
func (c *Calls) thresholds() *thresholds {
	if t := c.wants.table.Load(); t != nil {
		return t
	}
	c.wants.mu.Lock()
	defer c.wants.mu.Unlock()
	if c.wants.first == nil {
		first := make(chan struct{})
		c.wants.first = first
		t := &builtIn
		// Its matrices come and go: were they the last to hold the backend, it would wait
		// for the measurement from within.
		if c.owner != nil {
			c.owner.Retain()
		}
		guarded.Go(func() error { // which Close waits for
			how, err := CalibrationWanted(c.getenv)
			if err != nil {
				return err
			}
			measured, err := c.calibrated(how, calibrationBudget)
			if err == nil {
				t = measured
			}
			return err
		}, func(error) { // a device that fails here tells so when it is used
			c.wants.table.CompareAndSwap(nil, t)
			close(first)
			if c.owner != nil {
				c.owner.Release()
			}
		})
		if osfile.StartPoller() { // as a timer does, which ends the process if it cannot
			select {
			case <-first:
			case <-time.After(answerBudget):
			}
		} else {
			<-first
		}
	}
	if t := c.wants.table.Load(); t != nil {
		return t
	}
	return &builtIn
}

func (c *Calls) worthwhile(class ops.Cost, w work) bool {
	return c.info.OnHost || c.thresholds().of[class].met(w)
}

// classOf gives an operator's class; "other" is a class and no operator.
func classOf(op string) (ops.Cost, error) {
	if op == ops.OtherCost.String() {
		return ops.OtherCost, nil
	}
	entry, err := ops.Lookup(op)
	if err != nil {
		return 0, err
	}
	return entry.Cost, nil
}

// Wants says whether the device should run a call of an operator. The shape is, for
// matmul t, n_in and the products' n_out together; for conv2d h, w, c_in, k, stride and
// n_out; for attention tq, tk, heads, kv_heads and head_dim; for any other operator
// that of its largest input or output.
func (c *Calls) Wants(op string, shape []int64) (bool, error) {
	class, err := classOf(op)
	if err != nil {
		return false, err
	}
	w, err := workOf(op, shape)
	if err != nil {
		return false, status.Wrapf(err, "wants %q", op)
	}
	return c.worthwhile(class, w), nil
}

// typedSizes are the sizes that Wants takes for the typed calls.
var typedSizes = map[string][]string{
	"matmul":    {"t", "n_in", "n_out"},
	"conv2d":    {"h", "w", "c_in", "k", "stride", "n_out"},
	"attention": {"tq", "tk", "heads", "kv_heads", "head_dim"},
}

// workOf estimates a call's work by its sizes.
func workOf(op string, d []int64) (work, error) {
	if names := typedSizes[op]; names != nil && len(d) != len(names) {
		return work{}, status.Errorf(status.InvalidArgument, "%d sizes are given, want %d: %v", len(d), len(names), names)
	}
	most := 1.0
	for i, v := range d {
		if v < 1 {
			return work{}, status.Errorf(status.InvalidArgument, "size %d is %d, want 1 or more", i, v)
		}
		most *= float64(v)
	}
	if most > math.MaxInt64/8 {
		return work{}, status.Errorf(status.InvalidArgument, "shape %v overflows", d)
	}
	var entry *ops.Op
	var in, moved, out []tensor.Shape // moved are the inputs that go to the device each time
	switch op {
	case "matmul":
		entry, in, out = linearOp, []tensor.Shape{{d[0], d[1]}, {d[2], d[1]}}, []tensor.Shape{{d[0], d[2]}}
		moved = in[:1]
	case "conv2d":
		oh, ow := (d[0]+d[4]-1)/d[4], (d[1]+d[4]-1)/d[4]
		entry, in, out = conv2dOp, []tensor.Shape{{1, d[2], d[0], d[1]}, {d[5], d[2], d[3], d[3]}}, []tensor.Shape{{1, d[5], oh, ow}}
		moved = in[:1]
	case "attention":
		keys := tensor.Shape{d[1], d[3], d[4]}
		entry, in, out = attentionOp, []tensor.Shape{{d[0], d[2], d[4]}, keys, keys}, []tensor.Shape{{d[0], d[2], d[4]}}
		moved = in
	default:
		w := work{flops: most, up: int64(4 * most), down: int64(4 * most)}
		return w, nil
	}
	w := work{flops: entry.FLOPs(in, out)}
	for _, s := range moved {
		w.up += 4 * s.Elements()
	}
	for _, s := range out {
		w.down += 4 * s.Elements()
	}
	return w, nil
}
