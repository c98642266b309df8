package main

import (
	"errors"
	"fmt"
	"regexp"
)

// Failure is what went wrong with a case.
type Failure struct {
	Seed    uint64 `json:"seed"`
	Device  string `json:"device"`
	Kind    string `json:"kind"`
	Op      string `json:"op,omitempty"`
	Message string `json:"message"`
}

// The kinds of failures.
const (
	WrongOp     = "operator" // an operator's result is not the reference's of its own inputs
	WrongPlan   = "plan"     // a result depends on which others are outputs, or on what ran before
	WrongState  = "state"    // likewise a state
	WrongCall   = "call"     // an operator-level call is not the reference's result
	Refused     = "error"    // a call failed that should not
	Overwritten = "memory"   // memory was written that is not the call's to write
	Leak        = "leak"     // memory outside Go's heap is left
	Crash       = "crash"    // the process ended
	Hang        = "hang"     // it did not come back
)

func (f *Failure) Error() string {
	if f.Op != "" {
		return fmt.Sprintf("%s %s: %s", f.Kind, f.Op, f.Message)
	}
	return f.Kind + ": " + f.Message
}

var digits = regexp.MustCompile(`[-+]?[0-9][0-9.e+-]*|NaN|[-+]?Inf|"[^"]*"`)

// signature is the same for failures that are probably one.
func (f *Failure) signature() string {
	s := f.Device + " " + f.Kind + " " + f.Op
	if f.Kind == Refused || f.Kind == Crash {
		s += " " + digits.ReplaceAllString(f.Message, "#")
		if len(s) > 160 {
			s = s[:160]
		}
	}
	return s
}

func failed(format string, args ...any) error { return fmt.Errorf(format, args...) }

// asFailure finds a failure in an error; any other is one of its own kind.
func asFailure(err error) *Failure {
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f
	}
	return &Failure{Kind: Refused, Message: err.Error()}
}
