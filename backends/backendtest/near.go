package backendtest

import "qtsaccel/core/ops"

// Near says by how much and where a result is off by more than a tolerance allows, as
// the suite does: see [ops.Call.Tolerance].
func Near(got, want ops.Value, tolerance float64) error { return near(got, want, tolerance) }
