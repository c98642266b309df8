package modelfile

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"qtsaccel/core/tensor"
	"qtsaccel/core/weights"
)

// StoredInfo is a line of the report.
type StoredInfo struct {
	Name      string  `json:"name"`
	FileName  string  `json:"file_name"`
	Shape     []int64 `json:"shape"`
	From      string  `json:"from"`
	As        string  `json:"as"`
	Placement string  `json:"placement"`
	Bytes     int64   `json:"bytes"`
	Note      string  `json:"note,omitempty"`
}

// Report is what became of a file's tensors.
type Report struct {
	Tensors     []StoredInfo `json:"tensors"`
	CopiedBytes int64        `json:"copied_bytes"`
	MappedBytes int64        `json:"mapped_bytes"`
}

// ReportOf says of each tensor of the file that weights came from in which type and where
// it was put, and why a rule was not followed to the letter. INVALID_STATE: the weights
// were released.
func ReportOf(w *weights.Weights) (*Report, error) {
	if err := w.Use(); err != nil {
		return nil, err
	}
	defer w.Release()
	r := &Report{Tensors: []StoredInfo{}}
	for _, s := range w.Stored() {
		t := s.From
		t.DType = s.As
		info := StoredInfo{
			s.Name, s.FileName, append([]int64{}, t.Shape...), s.FileDType, s.As.String(), s.Placement.String(), t.Bytes(), s.Note,
		}
		if s.Foreign || s.Skipped {
			info.Shape, info.As, info.Placement, info.Bytes = append([]int64{}, s.FileShape...), "", "foreign", s.FileBytes
			if s.Skipped {
				info.Placement = "skipped"
			}
		}
		r.Tensors = append(r.Tensors, info)
		if s.Foreign || s.Skipped {
			continue
		}
		if s.Placement == weights.Mapped {
			r.MappedBytes += t.Bytes()
		} else {
			r.CopiedBytes += t.Bytes()
		}
	}
	return r, nil
}

// Text tells it to people.
func (r *Report) Text() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range r.Tensors {
		from := ""
		if s.FileName != s.Name {
			from = fmt.Sprintf("%q ", s.FileName)
		}
		if s.As == "" {
			s.As = s.From
		}
		if s.From != s.As {
			from += s.From
		}
		if from != "" {
			from = "from " + strings.TrimSpace(from)
		}
		fmt.Fprintf(t, "%q\t%s%v\t%s\t%d bytes\t%s\t%s\n", s.Name, s.As, tensor.Shape(s.Shape), s.Placement, s.Bytes, from, s.Note)
	}
	_ = t.Flush() // a Builder takes all
	fmt.Fprintf(&b, "%d tensors, %d bytes copied, %d mapped\n", len(r.Tensors), r.CopiedBytes, r.MappedBytes)
	return b.String()
}
