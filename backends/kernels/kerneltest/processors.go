package kerneltest

import (
	"fmt"
	"iter"
	"os"
	"sync"
	"testing"

	"qtsaccel/backends/kernels"
)

// EveryProcessor limits the kernels to each kind of processor in turn that this one is.
func EveryProcessor(t testing.TB) iter.Seq[kernels.Processor] {
	return func(yield func(kernels.Processor) bool) {
		defer kernels.Limit(kernels.Best)
		for p := kernels.AnyProcessor; p <= kernels.Best; p++ {
			if !kernels.Limit(p) {
				continue // Processors says so
			}
			reached.Lock()
			if reached.by[p] == nil {
				reached.by[p] = map[string]struct{}{}
			}
			reached.by[p][t.Name()] = struct{}{}
			reached.Unlock()
			if !yield(p) {
				return
			}
		}
	}
}

// reached are the tests that ran kernels of a kind of processor.
var reached struct {
	sync.Mutex
	by [kernels.Best + 1]map[string]struct{}
}

// Main runs a package's tests and prints at the end which of the kernels' variants they
// have reached.
func Main(m *testing.M) {
	code := m.Run()
	for p, tests := range reached.by {
		if kernels.Limit(kernels.Processor(p)) {
			fmt.Printf("kernels for %v: run by %d tests\n", kernels.Processor(p), len(tests))
		} else {
			fmt.Printf("kernels for %v: not run, this machine's processor has none of it\n", kernels.Processor(p))
		}
	}
	os.Exit(code)
}

// Processors skips a subtest for each kind of processor that this one is not.
func Processors(t *testing.T) {
	defer kernels.Limit(kernels.Best)
	for p := kernels.AnyProcessor; p <= kernels.Best; p++ {
		t.Run(p.String(), func(t *testing.T) {
			if !kernels.Limit(p) {
				t.Skipf("this machine's processor has no %v: none of this package's tests reaches the kernels for it", p)
			}
		})
	}
}
