package backend

import "qtsaccel/core/status"

// MaxThreads is the most threads that a backend or a run may be asked for: ggml's own
// limit, GGML_MAX_N_THREADS.
const MaxThreads = 512

// CheckThreads refuses what is no number of threads; 0 stands for the default.
func CheckThreads(n int, byDefault string) error {
	if n < 0 || n > MaxThreads {
		return status.Errorf(status.InvalidArgument, "threads is %d, want 1 to %d, or 0 for %s", n, MaxThreads, byDefault)
	}
	return nil
}
