package probe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/backends/probe/probetest"
	"qtsaccel/core/choice"
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

func TestMain(m *testing.M) { os.Exit(probetest.Run(m)) }

// stage is a stage with a prober of its own.
type stage struct {
	*probetest.Stage
	prober *Prober
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{probetest.NewStage(t), &Prober{Getenv: os.Getenv}}
}

func (s *stage) probe(t *testing.T) *Verdict {
	t.Helper()
	v, err := s.prober.Verdict(Question{API: "cuda", Dir: s.Dir, Fresh: true})
	require.NoError(t, err)
	return v
}

func TestProbe(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		plugin, driver string
		reason         []string // of the only device, or of there being none; nil: proven
		none           bool
		limit          string
	}{
		{plugin: ""},
		{plugin: "load-chatty"},
		{plugin: "load-null", reason: []string{"finds no driver"}},
		{plugin: "load-abort", reason: []string{"ended while loading the plugin", "about to abort", "SIGABRT"}},
		{plugin: "load-segv", reason: []string{"ended while loading the plugin", "SIGSEGV"}},
		{plugin: "load-hang", limit: "1", reason: []string{"did not come to an end in 1s", "hangs while loading the plugin", "about to hang"}},
		{plugin: "abort", reason: []string{"ended while computing on the device", "SIGABRT"}},
		{plugin: "segv", reason: []string{"ended while computing on the device", "SIGSEGV"}},
		{plugin: "hang", limit: "1", reason: []string{"hangs while computing on the device"}},
		{plugin: "assert", reason: []string{"compiled with an unsupported toolchain"}},
		{plugin: "wrong", reason: []string{"it computes wrongly: value"}},
		{plugin: "nan", reason: []string{"it computes wrongly: value 0 is NaN"}},
		{driver: "absent", none: true, reason: []string{"the driver is there and finds no device"}},
		{driver: "broken", none: true, reason: []string{"error 803"}},
		{driver: "crash", none: true, reason: []string{"ended while asking the driver", "SIGABRT"}},
	} {
		t.Run(c.plugin+c.driver, func(t *testing.T) {
			t.Setenv("FAKE_PLUGIN", c.plugin)
			if c.driver != "" {
				t.Setenv("FAKE_CUDA", c.driver)
			}
			t.Setenv(LimitVariable, c.limit)
			start := time.Now()
			v := s.probe(t)
			require.Less(t, time.Since(start), DefaultLimit, "bounded")
			devices, err := v.Devices()
			if !c.none {
				require.NoError(t, err)
				require.Len(t, devices, 1)
				require.Equal(t, "Pretender 0", devices[0].Name)
				require.Equal(t, choice.Discrete, devices[0].Kind)
				err = v.Check(devices[0])
			}
			if c.reason == nil {
				require.NoError(t, err)
				require.NotZero(t, devices[0].MemoryFree)
				return
			}
			require.Equal(t, status.DeviceUnavailable, status.Of(err))
			for _, w := range c.reason {
				require.ErrorContains(t, err, w)
			}
		})
	}
}

func TestOneBadDeviceDoesNotCondemnTheOthers(t *testing.T) {
	s := newStage(t)
	t.Setenv("FAKE_CUDA", "3")
	t.Setenv(LimitVariable, "600") // a busy machine is no failure
	for _, how := range []string{"segv", "wrong", "abort"} {
		t.Setenv("FAKE_PLUGIN", how+"@1")
		v := s.probe(t)
		require.Len(t, v.Findings, 3)
		require.True(t, v.Findings[0].Proven, "%+v", v)
		require.False(t, v.Findings[1].Proven)
		require.NotEmpty(t, v.Findings[1].Reason)
		require.True(t, v.Findings[2].Proven, "%+v", v)
	}
	// Whoever hangs takes the time of those behind.
	t.Setenv("FAKE_PLUGIN", "hang@1")
	t.Setenv(LimitVariable, "15")
	v := s.probe(t)
	require.True(t, v.Findings[0].Proven, "%+v", v)
	require.ErrorContains(t, v.Check(v.Findings[1].Device), "hangs while computing")
	require.ErrorContains(t, v.Check(v.Findings[2].Device), "ended before it came to this device")
}

// processes counts the processes whose program is the stage's tool.
func (s *stage) processes(t *testing.T) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	n := 0
	for _, p := range paths {
		if target, err := os.Readlink(p); err == nil && target == s.Tool {
			n++
		}
	}
	return n
}

