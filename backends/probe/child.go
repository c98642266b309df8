package probe

import (
	"io"
	"os"
	"slices"
	"time"

	"qtsaccel/backends/driver"
	"qtsaccel/backends/environment"
	"qtsaccel/backends/ggml"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/choice"
	"qtsaccel/core/guarded"
	"qtsaccel/core/status"
)

// Task is what a child is to do.
type Task struct {
	API       string
	PluginDir string        // "": the driver only
	Software  bool          // compute on software devices, too
	Skip      []int         // indices of devices not to be computed on
	Limit     time.Duration // after which the child ends itself; 0: never
}

// Child probes an API in this process, which it takes over: it may crash here, and
// it ends when lifeline, a pipe that the parent holds, comes to its end. Lines go to w.
func Child(t Task, lifeline io.Reader, w io.Writer) error {
	if err := forbidCoreDumps(); err != nil {
		return status.Wrapf(err, "core dumps cannot be turned off")
	}
	if t.Limit > 0 {
		time.AfterFunc(t.Limit, endSelf)
	}
	if lifeline != nil {
		guarded.Go(func() error {
			_, err := io.Copy(io.Discard, lifeline)
			return err
		}, func(error) { endSelf() })
	}
	// Without it a failed assertion starts a debugger on us.
	if err := os.Setenv("GGML_NO_BACKTRACE", "1"); err != nil {
		return status.Errorf(status.Internal, "environment: %w", err)
	}
	printWarnings()
	tell := func(l line) error {
		return status.Wrapf(l.write(w), "the parent cannot be told")
	}
	if err := tell(line{Protocol: protocol, Begin: stepDriver}); err != nil {
		return err
	}
	report := driver.Detect(t.API)
	findings, naming, err := findingsOf(report, environment.Get(VisibleVariable))
	if err != nil {
		report.Reason = err.Error()
	}
	if err := tell(line{Driver: report, Devices: findings}); err != nil {
		return err
	}
	if t.PluginDir != "" && slices.ContainsFunc(findings, t.wants) {
		if err := t.tryPlugin(&Verdict{API: t.API, Findings: findings}, naming, tell); err != nil {
			return err
		}
	}
	return tell(line{Done: true})
}

// wants says whether a device is to be computed on.
func (t *Task) wants(f Finding) bool { return t.Software || f.Kind != choice.Software }

// tryPlugin tells what becomes of the plugin; its error is that nobody listens.
func (t *Task) tryPlugin(v *Verdict, naming string, tell func(line) error) error {
	if err := tell(line{Begin: stepPlugin}); err != nil {
		return err
	}
	library, listed, err := loadAll(t.API, t.PluginDir, naming)
	if err != nil {
		return tell(line{Failure: err.Error(), Passing: passes(err)})
	}
	for i := range v.Findings {
		if slices.Contains(t.Skip, i) || !t.wants(v.Findings[i]) {
			continue
		}
		if err := tell(line{Begin: stepDevice, Device: i}); err != nil {
			return err
		}
		f := &v.Findings[i]
		at, passing := v.PluginIndex(listed, i), false
		if at < 0 {
			f.Reason = "the plugin does not list it"
		} else if err := tryDevice(library, at, f); err != nil {
			f.Reason, passing = err.Error(), passes(err)
		} else {
			f.Proven = true
		}
		if err := tell(line{Finding: f, Passing: passing}); err != nil {
			return err
		}
	}
	return nil
}

// passes says whether an error is about a shortage, not about the device.
func passes(err error) bool {
	code := status.Of(err)
	return code == status.OutOfMemory || code == status.IO || speaksOfShortage(err.Error())
}

// loadAll loads the plugin so that it lists every device.
func loadAll(api, dir, naming string) (*library.Library, []library.Device, error) {
	if naming != "" {
		if err := os.Setenv(VisibleVariable, naming); err != nil {
			return nil, nil, status.Errorf(status.Internal, "environment: %w", err)
		}
	}
	library, err := library.Open([]string{dir})
	if err != nil {
		return nil, nil, err
	}
	listed, err := library.Devices(api)
	return library, listed, err
}

// tryDevice computes on a device, and asks for its free memory where the driver
// did not tell.
func tryDevice(l *library.Library, index int, f *Finding) error {
	b, err := ggml.New(l, ggml.Options{Device: f.API, Index: index})
	if err != nil {
		return err
	}
	err = try(b)
	if err == nil && f.MemoryFree == 0 {
		_, f.MemoryFree, err = b.Memory()
	}
	if closing := b.Close(); err == nil {
		err = closing
	}
	return err
}

// findingsOf lists the visible devices; for naming see [Visible].
func findingsOf(report *driver.Report, visible string) (findings []Finding, naming string, err error) {
	devices, naming, err := Visible(report, visible)
	for _, d := range devices {
		findings = append(findings, Finding{Device: d.Device, Physical: d.Physical})
	}
	return findings, naming, err
}

// Inspect finds out the same in this process, without computing: for hosts that
// waive the probe. Nothing that it finds is proven.
func Inspect(api string, getenv func(string) string) *Verdict {
	v := &Verdict{API: api, Driver: driver.Detect(api), At: time.Now()}
	v.Reason = v.Driver.Reason
	var err error
	if v.Findings, _, err = findingsOf(v.Driver, getenv(VisibleVariable)); err != nil {
		v.Reason = err.Error()
	}
	return v
}
