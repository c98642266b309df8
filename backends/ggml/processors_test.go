package ggml

import (
	"fmt"
	"iter"
	"os"
	"sync"
	"testing"
)

// everyProcessor limits the kernels to each kind of processor in turn that this one is.
func everyProcessor(t testing.TB) iter.Seq[processor] {
	return func(yield func(processor) bool) {
		defer limitProcessor(withAVX512BF16)
		for p := anyProcessor; p <= withAVX512BF16; p++ {
			if !limitProcessor(p) {
				continue // TestProcessors says so
			}
			reached.Lock()
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
	by [withAVX512BF16 + 1]map[string]struct{}
}

// TestMain prints at the end which of the kernels' variants the tests have reached.
func TestMain(m *testing.M) {
	for p := range reached.by {
		reached.by[p] = map[string]struct{}{}
	}
	code := m.Run()
	for p, tests := range reached.by {
		if has := limitProcessor(processor(p)); has {
			fmt.Printf("kernels for %v: run by %d tests\n", processor(p), len(tests))
		} else {
			fmt.Printf("kernels for %v: not run, this machine's processor has none of it\n", processor(p))
		}
	}
	os.Exit(code)
}

// TestProcessors is skipped for each kind of processor that this one is not.
func TestProcessors(t *testing.T) {
	defer limitProcessor(withAVX512BF16)
	for p := anyProcessor; p <= withAVX512BF16; p++ {
		t.Run(p.String(), func(t *testing.T) {
			if !limitProcessor(p) {
				t.Skipf("this machine's processor has no %v: none of this package's tests reaches the kernels for it", p)
			}
		})
	}
}

func (p processor) String() string {
	return [...]string{"any processor", "AVX2, FMA and F16C", "AVX-512", "AVX-512 with bf16"}[p]
}
