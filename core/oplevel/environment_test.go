package oplevel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

func TestCalibrationWanted(t *testing.T) {
	say := func(value string) func(string) string { return func(string) string { return value } }
	for value, want := range map[string]Calibration{"": CalibrateAuto, " Auto ": CalibrateAuto, "FORCE": CalibrateForce, "off": CalibrateOff} {
		got, err := CalibrationWanted(say(value))
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", value)
	}
	_, err := CalibrationWanted(say("perhaps"))
	require.Equal(t, status.InvalidArgument, status.Of(err))
	require.ErrorContains(t, err, `unknown calibration "perhaps" (from QTSACCEL_CALIBRATE); known: auto, force, off`)
}
