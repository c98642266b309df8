package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

type greeting struct {
	To     string  `json:"to"`
	Warmth float64 `json:"warmth"`
	unsaid string
}

func (g *greeting) Text() string { return "hello, " + g.To + g.unsaid }

// broken cannot be JSON.
type broken struct{ Send chan int }

func (broken) Text() string { return "fine" }

func TestWrite(t *testing.T) {
	g := &greeting{"world", 0.5, "!"}
	text, err := Text.Write(g)
	require.NoError(t, err)
	require.Equal(t, "hello, world!", text)
	text, err = JSON.Write(g)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"to\": \"world\",\n  \"warmth\": 0.5\n}", text)
	for _, f := range []Format{-1, 2} {
		_, err = f.Write(g)
		require.Equal(t, status.InvalidArgument, status.Of(err))
		require.ErrorContains(t, err, "want 0 (text) or 1 (JSON)")
	}
	text, err = Text.Write(broken{})
	require.NoError(t, err)
	require.Equal(t, "fine", text)
	_, err = JSON.Write(broken{})
	require.Equal(t, status.Internal, status.Of(err))
}
