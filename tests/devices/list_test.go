package devices

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/probe/probetest"
	"qtsaccel/backends/providers"
	"qtsaccel/core/choice"
)

func TestList(t *testing.T) {
	s := probetest.NewStage(t)
	t.Setenv("FAKE_CUDA", "2")
	t.Setenv("FAKE_PLUGIN", "wrong@1")
	var list providers.Listing
	said := run(t, time.Minute, nil, compile(t, "list"), s.Dir)
	require.NoError(t, json.Unmarshal([]byte(said), &list))
	require.Equal(t, "cuda:0", list.Cards[0].String())
	require.Empty(t, list.Cards[0].Problem)
	require.Equal(t, choice.Discrete, list.Cards[0].Kind)
	require.Equal(t, "cuda:1", list.Cards[1].String())
	require.Contains(t, list.Cards[1].Problem, "it computes wrongly")
	require.Equal(t, choice.CPU, list.Cards[len(list.Cards)-1].Kind)

	// A driver that is not there has its reason.
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("FAKE_CUDA", "absent")
	list = providers.Listing{}
	require.NoError(t, json.Unmarshal([]byte(run(t, time.Minute, nil, compile(t, "list"), s.Dir)), &list))
	reasons := map[string]string{}
	for _, a := range list.Absent {
		reasons[a.API] = a.Reason
	}
	require.Contains(t, reasons["cuda"], "the driver is there and finds no device")
	require.Contains(t, reasons["metal"], "Apple")
}
