package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"qtsaccel/core/ops"
	"qtsaccel/core/status"
)

// A child process tries what it is told to on one device. Each of its lines goes out
// before what it is about happens, so that the parent knows what ended it:
//
//	seed N      the case of this seed is tried next
//	failed {}   a [Failure]
//	done {}     the request is worked off; what was counted
//
// A request is one line of JSON.
type request struct {
	Seeds []uint64 `json:"seeds,omitempty"`
	Case  *Case    `json:"case,omitempty"`
}

func child(in io.Reader, out io.Writer, device, pluginDir string, threads int) error {
	t, err := openTarget(device, pluginDir, threads)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		stats := newStats()
		if r.Case != nil {
			r.Seeds = append(r.Seeds, r.Case.Seed)
		}
		for _, seed := range r.Seeds {
			if _, err := fmt.Fprintf(out, "seed %d\n", seed); err != nil {
				return err
			}
			c := r.Case
			if c == nil {
				c = Generate(seed)
			}
			if f := t.Count(c, stats); f != nil {
				text, err := json.Marshal(f)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(out, "failed %s\n", text); err != nil {
					return err
				}
			}
		}
		text, err := json.Marshal(stats)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "done %s\n", text); err != nil {
			return err
		}
	}
}

// Count tries a case and counts it. What the device says it cannot do is no failure.
func (t *Target) Count(c *Case, stats *Stats) *Failure {
	stats.Cases++
	stats.Graphs += len(c.Plans)
	err := t.guarded(c, stats)
	if err == nil {
		return nil
	}
	if status.Of(err) == status.Unsupported {
		stats.Unsupported[digits.ReplaceAllString(err.Error(), "#")]++
		return nil
	}
	f := asFailure(err)
	f.Seed, f.Device = c.Seed, t.Name
	stats.Failures[f.Kind+" "+f.Op]++
	return f
}

// guarded turns a panic of Go code into a failure, that of the library's and of the
// search itself.
func (t *Target) guarded(c *Case, stats *Stats) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{Kind: Crash, Message: fmt.Sprintf("panic: %v", r)}
		}
	}()
	return t.Try(c, stats)
}

// JSON has no infinities, so attributes of cases are written with their numbers as text.
type attrJSON struct {
	Name string  `json:"name"`
	Type int32   `json:"type"`
	Int  int64   `json:"int,omitempty"`
	Real string  `json:"real,omitempty"`
	Text string  `json:"text,omitempty"`
	Ints []int64 `json:"ints,omitempty"`
}

type nodeJSON struct {
	Op    string     `json:"op"`
	In    []Ref      `json:"in"`
	Attrs []attrJSON `json:"attrs,omitempty"`
}

// MarshalJSON writes a node.
func (n Node) MarshalJSON() ([]byte, error) {
	j := nodeJSON{Op: n.Op, In: n.In}
	for _, a := range n.Attrs {
		v := a.Value
		j.Attrs = append(j.Attrs, attrJSON{a.Name, int32(v.Type), v.Int, strconv.FormatUint(math.Float64bits(v.Real), 16), v.Text, v.Ints})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a node.
func (n *Node) UnmarshalJSON(data []byte) error {
	var j nodeJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*n = Node{Op: j.Op, In: j.In}
	for _, a := range j.Attrs {
		bits, err := strconv.ParseUint(a.Real, 16, 64)
		if err != nil {
			return err
		}
		n.Attrs = append(n.Attrs, ops.AttrArg{Name: a.Name, Value: ops.AttrValue{
			Type: ops.AttrType(a.Type), Int: a.Int, Real: math.Float64frombits(bits), Text: a.Text, Ints: a.Ints,
		}})
	}
	return nil
}

// childMain is the process's main where it is a child.
func childMain(device, pluginDir string, threads int) int {
	if err := child(os.Stdin, os.Stdout, device, pluginDir, threads); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
