package providers

import (
	"qtsaccel/core/choice"
	"qtsaccel/core/modelfile"
)

// Encoder gives ggml's routine for types that only it writes. DEVICE_UNAVAILABLE:
// ggml is not there; the message has the folders that were looked in.
func (s *Set) Encoder() (modelfile.Encoder, error) {
	r, err := choice.WithEnvironment(choice.Request{}, s.getenv)
	if err != nil {
		return nil, err
	}
	l, err := openLibrary(r)
	if err != nil {
		return nil, err
	}
	return l.Quantise, nil
}
