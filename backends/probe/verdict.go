// Package probe finds out, in a child process, whether a GPU's plugin can be
// trusted with the host's process: drivers crash at their first call, and a plugin
// that does not fit its driver aborts at its first kernel.
//
// The child ([Child], run by the tool as "qtsaccel probe --lines-fd") asks the
// driver, loads the plugin, and runs a small graph on each device (trial.go). It
// writes what it begins and what it found as lines (lines.go) into a pipe, so that
// the parent ([Prober]) knows how far it came when it ends before its time, or has
// to be ended. Verdicts are kept in files (cache.go) for as long as plugin, driver
// and machine stay as they are (machine.go).
package probe

import (
	"fmt"
	"time"

	"qtsaccel/backends/driver"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// Verdict is what a probe found out about one API.
type Verdict struct {
	API string `json:"api"`
	// Driver is nil where the driver did not survive being asked.
	Driver *driver.Report `json:"driver,omitempty"`
	// Findings are about the driver's devices, in the order of their indices.
	Findings []Finding `json:"findings,omitempty"`
	// Probed says that a child looked; otherwise nothing is proven, for or against.
	Probed bool `json:"probed"`
	// Software says that software devices were computed on, too.
	Software bool `json:"software"`
	// Reason says why no device can be used, if none can: no driver, no plugin,
	// or what became of the probe.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
	// Passing says that what speaks against a device may pass by itself: no time, no
	// memory, no descriptor.
	Passing bool `json:"passing,omitempty"`
	// Remembered says that the verdict is of an earlier probe.
	Remembered bool `json:"-"`
}

// since says, behind a reason, that it is remembered.
func (v *Verdict) since() string {
	if !v.Remembered {
		return ""
	}
	return fmt.Sprintf(" (remembered since %s, until %s; `qtsaccel probe --clear` forgets it)",
		v.At.Local().Format(time.TimeOnly), v.At.Add(v.doubt()).Local().Format(time.TimeOnly))
}

// Finding is what a probe found out about one device.
type Finding struct {
	choice.Device
	Physical int    `json:"physical"` // its place among all that the driver shows
	Proven   bool   `json:"proven"`   // it computed rightly
	Reason   string `json:"reason,omitempty"`
}

// Devices lists the devices; DEVICE_UNAVAILABLE with the reason if there is none.
func (v *Verdict) Devices() ([]choice.Device, error) {
	if len(v.Findings) == 0 {
		return nil, status.Errorf(status.DeviceUnavailable, "%s%s", v.Reason, v.since())
	}
	devices := make([]choice.Device, len(v.Findings))
	for i := range v.Findings {
		devices[i] = v.Findings[i].Device
	}
	return devices, nil
}

// Check says whether a device is proven; DEVICE_UNAVAILABLE with the reason if not.
func (v *Verdict) Check(d choice.Device) error {
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case f.Index != d.Index:
		case f.Proven:
			return nil
		case f.Reason != "":
			return status.Errorf(status.DeviceUnavailable, "%v (%s) is not trusted: %s%s", d, d.Name, f.Reason, v.since())
		default:
			return status.Errorf(status.DeviceUnavailable, "%v (%s) is not trusted: %s%s", d, d.Name, v.Reason, v.since())
		}
	}
	return status.Errorf(status.DeviceUnavailable, "%v was not there when the probe looked", d)
}

// allProven says whether there are devices, and nothing is held against any.
func (v *Verdict) allProven() bool {
	for i := range v.Findings {
		if f := &v.Findings[i]; !f.Proven && (v.Software || f.Kind != choice.Software) {
			return false
		}
	}
	return len(v.Findings) > 0
}
