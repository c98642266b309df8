package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/status"
)

// DefaultLimit is the time that a probe of one API may take.
const DefaultLimit = 10 * time.Second

// softwareFactor makes it more where software devices are computed on: their kernels
// are compiled for the processor, by it.
const softwareFactor = 12

// LimitVariable is the environment variable with another limit, in seconds.
const LimitVariable = "QTSACCEL_PROBE_TIMEOUT"

// ErrCannotProbe is in the chain of an error that says nothing about the device:
// there is no program to probe with, or it cannot be started.
var ErrCannotProbe = errors.New("devices cannot be proven")

// A Prober starts probes and remembers what came of them. It may be used from any
// goroutine; probes take turns.
type Prober struct {
	// Getenv reads a variable of the process's environment, "" if unset.
	Getenv func(string) string
	// Self is the running program where that is the tool.
	Self string

	mu   sync.Mutex
	memo map[string]*Verdict
}

// Question is what is asked about an API.
type Question struct {
	API      string
	Dir      string // with its plugin; "": the driver alone is looked at, and nothing proven
	Software bool   // software devices are to be proven, too
	Fresh    bool   // whatever is known already
}

// Verdict gives what is known, or has it found out. The error is [ErrCannotProbe]'s
// or about the limit; what the probe finds wrong is in the verdict.
func (p *Prober) Verdict(q Question) (*Verdict, error) {
	limit, err := p.limit()
	if err != nil {
		return nil, err
	}
	if q.Software {
		limit *= softwareFactor
	}
	s := &subject{api: q.API, software: q.Software, machine: machine()}
	if q.Dir != "" {
		for _, name := range []string{library.PluginFile(q.API), library.PluginFile("base")} {
			f, err := versionOf(filepath.Join(q.Dir, name))
			if err != nil {
				return nil, status.Errorf(status.DeviceUnavailable, "%w", err)
			}
			s.files = append(s.files, f)
		}
	}
	key := fmt.Sprintf("%v", *s)
	cache := CacheDir(p.Getenv)

	p.mu.Lock()
	defer p.mu.Unlock()
	if !q.Fresh {
		if v := p.memo[key]; v != nil && v.stands(time.Now()) {
			return v, nil
		}
		if v := load(cache, s); v != nil {
			p.remember(key, v)
			return v, nil
		}
	}
	program, err := p.find(q.Dir)
	if err != nil {
		return nil, err
	}
	v, err := run(program, q, limit)
	if err != nil {
		return nil, err
	}
	store(cache, s, v)
	remembered := *v
	remembered.Remembered = true
	p.remember(key, &remembered)
	return v, nil
}

func (p *Prober) remember(key string, v *Verdict) {
	if p.memo == nil {
		p.memo = map[string]*Verdict{}
	}
	p.memo[key] = v
}