func TestNothingIsLeft(t *testing.T) {
	s := newStage(t)
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	s.probe(t)
	before := count()
	t.Setenv(LimitVariable, "1")
	for _, how := range []string{"", "load-hang", "segv"} {
		t.Setenv("FAKE_PLUGIN", how)
		s.probe(t)
	}
	require.Equal(t, before, count(), "file descriptors")
	require.Zero(t, s.processes(t), "children")
	children, err := os.ReadFile("/proc/thread-self/children")
	if err == nil {
		require.Empty(t, strings.TrimSpace(string(children)))
	}
	cores, err := filepath.Glob("core*")
	require.NoError(t, err)
	require.Empty(t, cores)
}

// A child whose parent dies ends by itself, even where a plugin hangs.
func TestAChildDoesNotOutliveItsParent(t *testing.T) {
	s := newStage(t)
	t.Setenv("FAKE_PLUGIN", "load-hang")
	c, err := spawn(s.Tool, []string{"probe", "--lines-fd", "3", "--api", "cuda", "--plugin-dir", s.Dir})
	require.NoError(t, err)
	var said []byte
	c.read(time.Now().Add(time.Second), func(b []byte) { said = append(said, b...) })
	require.Contains(t, string(said), stepPlugin)
	require.Equal(t, 1, s.processes(t))
	require.NoError(t, syscall.Close(int(c.c.lifeline))) // as the parent's death does
	c.c.lifeline = -1
	require.Eventually(t, func() bool { return s.processes(t) == 0 }, 5*time.Second, 20*time.Millisecond)
	c.end()
}

func TestWhereNothingCanProbe(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		about string
		tool  string // its content; "": none
		words string
	}{
		{"no prober", "", "there is no " + s.Tool},
		{"no program", "nothing of the kind", "cannot be started"},
		{"another program", "#!/bin/sh\necho hello\n", "does not answer as a prober of this version (hello)"},
		{"another version", "#!/bin/sh\necho '{\"protocol\":999}'\necho '{\"done\":true}'\n", "does not answer as a prober"},
	} {
		require.NoError(t, os.RemoveAll(s.Tool))
		if c.tool != "" {
			require.NoError(t, os.WriteFile(s.Tool, []byte(c.tool), 0o700)) //nolint:gosec // it is to be run
		}
		_, err := s.prober.Verdict(Question{API: "cuda", Dir: s.Dir, Fresh: true})
		require.ErrorIs(t, err, ErrCannotProbe, c.about)
		require.ErrorContains(t, err, c.words, c.about)
		require.Equal(t, status.DeviceUnavailable, status.Of(err))
	}
	t.Setenv(LimitVariable, "soon")
	_, err := s.prober.Verdict(Question{API: "cuda", Dir: s.Dir, Fresh: true})
	require.Equal(t, status.InvalidArgument, status.Of(err))
}

func TestCache(t *testing.T) {
	s := newStage(t)
	plugin := filepath.Join(s.Dir, library.PluginFile("cuda"))
	// A process of its own each: nothing in memory.
	again := func() *Verdict {
		v, err := (&Prober{Getenv: os.Getenv}).Verdict(Question{API: "cuda", Dir: s.Dir})
		require.NoError(t, err)
		return v
	}
	require.False(t, again().Remembered)
	require.True(t, again().Remembered)
	v := again()
	require.NoError(t, v.Check(v.Findings[0].Device))

	// The same content with another time is the same plugin; other content is not.
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(plugin, later, later))
	require.True(t, again().Remembered)
	f, err := os.OpenFile(plugin, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("more")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.False(t, again().Remembered)
	require.True(t, again().Remembered)

	// A variable that drivers look at.
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	require.False(t, again().Remembered)
	require.True(t, again().Remembered)

	dir := CacheDir(os.Getenv)
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, paths, 1, "one file for the plugin, none left over")
	for _, wrong := range []string{"", "{", "null", `{"form":2,"verdict":null}`, strings.Repeat("x", 1000)} {
		require.NoError(t, os.WriteFile(paths[0], []byte(wrong), 0o600))
		require.False(t, again().Remembered, wrong)
		require.True(t, again().Remembered, wrong)
	}

	require.NoError(t, ClearCache(os.Getenv))
	require.False(t, again().Remembered)
	require.NoError(t, ClearCache(os.Getenv))
	require.NoError(t, ClearCache(os.Getenv), "clearing what is clear")

	// Nowhere to write: as without a cache.
	t.Setenv("XDG_CACHE_HOME", filepath.Join(s.Tool, "below a file"))
	require.False(t, again().Remembered)
	require.False(t, again().Remembered)
	// But the process itself remembers.
	p := &Prober{Getenv: os.Getenv}
	_, err = p.Verdict(Question{API: "cuda", Dir: s.Dir})
	require.NoError(t, err)
	v, err = p.Verdict(Question{API: "cuda", Dir: s.Dir})
	require.NoError(t, err)
	require.True(t, v.Remembered)
}

