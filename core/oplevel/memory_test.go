package oplevel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// A matrix goes to the device at its first use. Where there is no room for it, that call
// says so or, if it may, is computed on the CPU, and the statistics say why.
func TestAFullDeviceLeavesCallsToTheCPU(t *testing.T) {
	full := status.Errorf(status.OutOfMemory, "64 bytes wanted, 3 free")
	device := &fake{name: "vulkan:0", mark: 1, fallback: &fake{name: "cpu", mark: 2}, fail: func() error { return full }}
	c := open(t, device, Around{})
	m := square(t, c)
	defer m.Release()
	_, err := multiply(c, m, 3, 0)
	require.Equal(t, status.OutOfMemory, status.Of(err), "%v", err)
	require.Empty(t, c.Stats().Operators, "what fails is no call, and none was declined")

	mark, err := multiply(c, m, 3, OnCPUIfDeclined)
	require.NoError(t, err)
	require.EqualValues(t, 2, mark)
	report := c.Stats()
	require.EqualValues(t, 1, report.Operators[0].Declined)
	require.Contains(t, report.Operators[0].Reason, "64 bytes wanted, 3 free")
	require.Contains(t, report.Text(), "64 bytes wanted, 3 free")
	require.EqualValues(t, 1, report.Fallback.Operators[0].Calls)

	device.fail = nil // there is room again
	mark, err = multiply(c, m, 3, OnCPUIfDeclined)
	require.NoError(t, err)
	require.EqualValues(t, 1, mark)
}

// On a CPU there is nothing else that has more memory.
func TestAFullHostIsFull(t *testing.T) {
	full := status.Errorf(status.OutOfMemory, "64 bytes wanted, 3 free")
	c := open(t, &fake{name: "cpu", fallback: &fake{name: "reference"}, fail: func() error { return full }}, Around{})
	m := square(t, c)
	defer m.Release()
	_, err := multiply(c, m, 3, OnCPUIfDeclined)
	require.Equal(t, status.OutOfMemory, status.Of(err))
}
