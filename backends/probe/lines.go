package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"qtsaccel/backends/driver"
)

// protocol is the number of the form that lines have; a prober of another version
// of the library is told apart by it.
const protocol = 2

// A line is what the child tells, one JSON object each. What else comes through
// the pipe is what drivers and plugins print.
type line struct {
	Protocol int            `json:"protocol,omitempty"` // of the first line
	Begin    step           `json:"begin,omitempty"`
	Device   int            `json:"device,omitempty"` // of a step: the index
	Driver   *driver.Report `json:"driver,omitempty"`
	Devices  []Finding      `json:"devices,omitempty"` // with the driver: nothing proven yet
	Finding  *Finding       `json:"finding,omitempty"`
	Failure  string         `json:"failure,omitempty"` // of the plugin
	Passing  bool           `json:"passing,omitempty"` // what failed may succeed later
	Done     bool           `json:"done,omitempty"`
}

// step is a part of the child's work that may go wrong.
type step string

const (
	stepDriver step = "asking the driver"
	stepPlugin step = "loading the plugin"
	stepDevice step = "computing on the device"
)

// write puts a line into w, on a line of its own whatever was printed before it.
func (l *line) write(w io.Writer) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s\n", text)
	return err
}

// reader takes apart what comes through the pipe.
type reader struct {
	pending []byte
	began   step
	device  int      // that the step is about
	noise   []string // printed since the last line; the first few
	emit    func(*line)
}

// The most that is kept of what is printed: of a line, and lines.
const (
	maxPending    = 1 << 20
	maxNoiseLine  = 200
	maxNoiseLines = 4
)

func (r *reader) take(data []byte) {
	r.pending = append(r.pending, data...)
	for {
		text, rest, ok := bytes.Cut(r.pending, []byte{'\n'})
		if !ok {
			break
		}
		r.pending = rest
		r.takeLine(text)
	}
	if len(r.pending) > maxPending {
		r.pending = nil
	}
}

func (r *reader) takeLine(text []byte) {
	l := &line{}
	if bytes.HasPrefix(text, []byte(`{"`)) && json.Unmarshal(text, l) == nil {
		if l.Begin != "" {
			r.began, r.device = l.Begin, l.Device
		}
		r.emit(l)
		r.noise = nil
		return
	}
	noise := strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))
	if noise == "" || len(r.noise) == maxNoiseLines {
		return
	}
	if len(noise) > maxNoiseLine {
		noise = strings.ToValidUTF8(noise[:maxNoiseLine], "") + "..."
	}
	r.noise = append(r.noise, noise)
}

// end takes what was printed last, without a line end.
func (r *reader) end() {
	r.takeLine(r.pending)
	r.pending = nil
}

// said is what was printed since the last line, in brackets behind a reason.
func (r *reader) said() string {
	if len(r.noise) == 0 {
		return ""
	}
	return " (" + strings.Join(r.noise, "; ") + ")"
}