func TestAVerdictAgainstADeviceIsDoubtedAfterAWhile(t *testing.T) {
	now := time.Now()
	good := &Verdict{At: now.Add(-1000 * time.Hour), Findings: []Finding{{Proven: true}}}
	require.True(t, good.stands(now))
	bad := &Verdict{At: now.Add(-longDoubt + time.Minute), Findings: []Finding{{Proven: true}, {}}}
	require.True(t, bad.stands(now))
	bad.At = now.Add(-longDoubt - time.Minute)
	require.False(t, bad.stands(now))
	require.False(t, (&Verdict{At: now.Add(-longDoubt - time.Minute)}).stands(now), "no device")
	passing := &Verdict{At: now.Add(-time.Second), Passing: true, Findings: []Finding{{}}}
	require.True(t, passing.stands(now))
	passing.At = now.Add(-shortDoubt - time.Second)
	require.False(t, passing.stands(now))
	require.False(t, (&Verdict{At: now.Add(time.Minute), Findings: good.Findings}).stands(now), "of the future")
}

// What may pass is kept from other processes, what is of the device is told with its age.
func TestWhatMayPassIsNotKept(t *testing.T) {
	s := newStage(t)
	ask := func() *Verdict { // each a process of its own
		v, err := (&Prober{Getenv: os.Getenv}).Verdict(Question{API: "cuda", Dir: s.Dir})
		require.NoError(t, err)
		return v
	}
	check := func(v *Verdict) error {
		if len(v.Findings) == 0 {
			_, err := v.Devices()
			return err
		}
		return v.Check(v.Findings[0].Device)
	}
	t.Setenv("FAKE_PLUGIN", "hang")
	t.Setenv(LimitVariable, "1.5")
	v := ask()
	require.ErrorContains(t, check(v), "did not come to an end in 1.5s")
	require.True(t, v.Passing)
	t.Setenv("FAKE_PLUGIN", "")
	t.Setenv(LimitVariable, "60")
	v = ask()
	require.False(t, v.Remembered)
	require.NoError(t, check(v))

	require.NoError(t, ClearCache(os.Getenv))
	t.Setenv("FAKE_PLUGIN", "wrong")
	require.NotContains(t, check(ask()).Error(), "remembered")
	t.Setenv("FAKE_PLUGIN", "")
	v = ask()
	require.True(t, v.Remembered)
	err := check(v)
	require.ErrorContains(t, err, "it computes wrongly")
	require.ErrorContains(t, err, "(remembered since "+v.At.Local().Format(time.TimeOnly)+", until ")
	require.ErrorContains(t, err, "`qtsaccel probe --clear` forgets it)")
	require.NoError(t, ClearCache(os.Getenv))
	require.NoError(t, check(ask()))

	require.NoError(t, ClearCache(os.Getenv))
	t.Setenv("FAKE_PLUGIN", "segv")
	v = ask()
	require.False(t, v.Passing, "a fault is its own: %+v", v)
	require.True(t, ask().Remembered)
}

// A limit that a child dies of is this process's: another has another.
func TestLimitsTellProcessesApart(t *testing.T) {
	open := machine()
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_AS, &old))
	limited := old
	limited.Cur = 1 << 46
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &limited))
	require.NotEqual(t, open, machine())
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &old))
	require.Equal(t, open, machine())
}

func TestFaultsAndShortages(t *testing.T) {
	for _, fault := range []string{"SIGABRT: abort", "SIGSEGV: segmentation violation"} {
		require.True(t, faulted([]string{"GGML_ASSERT failed", fault}), fault)
	}
	for _, shortage := range [][]string{
		nil,
		{"killed"},
		{"terminate called after throwing an instance of 'std::bad_alloc'", "SIGABRT: abort"},
		{"runtime: out of memory: cannot allocate 4194304-byte block", "fatal error: out of memory"},
		{"ggml_vulkan: Device memory allocation of size 1 failed: vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "SIGABRT: abort"},
		{"SIGXCPU: cpu limit exceeded"},
		{"runtime: failed to create new OS thread (have 5 already; errno=11)", "SIGABRT: abort"},
	} {
		require.False(t, faulted(shortage), "%q", shortage)
	}
}

// What is no small file is no cache: it may never end, or never begin.
func TestCacheFilesOfOtherKinds(t *testing.T) {
	s := newStage(t)
	ask := func() *Verdict {
		v, err := (&Prober{Getenv: os.Getenv}).Verdict(Question{API: "cuda", Dir: s.Dir})
		require.NoError(t, err)
		return v
	}
	ask()
	dir := CacheDir(os.Getenv)
	names, err := osfile.Names(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	path := filepath.Join(dir, names[0])
	for about, put := range map[string]func() error{
		"a pipe":             func() error { return syscall.Mkfifo(path, 0o600) },
		"a link to a device": func() error { return os.Symlink("/dev/zero", path) },
		"a folder":           func() error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) },
		"200 GiB of nothing": func() error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 200<<30)
		},
	} {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, put(), about)
		require.False(t, ask().Remembered, about)
	}
}