func (p *Prober) limit() (time.Duration, error) {
	text := strings.TrimSpace(p.Getenv(LimitVariable))
	if text == "" {
		return DefaultLimit, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds <= 3600) {
		return 0, status.Errorf(status.InvalidArgument, "%s is %q, want seconds, more than 0 and at most 3600", LimitVariable, text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// find gives the program to probe with: beside the plugins, in the folder "bin" of
// the installation that they or this library belong to, or the tool itself.
func (p *Prober) find(dir string) (string, error) {
	var paths []string
	if dir != "" {
		paths = append(paths, filepath.Join(dir, "qtsaccel"), filepath.Join(dir, "..", "..", "bin", "qtsaccel"))
	}
	for _, self := range library.SelfDirs() {
		paths = append(paths, filepath.Join(self, "..", "bin", "qtsaccel"))
	}
	if p.Self != "" {
		paths = append(paths, p.Self)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", status.Errorf(status.DeviceUnavailable, "%w: there is no %s", ErrCannotProbe, strings.Join(slices.Compact(paths), ", no "))
}

// run has children find out about an API. A device at which one ends or hangs is
// left out by the next, as long as there is time.
func run(program string, q Question, limit time.Duration) (*Verdict, error) {
	v := &Verdict{API: q.API, Software: q.Software, Probed: true, At: time.Now()}
	deadline := v.At.Add(limit)
	var skip []string
	for {
		left := time.Until(deadline)
		args := []string{"probe", "--lines-fd", "3", "--api", q.API, "--limit", (left + time.Second).String()}
		if q.Dir != "" {
			args = append(args, "--plugin-dir", q.Dir)
		}
		if q.Software {
			args = append(args, "--software")
		}
		if len(skip) > 0 {
			args = append(args, "--skip", strings.Join(skip, ","))
		}
		c, err := spawn(program, args)
		if err != nil {
			if code := shortage(err); code != status.OK {
				// Says nothing of the system, on which it may be started a moment later.
				return nil, status.Errorf(code, "%s cannot be started: %w", program, err)
			}
			return nil, status.Errorf(status.DeviceUnavailable, "%w: %s cannot be started: %v", ErrCannotProbe, program, err)
		}
		listener := newListener(v)
		ended := c.read(deadline, listener.take)
		c.end()
		listener.end()
		if !listener.hello {
			return nil, status.Errorf(status.DeviceUnavailable, "%w: %s does not answer as a prober of this version%s",
				ErrCannotProbe, program, listener.said())
		}
		if listener.done {
			return v, nil
		}
		what := "the probe's process ended while " + string(listener.began)
		if !ended {
			what = fmt.Sprintf("the probe did not come to an end in %v, it hangs while %s", limit, listener.began)
		}
		what += listener.said()
		v.Passing = v.Passing || !ended || !faulted(listener.noise)
		if listener.began != stepDevice || listener.device >= len(v.Findings) {
			v.Reason = what
			return v, nil
		}
		v.Findings[listener.device].Reason = what
		skip = append(skip, strconv.Itoa(listener.device))
		if !ended || len(skip) == len(v.Findings) {
			v.Reason = "the probe ended before it came to this device"
			return v, nil
		}
	}
}

// faulted says whether what a child that came to its end has printed tells of a fault of
// its own. Without such words it was ended: by a limit, or for want of memory.
func faulted(noise []string) bool {
	said := strings.Join(noise, "\n")
	if speaksOfShortage(said) {
		return false
	}
	for _, fault := range []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"} {
		if strings.Contains(said, fault) {
			return true
		}
	}
	return false
}

// shortages are the words, in small letters, in which C, C++, Go and drivers complain of
// too little memory, time, threads or descriptors.
var shortages = []string{
	"out of memory", "out_of_memory", "outofmemory", "outofdevicememory", "outofhostmemory", "cannot allocate", "failed to allocate",
	"bad_alloc", "failed to map segment", "insufficient memory", "resource temporarily unavailable", "too many open files",
	"failed to create new os thread", "pthread_create failed", "cpu limit exceeded", "sigxcpu",
}

func speaksOfShortage(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(shortages, func(s string) bool { return strings.Contains(text, s) })
}

// listener puts a verdict together from what a child tells.
type listener struct {
	reader
	hello, done bool
}

func newListener(v *Verdict) *listener {
	l := &listener{}
	l.emit = func(said *line) {
		switch {
		case said.Protocol == protocol:
			l.hello = true
		case !l.hello:
		case said.Driver != nil:
			v.Driver, v.Reason = said.Driver, said.Driver.Reason
			if v.Findings == nil { // not so for a second child
				v.Findings = said.Devices
			}
		case said.Failure != "":
			v.Reason = said.Failure + l.said()
			v.Passing = v.Passing || said.Passing
		case said.Finding != nil:
			if f := said.Finding; !f.Proven && f.Reason != "" {
				f.Reason += l.said()
			}
			v.Passing = v.Passing || said.Passing
			if said.Finding.Index < len(v.Findings) {
				v.Findings[said.Finding.Index] = *said.Finding
			}
		case said.Done:
			l.done = true
		}
	}
	return l
}
