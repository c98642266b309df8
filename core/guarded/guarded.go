// Package guarded starts goroutines whose panics become errors. A panic on a
// goroutine that nobody guards ends the host's process, whatever its caller would
// recover; so no other package starts goroutines (a test here looks).
package guarded

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"qtsaccel/core/status"
)

// Call runs f. A panic of f becomes an INTERNAL error, see [Panicked].
func Call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(p)
		}
	}()
	return f()
}

// Go runs f on a goroutine of its own as [Call] does, and then done with the error.
func Go(f func() error, done func(error)) {
	go func() { done(Call(f)) }()
}

// Group runs functions on goroutines of their own, as [Call] does. The zero value is
// ready. Go and Wait are called from one goroutine.
type Group struct {
	running sync.WaitGroup
	errs    []*error
}

// Go starts f.
func (g *Group) Go(f func() error) {
	err := new(error)
	g.errs = append(g.errs, err)
	g.running.Go(func() { *err = Call(f) })
}

// Wait waits for all that Go has started, and gives the error of the first started
// that has one.
func (g *Group) Wait() error {
	g.running.Wait()
	for _, err := range g.errs {
		if *err != nil {
			return *err
		}
	}
	return nil
}

// Panicked makes an INTERNAL error, with the line that panicked, of what recover
// gave. It must be called by the deferred function itself.
func Panicked(p any) error {
	return status.Errorf(status.Internal, "panic at %s: %v", site(), p)
}

// site finds the line that panicked: the first below the runtime's own.
func site() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		f, more := frames.Next()
		ours := !strings.HasPrefix(f.Function, "runtime.")
		if panicked && ours {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		panicked = panicked || !ours && strings.Contains(f.Function, "panic")
		if !more {
			return "a place unknown"
		}
	}
}
