package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a child that tries cases. When it dies, the next request starts another.
type process struct {
	args  []string // of this very program, for a child
	limit time.Duration

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

func (p *process) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.cmd = exec.Command(self, p.args...)
	// What is read without having been written, or after it was freed, is then not zero.
	p.cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc.perturb=165", "GGML_NO_BACKTRACE=1")
	p.stderr = &tail{}
	p.cmd.Stderr = p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p.cmd.Start()
}

// ask has the child work off a request. A child that dies or hangs gives a failure for
// the seed that was in flight, and the seeds behind it that were not tried.
func (p *process) ask(r request) (stats *Stats, failures []*Failure, rest []uint64, err error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return nil, nil, nil, err
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, nil, nil, err
	}
	hung := false
	timer := time.AfterFunc(p.limit, func() {
		hung = true
		_ = p.cmd.Process.Kill()
	})
	defer timer.Stop()
	_, _ = p.in.Write(append(text, '\n')) // a child that has died says so below
	begun, current := 0, uint64(0)
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			break
		}
		timer.Reset(p.limit)
		word, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "seed":
			begun++
			if _, err := fmt.Sscan(what, &current); err != nil {
				return nil, nil, nil, err
			}
		case "failed":
			f := &Failure{}
			if err := json.Unmarshal([]byte(what), f); err != nil {
				return nil, nil, nil, err
			}
			failures = append(failures, f)
		case "done":
			stats = newStats()
			return stats, failures, nil, json.Unmarshal([]byte(what), stats)
		}
	}
	p.end()
	if begun == 0 {
		return nil, nil, nil, fmt.Errorf("the child process ended before it tried anything: %s", p.stderr.last())
	}
	f := &Failure{Seed: current, Kind: Crash, Message: p.stderr.last()}
	if hung {
		f.Kind, f.Message = Hang, fmt.Sprintf("nothing came for %v", p.limit)
	}
	stats = newStats()
	stats.Failures[f.Kind+" "]++
	if begun < len(r.Seeds) {
		rest = r.Seeds[begun:]
	}
	return stats, append(failures, f), rest, nil
}

// end waits for a child that has closed its output, or is to.
func (p *process) end() {
	if p.cmd == nil {
		return
	}
	_ = p.in.Close()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// tail keeps what a process said first and last.
type tail struct {
	mu    sync.Mutex
	first []byte
	rest  []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if room := tailBytes - len(t.first); room > 0 {
		t.first = append(t.first, b[:min(room, n)]...)
		b = b[min(room, n):]
	}
	t.rest = append(t.rest, b...)
	if len(t.rest) > tailBytes {
		t.rest = t.rest[len(t.rest)-tailBytes:]
	}
	return n, nil
}

// last gives the lines that say most about a death.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var said []string
	for line := range strings.SplitSeq(string(t.first)+string(t.rest), "\n") {
		for _, word := range []string{
			"AddressSanitizer", "SUMMARY", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "panic:", "fatal error", "free(", "malloc", "corrupt",
			"assert", "ASSERT", "terminate", "device ", "plugin", "_Cfunc_",
		} {
			if strings.Contains(line, word) && len(said) < 6 {
				said = append(said, strings.TrimSpace(line))
				break
			}
		}
	}
	if len(said) == 0 {
		return "it said nothing"
	}
	return strings.Join(said, "; ")
}
