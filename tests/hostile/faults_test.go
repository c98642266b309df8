// Package hostile has what the library needs from the system fail, call by call, and
// holds it to what the header promises then.
package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// everyPoint says that each point is tried, and not a sample: make test-hostile.
func everyPoint() bool { return os.Getenv("QTSACCEL_TEST_HOSTILE") == "1" }

// A kind of fault, numbered as in programs/faults.h.
type kind struct {
	name   string
	number int
	// sample is how far apart the points are that an ordinary run of the tests tries.
	sample int
}

var kinds = []kind{
	{"memory (mmap, brk, mremap: ENOMEM)", 1, 5},
	{"descriptors (EMFILE)", 2, 3},
	{"open (EIO)", 3, 3},
	{"open (EINTR)", 4, 3},
	{"read (EIO)", 5, 3},
	{"read (EINTR)", 6, 3},
	{"short reads", 7, 3},
	{"reads at the end of a file that was cut", 8, 3},
	{"full disk (ENOSPC)", 9, 1},
	{"short writes", 10, 1},
	{"rename (EIO)", 11, 1},
	{"threads (clone: EAGAIN)", 12, 1},
	{"stat (EIO)", 13, 3},
	{"mprotect, madvise (ENOMEM)", 14, 5},
	{"heap (malloc and its kin: null)", 15, 11},
}

// A death is an end of the process that is not the library's to prevent: Go's runtime,
// cgo or ggml ends it. Each has its reason here and the most points of a cycle at which it
// may come; another one, or more, fails the test.
type death struct {
	words      *regexp.Regexp
	kinds      []string // that it may come of, by the first word of their names
	reason     string
	warm, cold int
}

var deaths = []death{
	{
		regexp.MustCompile(`fatal error: (runtime: )?(cannot allocate memory|out of memory)|runtime: cannot map pages in arena|failed to reserve page summary memory|cannot allocate heap metadata|runtime: cannot allocate|pageAlloc: out of memory|runtime/cgo: out of memory`),
		[]string{"memory", "heap", "mprotect,"},
		"Go's runtime has no way to report that the system refuses it memory", 4, 60,
	},
	{
		regexp.MustCompile(`pthread_create failed|newosproc|failed to create new OS thread|may need to increase max user processes`),
		[]string{"memory", "threads", "mprotect,"},
		"Go's runtime needs a thread and has no way to report that it gets none", 0, 12,
	},
	{
		regexp.MustCompile(`runtime: (epollcreate|eventfd|epollctl) failed`),
		[]string{"descriptors"},
		"Go's poller is started once; that its descriptors can be had is seen beforehand, and then they are refused", 0, 2,
	},
	{
		regexp.MustCompile(`runtime: C malloc failed|fatal error: malloc failed`),
		[]string{"heap"},
		"cgo ends the process where malloc gives null for a copy of a string", 8, 12,
	},
	{
		regexp.MustCompile(`(?s)signal 11 in [^\n]*\n.*libc\.so.*\(posix_memalign`),
		[]string{"memory"},
		"glibc's posix_memalign uses an arena for which it got no memory", 2, 8,
	},
	{
		regexp.MustCompile(`signal 11 in \S*/libqtsg-(base|cpu)[^/]*\.so`),
		[]string{"heap"},
		"ggml uses what malloc or calloc gave it without looking", 24, 24,
	},
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

var lib = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("make", "-s", "-C", "../..", "test-lib").CombinedOutput()
})

// library makes the library with hooks for tests and gives its path.
func library(t *testing.T) string {
	t.Helper()
	out, err := lib()
	require.NoError(t, err, "make test-lib: %s", out)
	path := filepath.Join(root(t), "dist", "test", "libqtsaccel.so")
	_, err = os.Stat(path) // seen by the test cache
	require.NoError(t, err)
	return path
}

func compile(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	to := filepath.Join(dir, name)
	all := append([]string{
		"-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root(t), "include"),
		"-o", to, filepath.Join("programs", strings.TrimSuffix(name, ".so")+".c"),
	}, args...)
	out, err := exec.Command("gcc", all...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return to
}

// tools are the programs of this package.
type tools struct{ faults, cycle, heap, library string }

func build(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	return tools{
		faults:  compile(t, dir, "faults"),
		cycle:   compile(t, dir, "cycle", "-ldl"),
		heap:    compile(t, dir, "heap.so", "-shared", "-fPIC", "-ldl"),
		library: library(t),
	}
}

// outcome is what a process said and how it ended.
type outcome struct {
	lines  []string
	text   string
	failed bool
}

// run runs cycles from a point on. A process that hangs is ended after far longer than
// it can take.
func (b tools) run(t *testing.T, folder string, k kind, from, to, step int, how, backend string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.faults, b.cycle, b.library, folder, strconv.Itoa(k.number),
		strconv.Itoa(from), strconv.Itoa(to), strconv.Itoa(step), how, backend)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QTSACCEL_") && !strings.HasPrefix(v, "QWEN3_TTS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+b.heap)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "it hangs:\n%s", out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	text := string(out)
	return outcome{lines: strings.Split(strings.TrimRight(text, "\n"), "\n"), text: text, failed: err != nil}
}

