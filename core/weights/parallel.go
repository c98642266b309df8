package weights

import (
	"runtime"

	"qtsaccel/core/guarded"
)

// smallWork is how many elements are worth a thread of their own.
const smallWork = 1 << 18

// eachOf splits n rows of so many elements among the threads that the process may
// use; all have ended when it returns.
func eachOf(n, elements int64, work func(from, to int64) error) error {
	threads := min(int64(runtime.GOMAXPROCS(0)), n, n*elements/smallWork+1)
	if threads <= 1 {
		return work(0, n)
	}
	var group guarded.Group
	for i := range threads {
		group.Go(func() error { return work(n*i/threads, n*(i+1)/threads) })
	}
	return group.Wait()
}