func TestLinesAmongWhatPluginsPrint(t *testing.T) {
	v := &Verdict{}
	l := newListener(v)
	feed := func(text string) { l.take([]byte(text)) }
	feed("noise\n\n{\"protocol\":2,\"begin\":\"asking the driver\"}\nmore")
	require.True(t, l.hello)
	require.Equal(t, stepDriver, l.began)
	feed(" noise\n{\"this is\": \"no line\"\n")
	require.Equal(t, " (more noise; {\"this is\": \"no line\")", l.said())
	feed("without an end")
	l.end()
	require.Contains(t, l.said(), "without an end")
	feed("\n{\"dri")
	feed("ver\":{\"api\":\"cuda\"},\"devices\":[{\"name\":\"a\"}]}\n")
	require.NotNil(t, v.Driver)
	require.Len(t, v.Findings, 1)
	feed("{\"finding\":{\"index\":7,\"proven\":true}}\n") // of no device that there is
	require.False(t, v.Findings[0].Proven)
	feed(strings.Repeat("x", 3*maxPending))
	require.Empty(t, l.pending)
	// A reason takes the noise before it, and nothing of what comes behind.
	feed("\nwhy\n{\"finding\":{\"index\":0,\"reason\":\"it failed\"}}\n\n{\"done\":true}\n")
	require.Equal(t, "it failed (why)", v.Findings[0].Reason)
	require.True(t, l.done)
}

func TestVerdictSurvivesJSON(t *testing.T) {
	v := &Verdict{API: "vulkan", At: time.Now().UTC().Round(time.Second), Probed: true, Findings: []Finding{
		{Device: choice.Device{API: "vulkan", Index: 1, Kind: choice.Software, UUID: "ab"}, Physical: 3, Proven: true},
	}}
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var back Verdict
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, *v, back)
}

// Mesa's software device is proven like any other, but only if that is asked for.
func TestLavapipe(t *testing.T) {
	s := newStage(t)
	vulkan := probetest.Plugins(t)
	if _, err := os.Stat(filepath.Join(vulkan, library.PluginFile("vulkan"))); err != nil {
		t.Skip("no Vulkan plugin in dist")
	}
	s.prober.Self = s.Tool
	v, err := s.prober.Verdict(Question{API: "vulkan", Dir: vulkan})
	require.NoError(t, err)
	isSoftware := func(f Finding) bool { return f.Kind == choice.Software }
	i := slices.IndexFunc(v.Findings, isSoftware)
	if i < 0 {
		t.Skipf("no software Vulkan device (mesa-vulkan-drivers): %s", v.Reason)
	}
	require.False(t, v.Findings[i].Proven)
	require.Empty(t, v.Findings[i].Reason, "nothing is held against it")
	require.True(t, v.NeedsNaming(i))

	v, err = s.prober.Verdict(Question{API: "vulkan", Dir: vulkan, Software: true})
	require.NoError(t, err)
	require.False(t, v.Remembered)
	require.True(t, v.Findings[i].Proven, "%+v", v.Findings[i])
	require.NotZero(t, v.Findings[i].MemoryFree)
}

// Where the system has no pidfd, a child is ended by its lifeline.
func TestWithoutPidfd(t *testing.T) {
	s := newStage(t)
	for _, how := range []string{"", "load-hang", "segv"} {
		t.Setenv("FAKE_PLUGIN", how)
		c, err := spawn(s.Tool, []string{"probe", "--lines-fd", "3", "--api", "cuda", "--plugin-dir", s.Dir})
		require.NoError(t, err)
		if c.c.pidfd >= 0 {
			require.NoError(t, syscall.Close(int(c.c.pidfd)))
			c.c.pidfd = -1
		}
		l := newListener(&Verdict{})
		require.Equal(t, how != "load-hang", c.read(time.Now().Add(3*time.Second), l.take))
		require.Equal(t, how == "", l.done)
		c.end()
		require.Eventually(t, func() bool { return s.processes(t) == 0 }, 5*time.Second, 20*time.Millisecond)
	}
}
