package mem

import (
	"math"

	"qtsaccel/core/status"
)

// Available is how many bytes more the process may take: what the machine has
// free, what the cgroups above the process leave it (memory.max, or
// memory.limit_in_bytes of version 1), and what its address space does. Caches of
// files count as free. MaxInt64 where it cannot be known.
func Available() int64 { return max(0, available()) }

// Check finds that n bytes are more than the process may take, before they are
// asked for: the system would give them, and end the process when they are used.
// OUT_OF_MEMORY has the bytes wanted and free.
func Check(n int64) error {
	if free := Available(); n > free {
		return errTooMuch(n, free)
	}
	return nil
}

func errTooMuch(n, free int64) error {
	return status.Errorf(status.OutOfMemory, "out of memory: %d bytes wanted, %d free", n, free)
}

// unlimited stands for a limit that is not there.
const unlimited = math.MaxInt64
