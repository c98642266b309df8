package status

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodesSurviveWrapping(t *testing.T) {
	err := Errorf(ShapeMismatch, "%d is not %d", 3, 4)
	err = Wrapf(Wrapf(err, "input %q", "x"), "op %d", 7)
	require.Equal(t, ShapeMismatch, Of(err))
	require.EqualError(t, err, `op 7: input "x": 3 is not 4`)
	require.NoError(t, Wrapf(nil, "nothing"))
	require.Equal(t, OK, Of(nil))
	require.Equal(t, Internal, Of(errors.New("plain")))
}

func TestErrorfKeepsTheCause(t *testing.T) {
	require.ErrorIs(t, Errorf(IO, "open: %w", fs.ErrNotExist), fs.ErrNotExist)
}

func TestEveryCodeHasAName(t *testing.T) {
	for c := Internal; c <= OK; c++ {
		require.NotEqual(t, "UNKNOWN", c.String(), "%d", c)
	}
	require.Equal(t, "UNKNOWN", Code(1).String())
	require.Equal(t, "UNKNOWN", (Internal - 1).String())
}