// tally counts what the points of a kind came to.
type tally struct {
	points   int
	statuses map[string]int
	deaths   map[string]int
}

func (c *tally) String() string {
	var parts []string
	for s, n := range c.statuses {
		parts = append(parts, fmt.Sprintf("%s %d", s, n))
	}
	for s, n := range c.deaths {
		parts = append(parts, fmt.Sprintf("ended (%s) %d", s, n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d points: %s", c.points, strings.Join(parts, ", "))
}

var (
	pointForm = regexp.MustCompile(`(?m)^n (\d+) (.*)$`)
	faultForm = regexp.MustCompile(`^fault (\w+) `)
)

// count takes a process's lines in, and gives the last point that it was at and whether
// the cycles are through.
func (c *tally) count(o outcome) (last int, through bool) {
	for _, m := range pointForm.FindAllStringSubmatch(o.text, -1) {
		last, _ = strconv.Atoi(m[1])
		if s := faultForm.FindStringSubmatch(m[2]); s != nil {
			c.points++
			c.statuses[s[1]]++
		}
		if strings.HasPrefix(m[2], "dlopen: ") {
			c.points++
			c.statuses["not loaded"]++
		}
	}
	return last, strings.HasSuffix(strings.TrimSpace(o.text), "done") || regexp.MustCompile(`(?m)^n \d+ none `).MatchString(o.text)
}

// natural finds the reason for an end that is not the library's to prevent.
func natural(k kind, text string) (string, bool) {
	for _, d := range deaths {
		if slices.Contains(d.kinds, strings.Fields(k.name)[0]) && d.words.MatchString(text) {
			return d.reason, true
		}
	}
	return "", false
}

// everyFault has points of a kind fail one after the other; a process that ends by
// nature is followed by another one that goes on behind that point.
func (b tools) everyFault(t *testing.T, k kind, how, backend string) *tally {
	t.Helper()
	c := &tally{statuses: map[string]int{}, deaths: map[string]int{}}
	step := 1
	if !everyPoint() {
		step = k.sample
	}
	const most = 100000
	folder := t.TempDir()
	made := b.run(t, folder, k, 1, 0, 1, "warm", backend) // makes the file, and tries no point
	require.False(t, made.failed, "%s", tail(made.text))
	for from := 1; from < most; {
		to := most
		if how == "cold" {
			to = from
		}
		o := b.run(t, folder, k, from, to, step, how, backend)
		last, through := c.count(o)
		if o.failed {
			require.NotContains(t, o.text, "WRONG", "fault %d of %s: %s", last, k.name, tail(o.text))
			reason, is := natural(k, o.text)
			require.True(t, is, "fault %d of %s ended the process: %s", last, k.name, tail(o.text))
			require.Positive(t, last, "%s", tail(o.text))
			c.points++
			c.deaths[reason]++
		} else if through {
			break
		}
		from = max(last, from) + step
	}
	for _, d := range deaths {
		most := d.warm
		if how == "cold" {
			most = d.cold
		}
		require.LessOrEqual(t, c.deaths[d.reason], most, "%s: more ends than there were: %s", k.name, d.reason)
	}
	return c
}

func tail(s string) string {
	if len(s) > 3000 {
		return s[:1000] + "\n...\n" + s[len(s)-2000:]
	}
	return s
}

// With the library loaded and a first cycle behind it, every fault is a status, but for
// those that Go's runtime meets itself.
func TestFaultsInACycle(t *testing.T) {
	b := build(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			c := b.everyFault(t, k, "warm", "cpu")
			t.Logf("%s: %v", k.name, c)
		})
	}
}

// From the loading of the library on. Allocations are left out: the loader of programs,
// Go and the initialisers of ggml's libraries end the process without them.
func TestFaultsFromLoadingOn(t *testing.T) {
	b := build(t)
	for _, k := range kinds {
		if strings.HasPrefix(k.name, "heap") {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			if !everyPoint() {
				k.sample *= 9 // each point takes a process
			}
			c := b.everyFault(t, k, "cold", "cpu")
			t.Logf("%s: %v", k.name, c)
		})
	}
}
