package engine

import (
	"sync"

	"qtsaccel/core/status"
)

// Active is the backend that a process has settled on, for parts of it that do not
// know each other. It is decided once. The zero value is undecided.
type Active struct {
	mu      sync.Mutex
	decided bool
	backend *Backend
}

// Install decides; nil stands for "none". The same decision again is fine, another
// is ALREADY_EXISTS. The first one retains the backend, for good, and says so.
func (a *Active) Install(b *Backend) (first bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.decided {
		if a.backend == b {
			return false, nil
		}
		return false, status.Errorf(status.AlreadyExists, "the process has settled on %s already, not %s", nameOf(a.backend), nameOf(b))
	}
	if b != nil {
		b.Retain()
	}
	a.decided, a.backend = true, b
	return true, nil
}

func nameOf(b *Backend) string {
	if b == nil {
		return "no backend"
	}
	return b.Name()
}
