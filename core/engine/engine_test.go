package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/backend"
	"qtsaccel/core/choice"
	"qtsaccel/core/report"
	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// fake is a backend that does nothing and counts what was asked of it.
type fake struct {
	backend.Backend
	asked    int
	closed   int
	uploaded []string
}

func (f *fake) Info() backend.Info {
	info := backend.Info{Name: "fake", Description: "copies", Library: "none", Threads: 1}
	if f.asked > 0 {
		info.Notes = []string{fmt.Sprintf("asked: %d", f.asked)}
	}
	return info
}

func (f *fake) Close() error { f.closed++; return nil }

func (f *fake) Upload(tensors []*weights.Tensor, progress func(done int64) bool) error {
	return weights.EachUploaded(tensors, progress, func(t *weights.Tensor) error {
		f.uploaded = append(f.uploaded, t.Name)
		return nil
	})
}

func open(t *testing.T, f *fake, debug func(string), environment map[string]string) (*Backend, error) {
	t.Helper()
	return Open(choice.Request{Backend: "cpu", Debug: debug}, func(name string) string { return environment[name] },
		map[string]choice.Provider{"cpu": {Open: func(choice.Request, choice.Device) (backend.Backend, error) { return f, nil }}})
}

func TestABackendIsClosedWithItsLastUser(t *testing.T) {
	f := &fake{}
	b, err := open(t, f, nil, nil)
	require.NoError(t, err)
	b.Retain()
	b.Release()
	require.Zero(t, f.closed)
	b.Release()
	require.Equal(t, 1, f.closed)
	b.Release() // one too many
	require.Equal(t, 1, f.closed)
}

func TestReportAndName(t *testing.T) {
	f := &fake{}
	var said []string
	b, err := open(t, f, func(line string) { said = append(said, line) }, nil)
	require.NoError(t, err)
	defer b.Release()
	require.Equal(t, "fake (copies)", b.Name())
	require.Equal(t, []string{"fake (copies)", "requested: cpu (option)"}, said[:2])
	text := b.Report().Text()
	require.True(t, strings.HasPrefix(text, "fake (copies)\nrequested: cpu (option)\n"), text)
	require.NotContains(t, text, "asked")

	// What a backend notes later is in later reports.
	f.asked = 1
	for _, form := range []report.Format{report.Text, report.JSON} {
		text, err := form.Write(b.Report())
		require.NoError(t, err)
		require.Contains(t, text, "asked: 1")
	}
}

// An environment that is wrong is found when a backend is opened, and leaves none open.
func TestAWrongEnvironment(t *testing.T) {
	f := &fake{}
	b, err := open(t, f, nil, map[string]string{"QTSACCEL_CALIBRATE": "perhaps"})
	require.Nil(t, b)
	require.Equal(t, status.InvalidArgument, status.Of(err))
	require.ErrorContains(t, err, `"perhaps"`)
	require.Equal(t, 1, f.closed)
}

func TestUpload(t *testing.T) {
	f := &fake{}
	b, err := open(t, f, nil, nil)
	require.NoError(t, err)
	defer b.Release()
	w := weights.New()
	defer w.Release()
	for i, name := range []string{"a.one", "a.two", "b"} {
		require.NoError(t, w.Declare(name, tensor.Type{DType: tensor.F32, Shape: tensor.Shape{int64(i + 1)}}))
	}
	var seen [][2]int64
	require.NoError(t, b.Upload(w, []string{"a.*"}, func(done, total int64) bool {
		seen = append(seen, [2]int64{done, total})
		return true
	}))
	require.Equal(t, []string{"a.one", "a.two"}, f.uploaded)
	require.Equal(t, [][2]int64{{0, 12}, {4, 12}, {12, 12}}, seen)
	require.NoError(t, b.Upload(w, nil, nil))
	require.Len(t, f.uploaded, 5)
	err = b.Upload(w, nil, func(done, _ int64) bool { return done < 4 })
	require.Equal(t, status.Cancelled, status.Of(err))
	require.Equal(t, status.NotFound, status.Of(b.Upload(w, []string{"c*"}, nil)))
}

func TestAProcessSettlesOnce(t *testing.T) {
	f := &fake{}
	b, err := open(t, f, nil, nil)
	require.NoError(t, err)
	other, err := open(t, &fake{}, nil, nil)
	require.NoError(t, err)
	defer other.Release()
	var a Active
	first, err := a.Install(b)
	require.NoError(t, err)
	require.True(t, first)
	first, err = a.Install(b)
	require.NoError(t, err)
	require.False(t, first)
	for _, late := range []*Backend{other, nil} {
		_, err = a.Install(late)
		require.Equal(t, status.AlreadyExists, status.Of(err))
		require.ErrorContains(t, err, "the process has settled on fake (copies) already")
	}
	b.Release()
	require.Zero(t, f.closed, "it is the process's for good")
}
